# SPDX-License-Identifier: MIT
"""Waits for locks by perf lock, from the tracepoints lock:contention_begin and _end (Linux 5.19 on).

perf lock contention tells them by caller, thread, address or cgroup; perf lock report by lock. Read in
perf's source: tools/perf/builtin-lock.c (print_contention_result, print_lock_stat_stdio, _csv,
print_result, report_lock_contention_end_event). Tables go to standard error. Nothing in them says
where they end: sealed() commands do.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lockscale.errors import BadInput
from lockscale.profilers.perf import plain
from lockscale.profilers.perf_lock_table import Columns, LockWaits, columns_of
from lockscale.profilers.seal import UNSEALED, sealed, unseal
from lockscale.target_tools import Part

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
