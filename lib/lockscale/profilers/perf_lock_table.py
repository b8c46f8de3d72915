# SPDX-License-Identifier: MIT
"""The heads and rows of perf lock's tables: aligned, or separated as `-x` asks."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockscale.errors import BadInput

_COUNTS = ("acquired", "contended")
_TIMES = ("total wait", "max wait", "min wait", "avg wait")
_LABELS = {
    ("type", "caller"): "caller",
    ("pid", "comm"): "thread",
    ("pid", "owner"): "owner",
    ("address", "symbol"): "address",
    ("address", "symbol", "type"): "address",
    ("cgroup",): "cgroup",
}
_ALIGNED_LABEL = {
    "caller": r"  +(\S+)   (\S.*)",
    "thread": r"  +(-?\d+)   (\S.*)",
    "owner": r"  +(-?\d+)   (\S.*)",
    "address": r"  ([0-9a-f]{16})   (.*)",
    "cgroup": r"  (\S.*)",
}
# Where a terminal's copy may end: within an offset, or within the type of a lock.
_CUT = re.compile(r".*(?:\S\+(?:0x?)?|\([^()]*)")
_TERMINAL = 80
_COUNT = r" *(\d{1,15}) "
_TIME = r" *(\d{1,15}\.\d\d (?:[hms] |[mu]s)|\d{1,3} ns) "
_NS = {"h ": 3_600_000_000_000, "m ": 60_000_000_000, "s ": 1_000_000_000, "ms": 1_000_000, "us": 1000}
# A wait that had not ended when the recording did is a thread's: there are fewer than this.
_MOST_PENDING = 100_000


@dataclass(frozen=True)
class LockWaits:
    """Waits under one name in nanoseconds; a time is None where perf was not asked for its column.

    `contentions` began and `ended` ended: mean_ns is total_ns over the ended ones. `rows` rows of one
    name were added.
    """

    name: str
    contentions: int
    ended: int
    total_ns: float | None
    mean_ns: float | None
    max_ns: float | None
    min_ns: float | None
    acquired: int | None = None
    rows: int = 1


@dataclass(frozen=True)
class _Time:
    """A printed time in ns: the value lies from low to high. By default a time that is not there."""

    value: float | None = None
    low: float = 0.0
    high: float = math.inf


@dataclass(frozen=True)
class Columns:
    """The head of a table: its numbers, what its rows are named by, the separator if it has one."""

    numbers: tuple[str, ...]
    label: tuple[str, ...]
    separator: str = ""
    has_stacks: bool = False

    @property
    def by(self) -> str:
        return _LABELS.get(self.label, "lock")

    def is_cut(self, line: str, widest: int) -> bool:
        """Whether the name at the end of a row is cut, or may be: it ends where a terminal does."""
        if self.by in ("caller", "address") and _CUT.fullmatch(line):
            return True
        return len(line) == widest == _TERMINAL and self.by in ("caller", "cgroup")

    def row(self, line: str) -> LockWaits:
        """One row; BadInput where it is not one, or its numbers do not agree."""
        found = self._split(line) if self.separator else self._cut(line)
        if found is None:
            raise BadInput(f"perf lock: a row is not one of its table: {line.strip()[:60]!r}")
        cells, label = found
        counts = {column: int(cells[column]) for column in _COUNTS if column in cells}
        times = {column: _time(cells[column]) if column in cells else _Time() for column in _TIMES}
        ended = _ended(counts, times)
        if not ended:
            raise BadInput(f"perf lock: the numbers of {' '.join(label)[:60]!r} do not agree, report again")
        return LockWaits(
            _name(self.by, label),
            counts["contended"],
            ended,
            times["total wait"].value,
            times["avg wait"].value,
            times["max wait"].value,
            times["min wait"].value,
            counts.get("acquired"),
        )

    def _cut(self, line: str) -> tuple[dict[str, str], Sequence[str]] | None:
        numbers = "".join(_COUNT if column in _COUNTS else _TIME for column in self.numbers)
        if self.by == "lock":
            found = re.fullmatch(f"{numbers}", line[21:], re.ASCII) if line[20:21] == " " else None
            label: Sequence[str] = [line[:20].strip()]
        else:
            found = re.fullmatch(numbers + _ALIGNED_LABEL[self.by], line, re.ASCII)
            label = [part.strip() for part in found.groups()[len(self.numbers) :]] if found else []
        return (dict(zip(self.numbers, found.groups(), strict=False)), label) if found else None

    def _split(self, line: str) -> tuple[dict[str, str], Sequence[str]] | None:
        cells = line.split(f"{self.separator} ")
        numbers, label = cells[: len(self.numbers)], cells[len(self.numbers) :]
        wanted = len(self.label)
        if not len(label) - self.has_stacks <= wanted <= len(label):
            return None
        if not all(re.fullmatch(r"\d{1,18}", cell, re.ASCII) for cell in numbers):
            return None
        return dict(zip(self.numbers, numbers, strict=True)), label[:wanted]


def columns_of(line: str) -> Columns | None:
    """The columns when the line is the head of one of perf lock's tables, else None."""
    separated = re.fullmatch(r"# output: contended(\S+) .*", line)
    separator = separated[1] if separated else ""
    text = line.removeprefix("# output: ") if separated else line.strip()
    cells = text.split(f"{separator} ") if separated else re.split("  +", text)
    has_stacks = cells[-1] == "stacktrace"
    cells = cells[:-1] if has_stacks else cells
    by_lock = cells[0] == "Name"
    numbers = tuple(cell for cell in cells if cell in (*_COUNTS, *_TIMES))
    label = tuple(cell for cell in cells if cell not in numbers)
    known = label == ("Name",) if by_lock else label in _LABELS
    ordered = [*label, *numbers] if by_lock else [*numbers, *label]
    if not known or ordered != cells or "contended" not in numbers or len(set(cells)) < len(cells):
        return None
    return Columns(numbers, label, separator, has_stacks)


def _name(by: str, label: Sequence[str]) -> str:
    """`spinlock rcu_core+0x31f`, `mdtest 18863`, `ffff8881c3805348 (rwsem)`, a cgroup, or a lock."""
    if by in ("thread", "owner"):
        return f"{label[1]} {label[0]}"
    if len(label) == 3:  # separated, the type has a column of its own
        return f"{label[0]:>016} {f'{label[1]} ({label[2]})'.strip()}"
    return " ".join(part for part in label if part) or "(no name)"


def _time(cell: str) -> _Time:
    """`16.17 us`, `811 ns` or, separated, `16170`: perf prints two decimals of a 32-bit float."""
    number, _, unit = cell.partition(" ")
    if unit in ("", "ns"):
        return _Time(int(number), int(number), int(number))
    value = round(float(number) * _NS[unit])
    slack = 0.00501 * _NS[unit] + 2e-7 * value
    return _Time(value, value - slack, value + slack)


def _ended(counts: Mapping[str, int], times: Mapping[str, _Time]) -> int:
    """How many waits the times are of; 0 when no number of waits has such times.

    The mean is the total over the waits that ended, without its remainder; by lock, where perf counts
    acquisitions, over these or over the contended ones.
    """
    total, mean = times["total wait"], times["avg wait"]
    fewest = max(1, math.ceil(total.low / (mean.high + 1)))
    most = total.high / mean.low if mean.low > 0 else math.inf
    contended = counts["contended"]
    pending_too = math.floor(min(contended, most)) if contended - _MOST_PENDING <= most else 0
    possible = [contended, counts["acquired"]] if "acquired" in counts else [pending_too]
    return next((n for n in possible if fewest <= n <= most and _agree(n, times)), 0)


def _agree(n: int, times: Mapping[str, _Time]) -> bool:
    """Whether n waits can have these times, the longest and the shortest among them."""
    total, mean, most, least = (times[c] for c in ("total wait", "avg wait", "max wait", "min wait"))
    longest_sum = least.high + (n - 1) * most.high if n > 1 else min(least.high, most.high)
    return (
        least.low <= min(mean.high + 1, most.high)
        and mean.low <= most.high
        and most.low + (n - 1) * least.low <= total.high
        and total.low <= longest_sum
    )
