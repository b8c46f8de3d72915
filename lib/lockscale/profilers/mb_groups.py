# SPDX-License-Identifier: MIT
"""Free space of an ext4 file system by block group: /proc/fs/ext4/<device>/mb_groups.

Read in the kernel: fs/ext4/mballoc.c (ext4_mb_seq_groups_show). A line is a group: free clusters, the
extents that they are in, the first of them, and how many free chunks of each power of two there are.
"""

import re

from lockscale.errors import BadInput
from lockscale.profilers.kernel_format import Value

_ORDERS = 14
_HEAD = "#group: free  frags first [" + "".join(f" 2^{order:<3}" for order in range(_ORDERS)) + " ]"
_GROUP = re.compile(rf"#(\d+) *: (\d+) +(\d+) +(\d+) +\[((?: \d+ *){{{_ORDERS}}}) \](.*)", re.ASCII)
# what ext4_decode_error() says
_UNREAD = re.compile(
    r"#(\d+) *: (?:Corrupt filesystem|Filesystem failed CRC|IO failure|Out of memory|Journal has aborted"
    r"|Readonly filesystem|error -?\d+)",
    re.ASCII,
)
_CORRUPTED = " Block bitmap corrupted!"
_MOST = 2**32


def parse(text: str) -> tuple[list[Value], list[str]]:
    """Sums over the groups, and warnings for groups that ext4 could not read or found corrupted.

    BadInput where a group is not there or not in turn, or its chunks are not its free clusters, as
    when it was read while files were made.
    """
    head, *lines = text.split("\n")
    if head != _HEAD or not lines or lines.pop():
        raise BadInput("mb_groups is cut, or not as Linux 6.12 prints it: read it again")
    groups: list[list[int]] = []
    warnings: list[str] = []
    for number, line in enumerate(lines):
        group = _GROUP.fullmatch(line)
        found = group or _UNREAD.fullmatch(line)
        if found is None or found[1] != str(number):
            raise BadInput(f"mb_groups: the line of group {number} is {line[:60]!r}, read it again")
        if group is None or group[6] == _CORRUPTED:
            warnings.append(f"group {number} is left out: ext4 could not read it, or found it corrupted")
            continue
        groups.append(_group(number, group))
    if not groups:
        raise BadInput("mb_groups has no group that could be read")
    return _sums(groups), warnings


def _group(number: int, line: re.Match[str]) -> list[int]:
    """Free clusters, extents, and chunks by order."""
    free, extents, *chunks = map(int, [line[2], line[3], *line[5].split()])
    whole = sum(count << order for order, count in enumerate(chunks)) == free
    if line[6] or not whole or not bool(free) <= bool(extents) or extents > free or int(line[4]) >= _MOST:
        raise BadInput(f"mb_groups: the numbers of group {number} do not agree, read it when no load runs")
    return [free, extents, *chunks]


def _sums(groups: list[list[int]]) -> list[Value]:
    free, extents, *chunks = (sum(column) for column in zip(*groups, strict=True))
    return [
        Value("groups", len(groups), "count", "total"),
        Value("groups_full", sum(not group[0] for group in groups), "count", "total"),
        Value("free", free, "clusters", "total"),
        Value("free_extents", extents, "count", "total"),
        *(Value(f"free_chunks_2^{order}", count, "count", "total") for order, count in enumerate(chunks)),
    ]
