# SPDX-License-Identifier: MIT
"""Files that are whole or absent (write beside, fsync, rename, fsync the folder), and locks on them."""

import contextlib
import errno
import fcntl
import getpass
import glob
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lockscale import paths
from lockscale.errors import BadInput, FullDisk, InUse, printable

MAKE_ROOM = "free some space or set LOCKSCALE_CACHE and LOCKSCALE_RUNS to folders on a larger disk"
LOOKS, LOOK_S = 5, 0.02  # at a lock that is taken
MOST_SAID = 4096  # of its file, which another user may have filled
FULL = (errno.ENOSPC, errno.EDQUOT)
NAME_VARIABLE = "LOCKSCALE_NAME"  # what others read of who holds something; else the user's name


def expanded(path: str) -> Path:
    """`path` with ~ or ~user as that home folder. Raises BadInput where there is no such user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise BadInput(
            f"{printable(path)!r} does not begin with a home folder of this machine: write the absolute path"
        ) from None


@contextlib.contextmanager
def full_disk_is_one_sentence(where: Path, unwritten: str = "") -> Iterator[None]:
    """Turn "no space left" under `where` into a sentence: what to free, and which file is not written.

    The error of a disk that fails says where.
    """
    try:
        yield
    except OSError as error:
        if error.errno == errno.EIO and not error.filename:  # fsync(2) knows of no name
            error.filename = str(where)
        if error.errno not in FULL:
            raise
        lost = f", so that {printable(unwritten)} is not written" if unwritten else ""
        raise FullDisk(f"the disk under {where} is full{lost}: {MAKE_ROOM}") from error


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` by `content` so that a reader or a crash sees the old or the new, never half."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with full_disk_is_one_sentence(path.parent, path.name):
        _make_folder(path.parent)
        _remove_what_the_killed_left(path)
        beside.unlink(missing_ok=True)
        try:
            with beside.open("xb") as stream:  # no link: a guest may have put one there
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            beside.replace(path)
            sync_folder(path.parent)
        finally:
            beside.unlink(missing_ok=True)


def _remove_what_the_killed_left(path: Path) -> None:
    """Who is killed while it writes cannot remove its part; one whose process lives may be written now."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        process = part.name.removesuffix(".part").rpartition(".")[2]
        if process.isdigit() and not Path("/proc", process).exists():
            part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, sort_keys=True) + "\n")


def append_line(path: Path, line: str) -> None:
    """Add one line and fsync it: the journal's promise that what it says was done.

    A line that does not fit on the disk is taken back whole.
    """
    with full_disk_is_one_sentence(path.parent):
        _make_folder(path.parent)
        is_new = not path.exists()
        before = 0 if is_new else path.stat().st_size
        try:
            with path.open("a") as stream:
                stream.write(line + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            if is_new:
                sync_folder(path.parent)
        except OSError:
            if path.exists():
                os.truncate(path, before)
            raise


def sync_folder(folder: Path) -> None:
    """fsync the names in `folder`, without which a crash may forget a file whose content was synced.

    A folder that may not be read, or a file system that syncs none, is let be.
    """
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)


def _make_folder(folder: Path) -> None:
    """Make `folder` and those above it, each of whose names is then on disk."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in missing:
        sync_folder(one.parent)


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


def need_clone(what: str, *written: Path) -> None:
    """Refuse what writes into the project, into the folders `written`, where it cannot be written to."""
    if not paths.IS_CLONE:
        raise BadInput(
            f"{what}, but only the package is installed here: work in a clone of lockscale, or name one in "
            f"LOCKSCALE_ROOT"
        )
    for folder in written:
        try:
            need_place_for_folder(folder)
        except FullDisk:
            raise
        except BadInput:
            raise BadInput(
                f"{what}, but the folder {folder} is not writable: work in a clone that is, and name it in "
                f"LOCKSCALE_ROOT"
            ) from None


def need_root() -> None:
    """Refuse a LOCKSCALE_ROOT that is no clone: it would look like one without studies and tables."""
    lacks = [one for one in ("data", "kernel-patches", "notebooks") if not (paths.ROOT / one).is_dir()]
    if lacks:
        raise BadInput(
            f"{paths.ROOT} is no clone of lockscale, as it has no folder {lacks[0]}: set LOCKSCALE_ROOT to "
            f"the folder that git clone made, or unset it"
        )


def need_place_for_file(path: Path, by: str = "") -> None:
    """Refuse, before any work is done for it, a file whose folder is missing or cannot be written to.

    by: how another one is named, such as "with --output".
    """
    if not path.parent.is_dir():
        raise BadInput(f"{path} cannot be written because there is no folder {path.parent}: create it first")
    _need_writable(path.parent, path, by)


def need_place_for_folder(path: Path, by: str = "") -> None:
    """The same of a folder, which is made with those above it: the nearest that is there must take it."""
    above = path.absolute()
    existing = next(one for one in (above, *above.parents) if one.exists())
    if not existing.is_dir():
        named = f"name another folder {by}".rstrip()
        raise BadInput(f"{path} cannot be a folder because {existing} is a file: {named}")
    _need_writable(existing, path, by)


def _need_writable(folder: Path, path: Path, by: str) -> None:
    """Try it: what root may do by its modes, a read-only mount or /proc still refuses."""
    try:
        with full_disk_is_one_sentence(folder), tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        raise BadInput(_not_writable(path, folder.absolute(), by)) from None


def _not_writable(path: Path, folder: Path, by: str) -> str:
    why = "" if path.absolute() == folder else f"{path} cannot be written because "
    return f"{why}the folder {folder} is not writable: name another one {by}".rstrip()


def refused_write(error: OSError) -> str:
    """The same of a write that nobody tried first, with the variable that moves it; of any other error ""."""
    if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS) or not error.filename:
        return ""
    path = Path(os.fsdecode(error.filename)).absolute()
    folder = next(one for one in path.parents if os.path.isdir(one))  # noqa: PTH112 - pathlib raises EACCES
    moved = {"in LOCKSCALE_RUNS": paths.RUNS, "in LOCKSCALE_CACHE": paths.CACHE}
    by = [how for how, at in moved.items() if path.is_relative_to(at) or at.is_relative_to(path)]
    if error.errno != errno.EROFS and (not by or os.access(folder, os.W_OK)):
        return ""
    return _not_writable(path, folder, by[0] if by else "")


def user_name() -> str:
    """This user, in at most 40 printable characters."""
    try:
        return printable(os.environ.get(NAME_VARIABLE) or getpass.getuser(), 40)
    except (KeyError, OSError):  # a user without an entry, as in some containers
        return "an unnamed user"


def now_utc() -> str:
    """The time now, to the second: 2026-01-31T12:00:00Z."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextlib.contextmanager
def locked(path: Path, what: str, *, wait: bool = False) -> Iterator[None]:
    """Hold an exclusive lock on `path`; a second holder is told who holds it, and since when, or waits."""

    def refusal(holder: str) -> str:
        return f"{what} is in use by {printable(holder, 120) or 'an unknown user'}: wait until it ends"

    with hold_lock(path, f"{user_name()} since {now_utc()} (process {os.getpid()})", refusal, wait=wait):
        yield


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock on `path` now."""
    with contextlib.suppress(OSError), path.open() as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def holder(path: Path) -> str:
    """Who holds the lock on `path`, and since when, for a message of somebody who waits for it."""
    try:
        return printable(path.read_text(errors="replace"), 120) or "an unknown user"
    except OSError:
        return "nobody"


@contextlib.contextmanager
def hold_lock(
    path: Path, says: str, refusal: Callable[[str], str], *, for_all: bool = False, wait: bool = False
) -> Iterator[None]:
    """Hold an exclusive lock on `path`, which holds `says` meanwhile; for_all: every user may take it.

    Raises InUse with refusal(what the first holder says) for a second one, who else waits. The kernel
    lets go of it when the last process that has it open ends, however it ends.
    """
    with full_disk_is_one_sentence(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        opener = _for_all if for_all else None
        stream = open(path, "a+", errors="replace", opener=opener)  # noqa: SIM115
    with stream:
        os.set_inheritable(stream.fileno(), True)  # a child that outlives us still holds it
        if not _took(stream.fileno(), wait=wait):
            stream.seek(0)
            raise InUse(refusal(stream.read(MOST_SAID)))
        with full_disk_is_one_sentence(path.parent):
            stream.seek(0)
            stream.truncate()
            stream.write(says)
            stream.flush()
        yield


def _took(opened: int, *, wait: bool) -> bool:
    """Whether we hold the lock now. One that somebody only looks at (is_locked) is free a moment later."""
    for attempt in range(1, LOOKS + 1):
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            if attempt < LOOKS:
                time.sleep(LOOK_S)
        else:
            return True
    return False


def _for_all(path: str, flags: int) -> int:
    """A file in a folder that everybody writes to, where O_CREAT is refused on another user's file.

    See fs.protected_regular in proc_sys_fs(5); a link, which could lead elsewhere, is not followed.
    """
    flags |= os.O_NOFOLLOW
    try:
        return os.open(path, flags & ~os.O_CREAT)
    except FileNotFoundError:
        made = os.open(path, flags, 0o666)
        os.fchmod(made, 0o666)  # whatever the umask
        return made
