# SPDX-License-Identifier: MIT
"""Which studies there are: those of this package, and kernel-patches/<study>/study.py of the user's own."""

import functools
import hashlib
import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.studies.parts import StudyParts
from lockscale.user_code import located, run_file

FILE = "study.py"
CALLED = ("whatif", "guest_case", "guest_bounds", "scenes", "claims", "unfitted")
"""The parts that are functions, or mappings to some."""


def studies() -> list[StudyParts]:
    """Every study that adds anything, in their order; the user's own are last.

    Raises BadInput with the file of the user's own that cannot be run, or whose name is another's.
    """
    return [*_shipped(), *(_read(path) for path in sorted(paths.KERNEL_PATCHES.glob(f"*/{FILE}")))]


def study_parts(name: str) -> StudyParts:
    """What the study adds; of one that has no file of its own its name alone."""
    for one in _shipped():
        if one.name == name:
            return one
    path = paths.KERNEL_PATCHES / name / FILE
    return _read(path) if path.is_file() else StudyParts(name)


@cache
def _shipped() -> tuple[StudyParts, ...]:
    """STUDY of each module that has one, by their order."""
    package = __name__.rpartition(".")[0]
    folder = [str(Path(__file__).parent)]
    names = [one.name for one in pkgutil.iter_modules(folder) if not one.ispkg]
    found = [getattr(importlib.import_module(f"{package}.{name}"), "STUDY", None) for name in names]
    return tuple(sorted((one for one in found if one), key=lambda one: one.order))


def _read(path: Path) -> StudyParts:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}): mend or remove it") from None
    found = _run(path, text)
    if found.name in {one.name for one in _shipped()}:
        raise BadInput(f"{path}: lockscale has a study {found.name!r} itself: give yours another name")
    return found


@cache
def _run(path: Path, text: bytes) -> StudyParts:
    """The file is run again only when it was changed."""
    found = run_file(path, text).get("STUDY")
    if not isinstance(found, StudyParts):
        raise BadInput(f"{path} has no study: write STUDY = StudyParts(name={path.parent.name!r}, ...)")
    if found.name != path.parent.name:
        raise BadInput(f"{path} is of study {found.name!r}: let it be name={path.parent.name!r}")
    source = hashlib.sha256(text).hexdigest()[:16]  # so that a fit that is kept is of this file
    with located(str(path)):
        told = {name: _located(path, getattr(found, name)) for name in CALLED}
        return replace(found, **told, simulated=[replace(of, source=source) for of in found.simulated])


def _located(path: Path, part: Any) -> Any:
    """A function of the file, or those of a mapping, that name the file's line where they fail."""
    if part is None:
        return None
    if isinstance(part, Mapping):
        return {name: _located(path, one) for name, one in part.items()}
    if not callable(part):
        raise BadInput(f"a part of STUDY is {part!r}, where a function belongs")

    @functools.wraps(part)
    def call(*given: Any) -> Any:
        with located(str(path)):
            if (found := part(*given)) is None:
                raise BadInput(f"{getattr(part, '__name__', part)}() returned None: return what is asked for")
            return found

    return call
