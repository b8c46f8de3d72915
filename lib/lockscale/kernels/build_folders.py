# SPDX-License-Identifier: MIT
"""The folders in which kernels are built, one for each source: what each takes on the disk, and its removal.

A source that the distribution has replaced, or a tree that was changed since, leaves gigabytes behind.
Kernels that were built from it are kept elsewhere, and stay.
"""

import json
import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lockscale import paths
from lockscale.errors import BadInput, near
from lockscale.files import locked


@dataclass(frozen=True)
class BuildFolder:
    """One of them. version: of its kernel; "" where its source was not unpacked to the end."""

    name: str
    version: str
    mib: int
    last_used_utc: str


def build_folders() -> list[BuildFolder]:
    """All of them, the one that was used last at the end."""
    rooms = (path.parent for path in paths.BUILD_CACHE.glob("*/lock"))
    found = [_of(room) for room in rooms if any(one.name != "lock" for one in room.iterdir())]
    return sorted(found, key=lambda one: one.last_used_utc)


def remove_build_folder(name: str) -> None:
    """Remove what is in it; InUse while a kernel is built there, BadInput where there is none.

    What is left of a removal that was killed has names that no build takes for whole folders.
    """
    names = [one.name for one in build_folders()]
    if name not in names:
        raise BadInput(f"there is no build folder {name!r} in {paths.BUILD_CACHE}{near(name, names)}")
    room = paths.BUILD_CACHE / name
    with locked(room / "lock", f"the build folder {name}"):  # the lock stays: somebody may wait for it
        # the tree first: once its pristine files are gone nobody could put it back
        for one in sorted(room.iterdir(), key=lambda one: one.name != "src"):
            if one.is_dir():
                half = one.with_name(f"{one.name.removesuffix('.part')}.part")
                if half != one:
                    shutil.rmtree(half, ignore_errors=True)
                    one.rename(half)
                shutil.rmtree(half)
            elif one.name != "lock":
                one.unlink(missing_ok=True)


def _of(room: Path) -> BuildFolder:
    try:
        version = str(json.loads((room / "tree.json").read_text())["version"])
    except (OSError, ValueError, KeyError):
        version = ""
    used = datetime.fromtimestamp((room / "lock").stat().st_mtime, UTC)
    return BuildFolder(room.name, version, _bytes(room) >> 20, used.strftime("%Y-%m-%dT%H:%M:%SZ"))


def _bytes(room: Path) -> int:
    """What its files take on the disk, each once."""
    taken: dict[tuple[int, int], int] = {}
    for folder, _, files in os.walk(room):
        for name in files:
            said = os.lstat(f"{folder}/{name}")
            taken[said.st_dev, said.st_ino] = 512 * said.st_blocks
    return sum(taken.values())
