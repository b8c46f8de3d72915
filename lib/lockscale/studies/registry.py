# SPDX-License-Identifier: MIT
"""Which studies there are: those of this package, and kernel-patches/<study>/study.py of the user's own."""

import contextlib
import functools
import hashlib
import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.studies.hooks import StudyParts
from lockscale.user_code import located, run_file

T = TypeVar("T")
FILE = "study.py"
CALLED = ("whatif", "guest_case", "guest_bounds", "scenes", "claims", "unfitted")
"""The parts that are functions, or mappings to some."""


def studies() -> list[StudyParts]:
    """Every study that adds anything, in their order; the user's own are last.

    A file of the user's that cannot be run, or whose name is another's, is a warning on stderr with its line.
    """
    found = list(_shipped())
    for path in _user_files().values():
        with left_out_if_broken():
            found.append(_read(path))
    return found


def study_parts(name: str) -> StudyParts:
    """What the study adds; of one that has no file of its own its name alone.

    Raises BadInput with the file of the user's own that cannot be run, or whose name is another's.
    """
    path = _user_files().get(name)
    if path is not None:
        return _read(path)
    return next((one for one in _shipped() if one.name == name), StudyParts(name))


def collected(part: Callable[[StudyParts], Iterable[T]]) -> list[T]:
    """What `part` gives of every study; where a file of the user's fails at it, a warning and no more."""
    found: list[T] = []
    for one in studies():
        if one in _shipped():
            found += part(one)
        else:
            with left_out_if_broken():
                found += part(one)
    return found


@contextlib.contextmanager
def left_out_if_broken() -> Iterator[None]:
    """BadInput of a file of the user's is a warning: it is no matter to what is asked of other studies."""
    try:
        yield
    except BadInput as error:
        _warn(f"warning: {error}; this study is left out")


@cache
def _warn(sentence: str) -> None:
    """Once in a process."""
    print(sentence, file=sys.stderr)


def _user_files() -> dict[str, Path]:
    """Study -> the file of the user's in its folder."""
    return {path.parent.name: path for path in sorted(paths.KERNEL_PATCHES.glob(f"*/{FILE}"))}


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
        raise BadInput(f"{path} cannot be read ({error.strerror}): fix or remove it") from None
    found = _run(path, text)
    if found.name in {one.name for one in _shipped()}:
        raise BadInput(f"{path}: lockscale already has a study {found.name!r}: give yours another name")
    return found


@cache
def _run(path: Path, text: bytes) -> StudyParts:
    """The file is run again only when it was changed."""
    found = run_file(path, text).get("STUDY")
    if not isinstance(found, StudyParts):
        raise BadInput(f"{path} has no study: write STUDY = StudyParts(name={path.parent.name!r}, ...)")
    if found.name != path.parent.name:
        raise BadInput(f"{path} names study {found.name!r}: write name={path.parent.name!r}")
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
