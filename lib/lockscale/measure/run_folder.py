# SPDX-License-Identifier: MIT
"""What lies where in runs/<id>/, which run is the latest, and its JSON files read back."""

import functools
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pydantic

from lockscale import paths
from lockscale.errors import BadInput, near, printable
from lockscale.files import (
    full_disk_is_one_sentence,
    need_place_for_folder,
    sha256_of_json,
    sync_folder,
    write_json,
)
from lockscale.progress import tell
from lockscale.study.file import Study
from lockscale.study.mistakes import why_of
from lockscale.study.parameters import with_current_names
from lockscale.study.tables import keep_tables


class _File(pydantic.BaseModel):
    """What has to be there and of which type; whatever else the file says stays."""

    model_config = pydantic.ConfigDict(extra="allow", strict=True)


class _StudyFile(_File):
    name: str
    target: str
    parameters: dict[str, Any]
    arms: list[dict[str, Any]] = []
    reads: str = ""


class _FileSystem(_File):
    mkfs_line: str


class _Found(_File):
    tool: str
    tool_version: str
    file_system: _FileSystem | None = None


class _ProvenanceFile(_File):
    """kernels: by arm; none where the machine was measured under its own."""

    origin: Literal["qemu", "virtual", "vm", "hardware"]
    kernels: dict[str, dict[str, Any]]
    study: dict[str, Any] = {}
    as_found: dict[str, _Found] = {}
    controllers: list[dict[str, Any]] = []
    packages: dict[str, str] = {}


class _PredictionFile(_File):
    sha256: str


class _HashOfRows(_File):
    rows_sha256: str | None = None


def read_study_file(folder: Path) -> dict[str, Any]:
    """What the run in `folder` is of: `name`, `target`, `parameters` and the rest of its study.

    Raises BadInput where study.json is damaged or gone.
    """
    return with_current_names(_read(folder / "study.json", _StudyFile))


def read_provenance(folder: Path) -> dict[str, Any]:
    """Where the numbers in `folder` come from: `origin`, `kernels` and what else was written.

    Raises BadInput where provenance.json is damaged or gone.
    """
    found = _read(folder / "provenance.json", _ProvenanceFile)
    return {**found, "study": with_current_names(found["study"])} if "study" in found else found


def rows_sha256(folder: Path) -> str | None:
    """The hash of the rows in `folder` by the provenance beside them; None where none was written."""
    path = folder / "provenance.json"
    found: str | None = _read(path, _HashOfRows).get("rows_sha256") if path.is_file() else None
    return found


def prediction_sha256(folder: Path) -> str | None:
    """The hash that the run's prediction was written with; None where nothing was predicted."""
    path = folder / "prediction.json"
    return str(_read(path, _PredictionFile)["sha256"]) if path.is_file() else None


def read_prediction(run: "Run") -> dict[str, Any]:
    """What notebook 03 wrote. Raises BadInput where it is gone, or was changed since by its hash."""
    path = run.prediction
    if not path.is_file():
        raise BadInput(f"{path} does not exist: run notebook 03 before this one")
    try:
        prediction: dict[str, Any] = json.loads(path.read_text())
        written = {name: value for name, value in prediction.items() if name != "sha256"}
        if prediction["sha256"] == sha256_of_json(written):
            return prediction
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise BadInput(f"{path} was changed after it was written: start a new run")


def names_kernels(folder: Path) -> bool:
    """Whether it was measured on kernels of ours, by its provenance; a damaged one names none."""
    try:
        return bool(read_provenance(folder)["kernels"])
    except BadInput:
        return False


def _read(path: Path, model: type[_File]) -> dict[str, Any]:
    try:
        said = json.loads(path.read_bytes())
        model.model_validate(said)
    except OSError as error:
        raise _damaged(path, f"cannot be read ({error.strerror})") from None
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(printable(part) for part in first["loc"]) or "the whole"
        raise _damaged(path, f"is damaged ({place}: {why_of(first)})") from None
    except json.JSONDecodeError as error:
        raise _damaged(path, f"line {error.lineno} is damaged (not JSON)") from None
    except (ValueError, RecursionError):
        raise _damaged(path, "is damaged (not JSON in UTF-8)") from None
    found: dict[str, Any] = said
    return found


def _damaged(path: Path, how: str) -> BadInput:
    return BadInput(f"{path} {how}: restore the file, or start a new run")


class _Inside:
    """A file or folder in each run, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, run: "Run", _: type["Run"]) -> Path:
        return run.folder / self.name


@dataclass(frozen=True)
class Run:
    """One run of a study: a folder and the files in it. tables: copies of the study's own, as then found."""

    folder: Path

    rows = _Inside("rows.csv")
    provenance = _Inside("provenance.json")
    prediction = _Inside("prediction.json")
    journal = _Inside("journal.jsonl")
    raw = _Inside("raw")
    figures = _Inside("figures")
    notebooks = _Inside("notebooks")
    tables = _Inside("tables")
    changelog = _Inside("changelog.txt")

    @property
    def id(self) -> str:
        return self.folder.name


def keep_study(run: Run, study: Study, target: str, reads: Run | None = None) -> Path:
    """Write the study with its resolved parameters into the run, its own tables, and which run it reads."""
    keep_tables(study, run.tables, [reads.tables] if reads else [])
    path = run.folder / "study.json"
    more = {"reads": reads.id} if reads else {}
    write_json(path, {**study.model_dump(mode="json"), "target": target, **more})
    return path


def new_run(study: str) -> Run:
    """A new folder runs/<study>-<UTC time>. Raises BadInput where there can be none."""
    need_place_for_folder(paths.RUNS, "in LOCKSCALE_RUNS")
    while True:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        run = Run(paths.RUNS / f"{study}-{stamp}")
        with full_disk_is_one_sentence(paths.RUNS):
            try:
                run.folder.mkdir(parents=True)
                sync_folder(paths.RUNS)
                return run
            except FileExistsError:  # another run began in the same second
                time.sleep(0.2)


def folder_to_resume(name: str, kind: str) -> Path:
    """The folder `kind`-<time> of an earlier check in runs, or the path of one; BadInput for another."""
    for folder in (paths.RUNS / name, Path(name)):
        if "\0" not in name and folder.name.startswith(f"{kind}-") and folder.is_dir():
            return folder
    raise BadInput(f"--resume {name!r}: {paths.RUNS} has no such folder of an earlier check ({kind}-...)")


def list_runs() -> list[Run]:
    """Every run on this machine, the oldest first."""
    return [Run(path.parent) for path in sorted(paths.RUNS.glob("*/study.json"))]


def target_of(run: Run) -> tuple[str, str] | None:
    """The study and the target that a run is of; None where its study.json is damaged."""
    try:
        said = read_study_file(run.folder)
    except BadInput:
        return None
    return str(said["name"]), str(said["target"])


def find_run(name: str) -> Run:
    """A run by its id, here or in data/measured, or by its folder."""
    for folder in _folders(name):
        return Run(folder.resolve())
    places = f"{paths.RUNS} or {paths.MEASURED}"
    raise BadInput(f"there is no run {name!r} under {places}{near(name, known_runs())}")


def known_runs() -> list[str]:
    """The ids that find_run() takes."""
    return [run.id for run in (*list_runs(), *curated_runs())]


def is_run(name: str) -> bool:
    """Whether find_run() finds one."""
    return any(_folders(name))


def _folders(name: str) -> list[Path]:
    places = (paths.RUNS / name, paths.MEASURED / name, Path(name))
    return [folder for folder in places if "\0" not in name and (folder / "study.json").is_file()]


def is_curated(run: Run) -> bool:
    """Whether it is one of data/measured: those are read, and never written to."""
    return run.folder.resolve().is_relative_to(paths.MEASURED.resolve())


def curated_runs() -> list[Run]:
    """All of data/measured, by name."""
    return [Run(path.parent) for path in sorted(paths.MEASURED.glob("*/study.json"))]


def first_of_each_study(runs: Iterable[Run]) -> dict[str, Run]:
    """By the study's name, in the order of names: the run whose prediction is judged.

    A later run of the study repeats it, when its gains are known and no prediction of them is blind any more.
    """
    first: dict[str, Run] = {}
    for run in sorted(runs, key=lambda one: one.id):
        first.setdefault(read_study_file(run.folder)["name"], run)
    return dict(sorted(first.items()))


def curated_run(study: str, *, rates: bool = False) -> Run:
    """The latest run of `study` in data/measured, of those in virtual time only where there is no other.

    What is counted and told of a study is of this run; its gains in virtual time are of another beside it.
    rates: rather one in virtual time, as a guest's rates are none. Raises BadInput where there is none.
    """
    found = list(_of_our_kernels(paths.MEASURED, study))
    wanted = [run for run in found if (read_provenance(run.folder)["origin"] == "virtual") == rates]
    for run in wanted or found:
        return run
    raise BadInput(f"study {study} has no run in data/measured: `lockscale study keep RUN` copies one there")


def run_by_hand(study: str) -> Run:
    """Where a notebook that is opened in JupyterLab measures and writes."""
    return Run(paths.RUNS / f"{study}-by-hand")


def latest_by_hand(study: str) -> Run:
    """What such a notebook reads: its own rows unless a run in runs/ is newer, then latest_run()."""
    mine, latest = run_by_hand(study), next(_of_our_kernels(paths.RUNS, study), None)
    is_measured = mine.rows.is_file() and names_kernels(mine.folder)
    if is_measured and (latest is None or mine.rows.stat().st_mtime >= latest.rows.stat().st_mtime):
        return mine
    return latest_run(study)


def latest_run(study: str) -> Run:
    """The latest run of `study` here that measured kernels of ours, else a curated one.

    Of those rather one in virtual time, whose rates are rates. A run on a machine as it is, of kind local,
    has no arms to tell of. Raises BadInput where there is none.
    """
    for run in _of_our_kernels(paths.RUNS, study):
        return run
    try:
        return curated_run(study, rates=True)
    except BadInput:
        raise BadInput(f"study {study} has no measured run: run `make study STUDY={study}`") from None


BEGAN = f"{8 * '[0-9]'}T*"
"""What new_run() appends. No study's name has a capital letter, so that the runs of no other study match."""


def _of_our_kernels(folder: Path, study: str) -> Iterator[Run]:
    """The measured runs of `study` in `folder` whose provenance names kernels, the latest first.

    Of one that would be the latest and is damaged it is said, once, why an older one is taken.
    """
    newer = False
    for rows in sorted(folder.glob(f"{study}-{BEGAN}/rows.csv"), reverse=True):
        if names_kernels(rows.parent):
            newer = True
            yield Run(rows.parent)
        elif not newer:
            _tell_of_damage(rows.parent)


@functools.cache
def _tell_of_damage(folder: Path) -> None:
    try:
        read_provenance(folder)
    except BadInput as damaged:
        tell(f"warning: run {folder.name} is left out, and an older one taken if there is one: {damaged}")
