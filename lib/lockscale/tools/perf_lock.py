# SPDX-License-Identifier: MIT
"""Waits for locks by perf lock, from the tracepoints lock:contention_begin and _end (Linux 5.19 on).

perf lock contention tells them by caller, thread, address or cgroup; perf lock report by lock. Read in
perf's source: tools/perf/builtin-lock.c (print_contention_result, print_lock_stat_stdio, _csv,
print_result, report_lock_contention_end_event). Tables go to standard error. Nothing in them says
where they end: sealed() commands do.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lockscale.errors import BadInput
from lockscale.tools.perf import plain
from lockscale.tools.seal import UNSEALED, sealed, unseal
from lockscale.tools.target_tools import Part

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


__all__ = ["LockWaits", "PerfLock", "contention", "has_csv", "parse", "recognise", "record", "report"]

TOOL = "perf_lock"
TRACEPOINT = "/sys/kernel/tracing/events/lock/contention_begin/id"
CONTENTION_HELP = ("perf", "lock", "contention", "-h")
PARTS = (
    Part(
        "perf lock contention",
        ("sh", "-c", "perf lock contention -h 2>&1 | grep -q 'perf lock contention'"),
        "waits are counted with lock_stat; perf 6.0 has it",
    ),
    Part(
        "the tracepoint lock:contention_begin",
        ("test", "-r", TRACEPOINT),
        "waits are counted with lock_stat; Linux 5.19 has it, in tracefs",
    ),
)

# perf lock contention -b goes on, and exits with 0, after some of these
_FAILED = re.compile(r"(?:libbpf: |lock contention BPF |Failed to |Error: )", re.IGNORECASE)
_STACK_LINE = re.compile(r"\t\t\t0x[0-9a-f]+  .*")
_DEBUG = re.compile(r"=== output for debug ?===|# debug: total=\d+.*")
_BAD = re.compile(
    r"(?:# debug: total=(?P<all>\d+)\W* bad=(?P<bad>\d+)|bad: (?P<bad2>\d+), total: (?P<all2>\d+))\b.*"
)
_DEBUG_LINE = re.compile(
    r"|bad rate: .* %|histogram of (?:events caused bad sequence|failure reasons)| +[a-z]+: \d+"
)


@dataclass(frozen=True)
class PerfLock:
    """Waits `by` caller, thread, address, cgroup or lock; `warnings` say what may be missing."""

    by: str
    waits: tuple[LockWaits, ...]
    warnings: tuple[str, ...]


def record(command: Sequence[str], data: str) -> list[str]:
    """argv that runs `command` and writes every wait on the whole machine to the file `data`."""
    return ["perf", "lock", "record", "-q", "-a", "-N", "-o", data, "--", *command]


def has_csv(help_text: str) -> bool:
    """Whether this perf lock prints exact nanoseconds, by what CONTENTION_HELP prints (perf 6.5 does)."""
    return "--field-separator" in help_text


def contention(data: str, *, csv: bool) -> list[str]:
    """argv that prints the waits in the file `data` by caller; csv: see has_csv()."""
    separated = ["-x", ","] if csv else []
    return sealed(plain(["perf", "lock", "contention", "-i", data, *separated]), with_errors=True)


def report(data: str) -> list[str]:
    """argv that prints the waits in the file `data` by lock, or by caller where a lock has no name."""
    return sealed(plain(["perf", "lock", "report", "-i", data]), with_errors=True)


def recognise(text: str) -> bool:
    """Whether there is the head of such a table, or the words of one that failed."""
    if any("contended" in line and columns_of(line) for line in text.split("\n")):
        return True
    return "BPF" in text and any(_is_failure(line) for line in text.split("\n"))


def parse(text: str) -> PerfLock:
    """The one table in the text; BadInput where perf lock failed, though its exit status is then 0 too.

    Lines that perf prints before the table are passed over. Rows of one name, which differ in what is
    not printed, are added; two equal ones are, unless the text is sealed, one that was repeated.
    """
    body, whole = unseal(text)
    lines = body.split("\n")
    heads = [number for number, line in enumerate(lines) if "contended" in line and columns_of(line)]
    failed = next((line.strip() for line in lines[: heads[0] if heads else None] if _is_failure(line)), None)
    if len(heads) > 1 and not failed:
        raise BadInput(f"the text holds {len(heads)} of perf lock's tables: give one at a time")
    if failed or not heads:
        said = failed or "none is there"
        raise BadInput(f"perf lock printed no table of waits ({said[:70]}): record and report without -b")
    if lines[-1]:
        raise BadInput("perf lock's table ends in the middle of a line: report again")
    columns = columns_of(lines[heads[0]])
    assert columns is not None
    return _read(columns, lines[heads[0] + 1 : -1], whole)


def _is_failure(line: str) -> bool:
    return _FAILED.match(line.strip()) is not None


def _read(columns: Columns, lines: Sequence[str], whole: bool) -> PerfLock:
    end = next((number for number, line in enumerate(lines) if _DEBUG.fullmatch(line)), len(lines))
    warnings = [] if whole else [UNSEALED]
    waits: dict[str, LockWaits] = {}
    widest = max(map(len, lines[:end]), default=0)
    seen: set[str] = set()
    for line in lines[:end]:
        if not line or _STACK_LINE.fullmatch(line):
            continue
        if line in seen and not whole:
            raise BadInput(f"perf lock printed a row twice: {line.strip()[:60]!r}, report again")
        seen.add(line)
        if columns.is_cut(line, widest):
            warnings.append(f"a row is left out, its name is or may be cut: {line[-40:].strip()}")
            continue
        row = columns.row(line)
        waits[row.name] = _sum(waits[row.name], row) if row.name in waits else row
    warnings += _broken(lines[end:])
    if not waits:
        warnings.append("perf lock saw no wait: was the load running, and on these CPUs?")
    return PerfLock(columns.by, tuple(waits.values()), tuple(warnings))


def _broken(lines: Sequence[str]) -> list[str]:
    """A warning where perf could not follow some waits; BadInput for lines that are not its own."""
    warnings = []
    for line in lines:
        if found := _BAD.fullmatch(line):
            bad, total = (int(found[name] or found[f"{name}2"]) for name in ("bad", "all"))
            if bad:
                warnings.append(f"perf lock could not follow {bad} of {total}: their waits are missing")
        elif not (_DEBUG.fullmatch(line) or _DEBUG_LINE.fullmatch(line)):
            raise BadInput(f"perf lock: a line below the table is not known: {line[:60]!r}")
    return warnings


def _sum(a: LockWaits, b: LockWaits) -> LockWaits:
    """Two rows of one name; what one of them lacks, both lack."""
    total = None if a.total_ns is None or b.total_ns is None else a.total_ns + b.total_ns
    ended = a.ended + b.ended
    return replace(
        a,
        contentions=a.contentions + b.contentions,
        acquired=None if a.acquired is None or b.acquired is None else a.acquired + b.acquired,
        ended=ended,
        total_ns=total,
        mean_ns=None if total is None else total / ended,
        max_ns=None if a.max_ns is None or b.max_ns is None else max(a.max_ns, b.max_ns),
        min_ns=None if a.min_ns is None or b.min_ns is None else min(a.min_ns, b.min_ns),
        rows=a.rows + b.rows,
    )
