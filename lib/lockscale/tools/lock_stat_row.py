# SPDX-License-Identifier: MIT
"""One row of /proc/lock_stat: a lock class in one mode, with its waits and its holds.

A row has no names for its twelve numbers; the header line above all rows has them. Rows that somebody took
out of the file, as `grep j_state_lock /proc/lock_stat` does, are without it. They are read in the order of
version 0.4 if that fits: a count has no decimals and a time has two, and of four times the first is the
shortest, the second the longest, and the third the count times the fourth.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lockscale.errors import BadInput

FILE = "/proc/lock_stat"
_TIMES = "{0}-min {0}-max {0}-total {0}-avg"
COLUMNS = (
    f"class name con-bounces contentions {_TIMES.format('waittime')} "
    f"acq-bounces acquisitions {_TIMES.format('holdtime')}"
).split()
_HALF = r"(\d{1,20}) +(\d{1,20})" + r" +(\d{1,20}\.\d\d)" * 4
_ROW = re.compile(rf" *(\S.*?)(?:-([WR]))?: *{_HALF} +{_HALF} *", re.ASCII)
PLACE = re.compile(r" *(\S.*?) +(\d{1,20}) +\[<\S+>\] (\S.*)", re.ASCII)
_RULE = re.compile(r" *(?:-+|\.+)")
_FIRST_LINE = re.compile(r".*\S.*")
# seq_stats(): names of two classes may differ in what was cut off only, and both classes be equally busy.
CUT_NAME = re.compile(r".{37,}|.*#\d(?:/\d)?")
_FOUND_AT = re.compile(r"(?:\S+[:-])?\d+[:-] |/proc/lock_stat[:-]|\S+[:-]  ")
"""A file or the number of a line, as grep puts it before the blanks that fill the column of names."""
NO_HEADER = (
    "the header line is missing: the order of the columns is assumed to be that of lock_stat 0.4 in "
    f"kernel/locking/lockdep_proc.c ({', '.join(COLUMNS[2:])}; times in us)"
)
PART = "only some rows of the file are here: what other locks are waited for is not known"
NO_SITES = "call sites are left out: without the lines between them nothing says which wait and which hold"


@dataclass(frozen=True)
class Times:
    """struct lock_time: how many, and the shortest, longest, summed and mean time in microseconds."""

    count: int
    min_us: float
    max_us: float
    total_us: float
    avg_us: float

    @property
    def adds_up(self) -> bool:
        """Whether the total is the count times the mean, which get_lock_stats() cuts to 0.01 us."""
        return abs(self.total_us - self.count * self.avg_us) <= 0.011 * self.count + 0.01

    @property
    def is_ordered(self) -> bool:
        """Whether the shortest is no longer than the mean, nor the mean than the longest."""
        return self.min_us <= self.avg_us <= self.max_us <= self.total_us + 0.01


@dataclass(frozen=True)
class LockClassUse:
    """One lock class in one mode since the last reset; an exclusive lock's mode is `write`.

    `waits.count` is the kernel's contentions, `holds.count` its acquisitions; bounces are those of
    them that found the lock last used by another CPU. `ambiguous`: several classes share the
    printed name, and these are their sums.
    """

    name: str
    mode: Literal["write", "read"]
    con_bounces: int
    waits: Times
    acq_bounces: int
    holds: Times
    ambiguous: bool = False


def use_of(line: str) -> LockClassUse | None:
    """What a row says; None for a line that is none."""
    row = _ROW.fullmatch(line)
    if row is None:
        return None
    name, mode, *cells = row.groups()
    return LockClassUse(
        name,
        "read" if mode == "R" else "write",
        int(cells[0]),
        _times(cells[1:6]),
        int(cells[6]),
        _times(cells[7:12]),
    )


def _times(cells: Sequence[str]) -> Times:
    return Times(int(cells[0]), *(float(cell) for cell in cells[1:]))


def is_part(text: str) -> bool:
    """Whether these are rows of the file, and nothing but its lines, without the first one."""
    first = _FIRST_LINE.search(text)
    if not first or not _is_of_the_table(first[0]):  # most texts of other tools: they may be long
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    return any(map(use_of, lines)) and all(map(_is_of_the_table, lines))


def _is_of_the_table(line: str) -> bool:
    return bool(use_of(line) or _is_header(line) or PLACE.fullmatch(line) or _RULE.fullmatch(line))


def _is_header(line: str) -> bool:
    return line.split() == COLUMNS


def part_of(lines: Sequence[str]) -> tuple[tuple[LockClassUse, ...], tuple[str, ...]]:
    """The rows of a part of the file, and what is to be said of them.

    BadInput where they do not fit the order of the columns.
    """
    has_header = any(map(_is_header, lines))
    uses = tuple(use for line in lines if (use := use_of(line)))
    for use in uses:
        if _FOUND_AT.match(use.name):
            raise BadInput(
                f"{use.name[:40]!r} begins with the file or the line's number, as grep prints them: use "
                "grep -h, without -n"
            )
        if not has_header:
            _refuse_another_order(use)
    _refuse_two_readings(uses)
    sites = any(map(PLACE.fullmatch, lines))
    return uses, (*(() if has_header else (NO_HEADER,)), PART, *((NO_SITES,) if sites else ()))


def _refuse_two_readings(uses: Sequence[LockClassUse]) -> None:
    """As one grep after another prints them: only a name that was cut stands for several classes."""
    rows = Counter((use.name, use.mode) for use in uses if not CUT_NAME.fullmatch(use.name))
    for (name, mode), count in rows.items():
        if count > 1:
            raise BadInput(f"there are {count} rows of {name} ({mode}): give those of one reading of {FILE}")


def _refuse_another_order(use: LockClassUse) -> None:
    for what, times in (("waits", use.waits), ("holds", use.holds)):
        if not (times.adds_up and times.is_ordered):
            raise BadInput(
                f"the {what} of {use.name} do not fit the order of {FILE}'s columns (count, min, max, total, "
                "avg), and its header line is missing: give that line, too"
            )
