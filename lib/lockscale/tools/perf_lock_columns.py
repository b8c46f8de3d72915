# SPDX-License-Identifier: MIT
"""A table of perf lock: which columns its head has, and the numbers and the name in each of its rows.

Aligned as perf prints them, or separated (-x). See perf_lock, which finds the tables in a text.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lockscale.errors import BadInput
from lockscale.tools.mail_text import TextLine
from lockscale.tools.parsed_rows import NS

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
_STACK_LINE = re.compile(r" {6,}0x[0-9a-f]+(?:  (.*)| *)")
_COUNT = r" *(\d{1,15}) "
_TIME = r" *(\d{1,15}\.\d\d (?:[hms] |[mu]s)|\d{1,3} ns) "


@dataclass(frozen=True)
class LockWaits:
    """Waits under one name in nanoseconds; a time is None where perf was not asked for its column.

    `contentions` began and `ended` ended: mean_ns is total_ns over the ended ones. `rows` rows of one
    name were added; `line` is the first's, `stack` what perf lock contention -v prints below it.
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
    line: int = field(default=0, compare=False)
    stack: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Columns:
    """The head of a table: its numbers, what its rows are named by, the separator if it has one."""

    numbers: tuple[str, ...]
    label: tuple[str, ...]
    separator: str = ""
    has_stacks: bool = False
    in_ns: bool = False  # aligned, and without units: perf before 5.18

    @property
    def by(self) -> str:
        return _LABELS.get(self.label, "lock")

    def is_cut(self, line: str, widest: int) -> bool:
        """Whether the name at the end of a row is cut, or may be: it ends where a terminal does."""
        if self.by in ("caller", "address") and _CUT.fullmatch(line):
            return True
        return len(line) == widest == _TERMINAL and self.by in ("caller", "cgroup")

    def row(self, line: str) -> LockWaits:
        """One row; BadInput where it is not one."""
        found = self._split(line) if self.separator else self._cut(line)
        if found is None:
            raise BadInput(f"perf lock: a row does not belong to its table: {line.strip()[:60]!r}")
        cells, label = found
        counts = {column: int(cells[column]) for column in _COUNTS if column in cells}
        times = {column: _ns(cells[column]) for column in _TIMES if column in cells}
        _refuse_what_cannot_be(cells, counts, times)
        return LockWaits(
            _name(self.by, label),
            counts["contended"],
            _ended(counts, times),
            times.get("total wait"),
            times.get("avg wait"),
            times.get("max wait"),
            times.get("min wait"),
            counts.get("acquired"),
        )

    def _cut(self, line: str) -> tuple[dict[str, str], Sequence[str]] | None:
        numbers = "".join(_COUNT if self.in_ns or column in _COUNTS else _TIME for column in self.numbers)
        if self.by == "lock":
            cells = _with_its_spaces(line)
            found = re.fullmatch(numbers, cells[21:], re.ASCII) if cells[20:21] == " " else None
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


def _with_its_spaces(line: str) -> str:
    """A row that ends in a number, with the spaces behind it that an editor took away.

    Minutes stay as they are: a line that is cut may end so in the middle of `ms`.
    """
    trimmed = line.rstrip()
    if len(line) > len(trimmed) or trimmed.endswith(" m"):
        return line
    return f"{trimmed}  " if trimmed.endswith((" h", " s")) else f"{trimmed} "


def columns_of(line: str) -> Columns | None:
    """The columns when the line is the head of one of perf lock's tables, else None."""
    separated = re.fullmatch(r"# output: contended(\S+) .*", line)
    separator = separated[1] if separated else ""
    in_ns = not separated and "wait (ns)" in line
    text = line.removeprefix("# output: ") if separated else line.replace(" (ns)", "  ").strip()
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
    return Columns(numbers, label, separator, has_stacks, in_ns)


def lacks_contended(line: str) -> bool:
    """Whether the line is the head of a table that was printed with other columns alone (-F wait_total)."""
    if "contended" in line or " wait" not in line:
        return False
    separated = re.match(r"# output: \w+ wait(\W+) ", line)
    if separated:
        head = line.replace("# output: ", f"# output: contended{separated[1]} ", 1)
    else:
        head = re.sub(r"^( *Name  +|)", r"\1contended   ", line.rstrip())
    return columns_of(head) is not None


def _name(by: str, label: Sequence[str]) -> str:
    """`spinlock rcu_core+0x31f`, `mdtest 18863`, `ffff8881c3805348 (rwsem)`, a cgroup, or a lock."""
    if by in ("thread", "owner"):
        return f"{label[1]} {label[0]}"
    if len(label) == 3:  # separated, the type has a column of its own
        return f"{label[0]:>016} {f'{label[1]} ({label[2]})'.strip()}"
    return " ".join(part for part in label if part) or "(no name)"


def _ns(cell: str) -> float:
    """`16.17 us`, `811 ns` or, separated, `16170`."""
    number, _, unit = cell.partition(" ")
    return float(int(number) if unit in ("", "ns") else round(float(number) * NS[unit.strip()]))


def _refuse_what_cannot_be(
    cells: Mapping[str, str], counts: Mapping[str, int], times: Mapping[str, float]
) -> None:
    """BadInput where the mean wait, which is rounded, is longer than the longest, or too short for the sum.

    The means of perf lock report are over all acquisitions.
    """
    mean, n = times.get("avg wait"), counts["contended"]
    if mean is None or "acquired" in counts:
        return
    most = 1.01 * mean + 1
    if times.get("total wait", 0.0) > n * most + 1:
        raise BadInput(
            f"{n} waits of {cells['avg wait']} on average are no {cells['total wait']}: is a unit wrong?"
        )
    if mean > 1.01 * times.get("max wait", mean) + 1:
        raise BadInput(
            f"the mean wait, {cells['avg wait']}, is longer than the longest, {cells['max wait']}: is a unit "
            "wrong?"
        )


def _ended(counts: Mapping[str, int], times: Mapping[str, float]) -> int:
    """How many waits the mean is over: those that ended, or, of perf lock report, the acquisitions.

    It is printed rounded, so a wait in a hundred that had not ended is not seen.
    """
    contended, mean = counts["contended"], times.get("avg wait")
    if not mean or "total wait" not in times:
        return contended
    ended = times["total wait"] / mean
    if ended > 1.01 * contended + 1 and "acquired" in counts:
        return counts["acquired"]
    return min(contended, max(1, int(1.01 * ended)))


def with_stacks(lines: Sequence[TextLine]) -> list[tuple[TextLine, list[str]]]:
    """Each row, with the lines of the stack that perf lock contention -v prints below it."""
    found: list[tuple[TextLine, list[str]]] = []
    for one in lines:
        if not _STACK_LINE.fullmatch(one.text):
            found.append((one, []))
        elif found:
            found[-1][1].append(one.text)
    return found


def functions_of(stack: Sequence[str]) -> tuple[str, ...]:
    """The functions in lines below a row, with their offsets."""
    return tuple(found[1] for one in stack if (found := _STACK_LINE.fullmatch(one)) and found[1])


def refuse_a_copy(
    columns: Columns, row: LockWaits, stack: Sequence[str], seen: Sequence[tuple[int, Sequence[str]]]
) -> None:
    """BadInput for a row that is there before, unless it may be of another stack, which perf need not print.

    Single waits are often of one length, as it is printed in three digits; sums of several are not. seen: the
    lines and stacks of the equal ones; a stack that begins as the other's may be a part of the same.
    """
    may_be_another = columns.by in ("caller", "lock") and not columns.separator and row.contentions == 1
    for first, other in seen:
        together = min(len(stack), len(other))
        is_same = stack[:together] == other[:together] if stack or other else False
        if is_same or not may_be_another:
            raise BadInput(
                f"perf lock printed a row twice, in lines {first} and {row.line}: run the report again"
            )


def added(a: LockWaits, b: LockWaits) -> LockWaits:
    """Two rows of one name; what one of them lacks, both lack."""
    total, ended = _both(operator.add, a.total_ns, b.total_ns), a.ended + b.ended
    return replace(
        a,
        contentions=a.contentions + b.contentions,
        ended=ended,
        acquired=None if a.acquired is None or b.acquired is None else a.acquired + b.acquired,
        total_ns=total,
        mean_ns=None if total is None else total / ended,
        max_ns=_both(max, a.max_ns, b.max_ns),
        min_ns=_both(min, a.min_ns, b.min_ns),
        rows=a.rows + b.rows,
    )


def _both(of: Callable[[float, float], float], a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else of(a, b)
