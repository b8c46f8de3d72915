# SPDX-License-Identifier: MIT
"""Temporary folders that do not outlive their process, however it ends.

A process that is killed removes nothing. So each folder is held by flock(2), which the kernel lets go of when
its process is gone, and whoever makes the next one removes those of this user that nobody holds. Of machines
that share a disk over NFS or Lustre none sees another's lock on a folder, so the names of each are its own.
"""

import contextlib
import fcntl
import hmac
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path


def of_machine(machine_id: bytes, host: str) -> str:
    """What tells this machine from others, and names it to nobody; hosts may share an id, or have none."""
    return hmac.digest(machine_id + host.encode(), b"lockscale", "sha256").hex()[:6]


_ID = Path("/etc/machine-id")
MACHINE = of_machine(_ID.read_bytes() if _ID.is_file() else b"", socket.gethostname())
NAME = f"lockscale-*-{MACHINE}.????????"
"""Of every such folder, as made by mkdtemp(3); no other file of the project has such a name."""
MODE = 0o700
"""Of every such folder, by which it is told from a person's of such a name, as lockscale-notes.20260131."""


@contextlib.contextmanager
def scratch_folder(what: str, beside: Path | str | None = None) -> Iterator[Path]:
    """An empty folder of this user alone, gone at the end of `with`.

    what: a word of its name, for whoever lists the folder that it lies in: `beside`, by default that for
    temporary files (TMPDIR).
    """
    folder = ScratchFolder(what, beside)
    try:
        yield folder.path
    finally:
        folder.remove()


class ScratchFolder:
    """The same for an owner that is no `with`; remove() may be called again."""

    def __init__(self, what: str, beside: Path | str | None = None) -> None:
        home = Path(beside or tempfile.gettempdir())
        remove_orphans(home)
        self._held: int | None
        self.path, self._held = _made(what, home)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._held is not None:
            os.close(self._held)
            self._held = None


def remove_orphans(home: Path) -> None:
    """Remove the folders of this user in `home` that no process holds any more."""
    for path in home.glob(NAME):
        with contextlib.suppress(OSError), _opened(path) as held:
            said = os.fstat(held)
            if (said.st_uid, said.st_mode & 0o777) == (os.geteuid(), MODE):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield held
    finally:
        os.close(held)


def _made(what: str, home: Path) -> tuple[Path, int]:
    """A new folder, and what holds it; made again where it was taken for an orphan before it was held."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"lockscale-{what}-{MACHINE}.", dir=home))
        with contextlib.suppress(FileNotFoundError):
            held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(held, fcntl.LOCK_EX)
            if path.exists():
                return path, held
            os.close(held)
