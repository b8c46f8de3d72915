# SPDX-License-Identifier: MIT
"""A batch file -> its parameter sets, each checked before anything runs."""

import fnmatch
import itertools
import json
import math
import re
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pydantic

from lockscale.errors import BadInput, printable
from lockscale.files import sha256_of_json
from lockscale.measure.run_folder import Run, curated_run
from lockscale.show.execution import notebook_names, parameters_of
from lockscale.study.file import (
    DEFAULT_TARGET,
    LocalTarget,
    Parameters,
    Study,
    list_studies,
    load_study,
    load_target,
)
from lockscale.study.tables import tables_sha256
from lockscale.yaml_text import OneOrMore, Strict, read_yaml

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


MUST_BE = {
    "notebooks": "a list of notebooks' names or patterns, such as [02_simulate]",
    "grid": "names of parameters, each with a list of values, such as seed: [1, 2]",
    "parameters": "names of parameters, each with its value, such as seed: 1",
    "curated": "true or false",
}


class BatchFile(Strict):
    """What a batch file may say.

    notebooks: names or patterns of names, run in this order in every set. grid: every combination of
    these values; an empty one, or none, is one set. parameters: the same in every set. curated: read each
    study's run of data/measured in place of building, booting and measuring.
    """

    notebooks: OneOrMore[str]
    grid: dict[str, OneOrMore[Any]] = {}
    parameters: dict[str, Any] = {}
    curated: pydantic.StrictBool = False


def read_batch_file(path: Path) -> BatchFile:
    """The file's content. Raises BadInput, one sentence with the file, the key and what to do."""
    if not path.is_file():
        raise BadInput(
            f"{path} is not a file: give a batch file, such as notebooks/batches/simulated-studies.yaml"
        )
    content = read_yaml(path)
    if content is None:
        raise BadInput(f"{path.name} is empty: write at least notebooks: [02_simulate]")
    if not isinstance(content, dict):
        raise BadInput(f"{path.name} has to contain names with values, such as notebooks: [02_simulate]")
    try:
        return BatchFile.model_validate(content)
    except pydantic.ValidationError as error:
        raise BadInput(f"{path.name}: {_sentence(error.errors()[0])}") from None


def _sentence(error: "ErrorDetails") -> str:
    """Which key is wrong, and what it has to be."""
    key, *inner = map(printable, error["loc"])
    if key not in MUST_BE:
        return f"a batch has no key {key!r}: use notebooks, grid, parameters or curated"
    if error["type"] == "missing":
        return f"the key {key} is missing: give {MUST_BE[key]}"
    given = printable(reprlib.repr(error["input"]))
    match error["type"], key, inner:
        case "too_short", "grid", [name]:
            return f"grid.{name} has no values: give at least one, or leave {name} out"
        case "list_type", "grid", [name]:
            return f"grid.{name} is {given}: write a list, such as {name}: [1, 2]"
    if error["type"] == "too_short" or (error["input"] is None and not inner):
        return f"{key} is empty: give {MUST_BE[key]}{'' if key == 'notebooks' else ', or leave it out'}"
    return f"{key} is or holds {given}: give {MUST_BE[key]}"


MOST_SETS = 1000
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}")
OWN = ("run",)  # what a batch itself gives


@dataclass(frozen=True)
class Set:
    """One set of parameters. id: its folder's name; varied: those of its parameters that differ by set.

    tables: sha256 of the study's own tables, by name.
    """

    id: str
    parameters: dict[str, Any]
    varied: dict[str, Any]
    study: Study | None
    target: str
    reads: Run | None
    tables: dict[str, str]

    @property
    def sha256(self) -> str:
        """Of everything that decides what its notebooks say, but for their own text."""
        study = self.study and self.study.model_dump(mode="json")
        reads = self.reads and self.reads.id
        own = [self.tables] if self.tables else []
        return sha256_of_json([study, self.target, self.parameters, reads, *own])


@dataclass(frozen=True)
class Batch:
    """A batch file with its sets; notebooks: name -> file, in the order in which they run."""

    name: str
    notebooks: dict[str, Path]
    sets: list[Set]


def read_batch(path: Path) -> Batch:
    """The batch of a file. Raises BadInput for what it does not know and for sets that cannot run."""
    file = read_batch_file(path)
    if not NAME.fullmatch(path.stem):
        raise BadInput(f"{path.name!r} cannot name a batch: use letters, digits, - and _ before .yaml")
    notebooks = _chosen(file.notebooks, path)
    defaults = {k: v for one in notebooks.values() for k, v in parameters_of(one).items()}
    _refuse_unknown(file, defaults, path)
    sets = [_set(file, chosen, defaults, path) for chosen in _combinations(file.grid, path)]
    if len({one.id for one in sets}) < len(sets):
        raise BadInput(f"{path.name}: a value appears twice in the grid: give each once")
    return Batch(path.stem, notebooks, sets)


def _chosen(patterns: Iterable[str], path: Path) -> dict[str, Path]:
    """The notebooks that a name or a pattern means, each once."""
    known = notebook_names()
    found: dict[str, Path] = {}
    for pattern in patterns:
        names = fnmatch.filter(known, pattern)
        if not names:
            raise BadInput(
                f"{path.name}: there is no notebook {printable(pattern)!r} (known: {', '.join(known)})"
            )
        found |= {name: known[name] for name in names}
    return found


def _refuse_unknown(file: BatchFile, defaults: Mapping[str, Any], path: Path) -> None:
    known = {*defaults, *(Parameters.model_fields if "run" in defaults else ())} - set(OWN)
    for name in (*file.grid, *file.parameters):
        if name not in known:
            raise BadInput(
                f"{path.name}: no chosen notebook has the parameter {printable(name)!r} "
                f"(known: {', '.join(sorted(known)) or 'none'})"
            )
    if both := set(file.grid) & set(file.parameters):
        raise BadInput(f"{path.name}: {min(both)} is in both grid and parameters: keep one")


def _combinations(grid: Mapping[str, list[Any]], path: Path) -> list[dict[str, Any]]:
    """Every combination, the last name varying fastest."""
    if (count := math.prod(map(len, grid.values()))) > MOST_SETS:
        raise BadInput(
            f"{path.name} asks for {count} sets, but a batch has at most {MOST_SETS}: give fewer values"
        )
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _set(file: BatchFile, chosen: dict[str, Any], defaults: Mapping[str, Any], path: Path) -> Set:
    given = {**file.parameters, **chosen}
    try:
        json.dumps(given, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise BadInput(
            f"{path.name}: a parameter is a date, NaN or another value that JSON cannot represent: write text"
        ) from None
    try:
        study = _study(given, defaults) if "study" in defaults else None
        target = str(given.get("target", DEFAULT_TARGET))
        if "target" in defaults and isinstance(load_target(target), LocalTarget):
            raise BadInput(
                f"target {target} boots no arms: run one study with `lockscale study run STUDY "
                f"--target {target}`"
            )
        reads = curated_run(study.name) if study and file.curated else None
        tables = tables_sha256(study, [reads.tables] if reads else []) if study else {}
    except BadInput as error:
        raise BadInput(f"{path.name}: {error}") from None
    varied = {name: value for name, value in chosen.items() if len(file.grid[name]) > 1}
    return Set(_id(varied, given), given, varied, study, target, reads, tables)


def _study(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> Study:
    """The set's study with those of its parameters that the set changes."""
    name = given.get("study", defaults["study"])
    if not isinstance(name, str):
        known = ", ".join(list_studies())
        raise BadInput(f"there is no study {printable(name)!r} (known: {known})")
    changes = {k: v for k, v in given.items() if k in Parameters.model_fields and v is not None}
    return load_study(name, changes)


def _id(varied: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """A folder's name: what varies, in letters that no path misunderstands, and a hash of every parameter."""
    text = "-".join(str(value) if name == "study" else f"{name}-{value}" for name, value in varied.items())
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower())[:60].strip("-") or "set"
    return f"{slug}-{sha256_of_json(given)[:8]}"
