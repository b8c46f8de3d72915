# SPDX-License-Identifier: MIT
"""What a batch file may say, read from YAML; what it may not is one sentence with the file and the key."""

import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pydantic

from lockscale.errors import BadInput
from lockscale.printable import printable
from lockscale.yaml_text import read_yaml

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MOST_VALUES = 100_000  # YAML's aliases can make a short file enormous
KEYS = "notebooks, grid, parameters and curated"
MUST_BE = {
    "notebooks": "a list of notebooks' names or patterns, such as [02_simulate]",
    "grid": "names of parameters, each with a list of values, such as seed: [1, 2]",
    "parameters": "names of parameters, each with its value, such as seed: 1",
    "curated": "true or false",
}


class BatchFile(pydantic.BaseModel):
    """What a batch file may say.

    notebooks: names or patterns of names, run in this order in every set. grid: every combination of
    these values; an empty one, or none, is one set. parameters: the same in every set. curated: read each
    study's run of data/measured in place of building, booting and measuring.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    notebooks: Annotated[list[str], pydantic.Field(min_length=1)]
    grid: dict[str, Annotated[list[Any], pydantic.Field(min_length=1)]] = {}
    parameters: dict[str, Any] = {}
    curated: Annotated[bool, pydantic.Field(strict=True)] = False


def read_batch_file(path: Path) -> BatchFile:
    """The file's content. Raises BadInput, one sentence with the file, the key and what to do."""
    if not path.is_file():
        raise BadInput(
            f"{path} is no file: give a batch file, such as notebooks/batches/simulated-studies.yaml"
        )
    said = read_yaml(path)
    if said is None:
        raise BadInput(f"{path.name} is empty: write at least notebooks: [02_simulate]")
    if not isinstance(said, dict):
        raise BadInput(f"{path.name} has to hold names with values, such as notebooks: [02_simulate]")
    if _is_huge(said):
        raise BadInput(f"{path.name} holds more than {MOST_VALUES} values: write fewer")
    try:
        return BatchFile.model_validate(said)
    except pydantic.ValidationError as error:
        raise BadInput(f"{path.name}: {_sentence(error.errors()[0])}") from None


def _sentence(error: "ErrorDetails") -> str:
    """Which key is wrong, and what it has to be."""
    key, *inner = map(printable, error["loc"])
    if key not in MUST_BE:
        return f"a batch has no key {key!r}: it has {KEYS}"
    if error["type"] == "missing":
        return f"the key {key} is missing: give {MUST_BE[key]}"
    if key == "grid" and inner:
        where = f"grid.{inner[0]}"
        if error["type"] == "too_short":
            return f"{where} has no values: give at least one, or leave {inner[0]} out"
        if error["type"] == "list_type":
            return f"{where} is {_short(error['input'])}: write a list, such as {inner[0]}: [1, 2]"
    if error["type"] == "too_short" or (error["input"] is None and not inner):
        return f"{key} is empty: give {MUST_BE[key]}{'' if key == 'notebooks' else ', or leave it out'}"
    return f"{key} is or holds {_short(error['input'])}: give {MUST_BE[key]}"


def _short(value: object) -> str:
    return printable(reprlib.repr(value))


def _is_huge(said: Any) -> bool:
    """Whether it has more than MOST_VALUES values, all aliases written out."""
    left, seen = [said], 0
    while left and seen <= MOST_VALUES:
        one = left.pop()
        seen += 1
        left.extend([*one, *one.values()] if isinstance(one, dict) else one if isinstance(one, list) else ())
    return seen > MOST_VALUES
