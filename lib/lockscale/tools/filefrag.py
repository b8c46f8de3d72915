# SPDX-License-Identifier: MIT
"""Where files and free space lie, as filefrag -v and e2freefrag print it (e2fsprogs, misc/)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lockscale.errors import BadInput

_SIZE = re.compile(r"File size of (.+) is (\d+) \((\d+) blocks? of (\d+) bytes\)")
_EXTENT = re.compile(r" *(\d+): *(\d+)\.\. *(\d+): *(\d+)\.\. *(\d+): *(\d+):.*")
_FOUND = re.compile(r"(.+): (\d+) extents? found.*")
_FREE = re.compile(
    r"Min\. free extent: (\d+) KB\s*\nMax\. free extent: (\d+) KB\s*\nAvg\. free extent: (\d+) KB\s*\n"
    r"(?:Num\. free extent: (\d+)\s*\n)?"
)


@dataclass(frozen=True)
class File:
    """A file's extents as (first physical block, blocks), in the order of the file."""

    path: str
    block_bytes: int
    extents: tuple[tuple[int, int], ...]

    @property
    def pieces(self) -> int:
        """Extents that do not lie behind each other on the disk: what a reader has to seek between."""
        ends = [first + blocks for first, blocks in self.extents]
        starts = [first for first, _ in self.extents]
        return sum(end != start for end, start in zip([-1, *ends], starts, strict=False))


def command(paths: Sequence[str]) -> list[str]:
    """argv that prints every extent of `paths`; -s syncs first, so that delayed blocks are there."""
    return ["filefrag", "-s", "-v", *paths]


def parse(text: str) -> list[File]:
    """Files in their order; BadInput for a cut output, or one whose extents are not those it counts."""
    files: list[File] = []
    path, block_bytes, extents = "", 0, list[tuple[int, int]]()
    for line in text.splitlines():
        if size := _SIZE.fullmatch(line):
            if path:
                break
            path, block_bytes, extents = size[1], int(size[4]), []
        elif extent := _EXTENT.fullmatch(line):
            extents.append((int(extent[4]), int(extent[6])))
        elif found := _FOUND.fullmatch(line):
            # filefrag counts extents that follow each other on the disk as one
            if found[1] != path or int(found[2]) > len(extents) or bool(int(found[2])) != bool(extents):
                break
            files.append(File(path, block_bytes, tuple(extents)))
            path = ""
    else:
        if not path and files:
            return files
    raise BadInput(f"filefrag's output is cut or damaged at {path or 'its beginning'}: run it again")


@dataclass(frozen=True)
class FreeSpace:
    """Free extents of a file system in KiB (e2freefrag prints KB for 1024 bytes)."""

    min_kib: int
    max_kib: int
    avg_kib: int


def parse_free(text: str) -> FreeSpace:
    """The summary of e2freefrag DEVICE."""
    found = _FREE.search(text)
    if found is None:
        raise BadInput("this is not what e2freefrag prints: there is no `Avg. free extent`")
    return FreeSpace(int(found[1]), int(found[2]), int(found[3]))
