# SPDX-License-Identifier: MIT
"""study.json, provenance.json and prediction.json of a run, read back; a damaged one is one sentence."""

import json
from pathlib import Path
from typing import Any, Literal

import pydantic

from lockscale.errors import BadInput, printable
from lockscale.study.parameters import with_current_names


class _File(pydantic.BaseModel):
    """What has to be there and of which type; whatever else the file says stays."""

    model_config = pydantic.ConfigDict(extra="allow", strict=True)


class _StudyFile(_File):
    name: str
    target: str
    parameters: dict[str, Any]
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
    as_found: dict[str, _Found] = {}
    controllers: list[dict[str, Any]] = []
    packages: dict[str, str] = {}


class _PredictionFile(_File):
    sha256: str


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


def prediction_sha256(folder: Path) -> str | None:
    """The hash that the run's prediction was written with; None where nothing was predicted."""
    path = folder / "prediction.json"
    return str(_read(path, _PredictionFile)["sha256"]) if path.is_file() else None


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
        raise _damaged(path, f"is damaged ({place}: {first['msg']})") from None
    except json.JSONDecodeError as error:
        raise _damaged(path, f"line {error.lineno} is damaged (no JSON)") from None
    except (ValueError, RecursionError):
        raise _damaged(path, "is damaged (no JSON in UTF-8)") from None
    found: dict[str, Any] = said
    return found


def _damaged(path: Path, how: str) -> BadInput:
    return BadInput(f"{path} {how}: put the file back as it was, or start a new run")
