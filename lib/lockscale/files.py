# SPDX-License-Identifier: MIT
"""Files that are whole or absent: write beside, fsync, rename."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lockscale.errors import BadInput

MAKE_ROOM = "free some space or set LOCKSCALE_CACHE and LOCKSCALE_RUNS to folders on a larger disk"


@contextlib.contextmanager
def full_disk_is_one_sentence(where: Path) -> Iterator[None]:
    """Turn "no space left" under `where` into a sentence that says what to free."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise BadInput(f"the disk under {where} is full: {MAKE_ROOM}") from error


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` by `content` so that a reader or a crash sees the old or the new, never half."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with full_disk_is_one_sentence(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with beside.open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, sort_keys=True) + "\n")


def append_line(path: Path, line: str) -> None:
    """Add one line and fsync it: the journal's promise that what it says was done.

    A line that does not fit on the disk is taken back whole.
    """
    with full_disk_is_one_sentence(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat().st_size if path.exists() else 0
        try:
            with path.open("a") as stream:
                stream.write(line + "\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError:
            if path.exists():
                os.truncate(path, before)
            raise


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_of_json(value: Any) -> str:
    """The content key of a JSON value, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def need_free_space(folder: Path, need_mib: int, what: str) -> None:
    """Refuse before the first byte is written when `folder`'s disk cannot hold `what`."""
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free_mib = shutil.disk_usage(existing).free >> 20
    if free_mib < need_mib:
        raise BadInput(
            f"{what} needs {need_mib} MiB but the disk of {existing} has {free_mib} MiB free: {MAKE_ROOM}"
        )


def need_place_for_file(path: Path) -> None:
    """Refuse, before any work is done for it, a file whose folder is missing or cannot be written to."""
    if not path.parent.is_dir():
        raise BadInput(f"{path} cannot be written, as there is no folder {path.parent}: make it first")
    _need_writable(path.parent, path)


def need_place_for_folder(path: Path) -> None:
    """The same of a folder, which is made with those above it: the nearest that is there must take it."""
    above = path.absolute()
    existing = next(one for one in (above, *above.parents) if one.exists())
    if not existing.is_dir():
        raise BadInput(f"{path} cannot be a folder, as {existing} is a file: name another folder")
    _need_writable(existing, path)


def _need_writable(folder: Path, path: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadInput(
            f"{path} cannot be written, as the folder {folder} is not writable: name another place"
        )


@contextlib.contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold an exclusive lock on `path`; a second holder is refused with one sentence."""

    def refusal(said: str) -> str:
        return f"{what} is in use by process {said.strip() or 'unknown'}: wait until it ends"

    with hold_lock(path, str(os.getpid()), refusal):
        yield


@contextlib.contextmanager
def hold_lock(path: Path, says: str, refusal: Callable[[str], str]) -> Iterator[None]:
    """Hold an exclusive lock on `path`, which holds `says` meanwhile.

    Raises BadInput with refusal(what the first holder says) for a second one. The kernel lets go of it when
    the last process that has it open ends, however it ends.
    """
    with full_disk_is_one_sentence(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+") as stream:
            os.set_inheritable(stream.fileno(), True)  # a child that outlives us still holds it
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                stream.seek(0)
                raise BadInput(refusal(stream.read())) from None
            stream.seek(0)
            stream.truncate()
            stream.write(says)
            stream.flush()
            yield
