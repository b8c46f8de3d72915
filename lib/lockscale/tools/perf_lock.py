# SPDX-License-Identifier: MIT
"""Waits for locks by perf lock, from the tracepoints lock:contention_begin and _end (Linux 5.19 on).

perf lock contention prints them by caller, thread, address or cgroup; perf lock report by lock. Read in
perf's source: tools/perf/builtin-lock.c (print_contention_result, print_lock_stat_stdio, _csv,
print_result, report_lock_contention_end_event). Tables go to standard error. Nothing in them says
where they end: sealed() commands do.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from lockscale.errors import BadInput, printable
from lockscale.tools.lock_functions import function_of
from lockscale.tools.lock_profile import LockProfile, chosen
from lockscale.tools.mail_text import TextLine, lines_of
from lockscale.tools.parsed_rows import NOT_STATED, Number, Parsed, rows_of
from lockscale.tools.perf_lock_columns import (
    LockWaits,
    added,
    columns_of,
    functions_of,
    lacks_contended,
    refuse_a_copy,
    with_stacks,
)
from lockscale.tools.perf_stat import SAID_OF_LOSS, lost_by_perf, plain
from lockscale.tools.profile_entry import Entry
from lockscale.tools.seal import UNSEALED, sealed, unseal
from lockscale.tools.target_tools import DATA, LoadProfiler, Part

TOOL = "perf_lock"
MANY = 10  # times as many waits as a total is of: hardly all of them were still waiting at the end
TRACEPOINT = "/sys/kernel/tracing/events/lock/contention_begin/id"
CONTENTION_HELP = ("perf", "lock", "contention", "-h")
PARTS = (
    Part(
        "perf lock contention",
        ("sh", "-c", "perf lock contention -h 2>&1 | grep -q 'perf lock contention'"),
        "waits are counted with lock_stat; this needs perf 6.0 or newer",
    ),
    Part(
        "the tracepoint lock:contention_begin",
        ("test", "-r", TRACEPOINT),
        "waits are counted with lock_stat; this needs Linux 5.19 or newer and tracefs",
    ),
)
MOST_LOCKS = 20
"""Locks of a load's profile that become rows, by time waited; its raw output has all of them."""

# perf's words for a kind of lock, where ours is another
_KINDS = {"spinlock": "spin", "pcpu-sem:R": "percpu-rwsem:R", "pcpu-sem:W": "percpu-rwsem:W"}
# perf lock contention -b goes on, and exits with 0, after some of these
_FAILED = re.compile(r"(?:libbpf: |lock contention BPF |Failed to |Error: )", re.IGNORECASE)
_UNKNOWN = re.compile(r"Error: (?:unknown (?:switch|option) |Unknown --field key)", re.IGNORECASE)
_THREAD = re.compile(r"swapper|(?:kworker|ksoftirqd|migration|cpuhp)/.+|kthreadd|kswapd\d+|:\d+")
"""Names that threads have and locks have not."""
_ENDS = re.compile(r"[$#] ?[$#]? ?[a-z]|\[ perf record:|# To display ")
"""A prompt, and what another command says."""
_DEBUG = re.compile(r"=== output for debug ?===|# debug: total=\d+.*")
_BAD = re.compile(
    r"(?:# debug: total=(?P<all>\d+)\W* bad=(?P<bad>\d+)|bad: (?P<bad2>\d+), total: (?P<all2>\d+))\b.*"
)
_DEBUG_LINE = re.compile(
    r"|bad rate: .* %|histogram of (?:events caused bad sequence|failure reasons)| +[a-z]+: \d+"
)


@dataclass(frozen=True)
class PerfLock:
    """Waits `by` caller, thread, address, cgroup or lock; `warnings` say what may be missing.

    by_stack: rows of one name are apart where perf printed another stack below each.
    """

    by: str
    by_stack: tuple[LockWaits, ...]
    warnings: tuple[str, ...]
    line: int = 1
    title: str = ""

    @cached_property
    def waits(self) -> tuple[LockWaits, ...]:
        """One for each name."""
        return _merged(self.by_stack, lambda one: one.name)


def recognise(text: str) -> bool:
    """Whether there is the head of such a table, or the words of one that failed."""
    lines = [one.text for one in lines_of(text)]
    if any(("contended" in line and columns_of(line)) or lacks_contended(line) for line in lines):
        return True
    return ("BPF" in text or "Usage: perf lock" in text) and any(map(_is_failure, lines))


def parse(text: str, table: str | int | None = None) -> PerfLock:
    """The one table in the text, or of several that of this number (from 1) or title.

    BadInput where perf lock failed, though its exit status is then 0 too. Lines that perf prints before the
    table are passed over. Rows of one name, which differ in what is not printed, are added; two equal ones
    are, unless the text is sealed, one that was repeated.
    """
    return chosen(tables(text), table)


def tables(text: str) -> list[PerfLock]:
    """Each table in the text, a mail or what perf printed; see parse()."""
    body, whole = unseal(text)
    lines = lines_of(body, strip=False)
    heads = [at for at, one in enumerate(lines) if "contended" in one.text and columns_of(one.text)]
    above = lines[: heads[0] if heads else None]
    failed = next((one.text.strip() for one in above if _is_failure(one.text)), None)
    if failed or not heads:
        raise BadInput(_why_none_is_there(failed, lines))
    ends = [*heads[1:], len(lines)]
    if lines[-1].text and lines[-1] in [one for part in _divided(lines[heads[-1] + 1 :]) for one in part]:
        raise BadInput("perf lock's table ends in the middle of a line: run the report again")
    return [
        _read(
            lines[head],
            lines[head + 1 : end],
            lost_by_perf(lines[before:head]),
            whole,
            _title(lines[before:head]),
            head == heads[-1],
        )
        for before, head, end in zip([0, *heads], heads, ends, strict=False)
    ]


def _why_none_is_there(failed: str | None, lines: Sequence[TextLine]) -> str:
    """Why no table can be read, and what to do: by what perf says, or by the columns that it printed."""
    if lacking := next((one.number for one in lines if lacks_contended(one.text)), None):
        return f"line {lacking}: perf lock's table has no column contended: add contended to its option -F"
    if not failed and any(one.text.strip() for one in lines):
        return "no table of perf lock contention or report is there: is it of another tool?"
    printed = f"perf lock printed no table of waits ({(failed or 'none is there')[:70]})"
    if failed and _UNKNOWN.match(failed):
        return f"{printed}: this perf does not know the option, so leave it out or use a newer perf"
    return f"{printed}: record and report without -b"


def _title(lines: Sequence[TextLine]) -> str:
    """The nearest command, else the nearest line of prose, between a table and the one above it."""
    above = [one.text.strip().rstrip(":") for one in reversed(lines) if not re.match(r" *\d| {6}", one.text)]
    commands = [text for text in above if re.match(r"[$#] .*\bperf\b", text)]
    prose = [
        text
        for text in above
        if re.match(r"[A-Za-z]", text) and not (columns_of(text) or SAID_OF_LOSS.fullmatch(text))
    ]
    return next(iter([*commands, *prose]), "")


def _is_failure(line: str) -> bool:
    return _FAILED.match(line.strip()) is not None


def _read(
    head: TextLine, below: Sequence[TextLine], lost: Sequence[str], whole: bool, title: str, last: bool
) -> PerfLock:
    columns = columns_of(head.text)
    assert columns is not None
    lines, rest = _divided(below, last=last)
    warnings = [*([] if whole else [UNSEALED]), *lost]
    waits: list[LockWaits] = []
    widest = max((len(one.text) for one in lines), default=0)
    seen: dict[str, list[tuple[int, list[str]]]] = {}
    equal: list[int] = []
    for (number, line), stack in with_stacks(lines):
        if columns.is_cut(line, widest):
            warnings.append(f"a row is left out, its name is or may be cut off: {line[-40:].strip()}")
            continue
        try:
            waits.append(replace(columns.row(line), line=number, stack=functions_of(stack)))
        except BadInput as said:
            raise BadInput(f"line {number}: {said}: give what perf printed, unchanged") from None
        if line in seen and not whole:
            refuse_a_copy(columns, waits[-1], stack, seen[line])
            equal += [] if stack else [number]
        seen.setdefault(line, []).append((number, stack))
    if equal:
        warnings.append(
            f"line {equal[0]} equals a row above, as {len(equal)} of one contention do: all are counted, as "
            "perf lock prints a row for each stack; remove lines that were copied twice"
        )
    warnings += _broken([one.text for one in rest])
    warnings += [
        f"{printable(one.name)}: total wait is that of {one.ended} of its {one.contentions} waits at their "
        "mean: the others had not ended, or a unit is wrong"
        for one in waits
        if one.acquired is None and MANY * one.ended < one.contentions
    ]
    if columns.by == "lock" and (thread := next((one for one in waits if _THREAD.fullmatch(one.name)), None)):
        warnings.append(
            f"line {thread.line}: {printable(thread.name)} is a thread, as each row of perf lock report "
            "-t is: print it without -t"
        )
    if not waits:
        warnings.append("perf lock saw no waits: was the load running, and on these CPUs?")
    by_stack = _merged(waits, lambda one: (one.name, one.stack))
    return PerfLock(columns.by, by_stack, tuple(warnings), head.number, title or f"by {columns.by}")


def _merged(waits: Sequence[LockWaits], key: Callable[[LockWaits], object]) -> tuple[LockWaits, ...]:
    """Rows with the same key added up; perf prints one for each stack."""
    found: dict[object, LockWaits] = {}
    for one in waits:
        found[key(one)] = added(found[key(one)], one) if key(one) in found else one
    return tuple(found.values())


def _divided(below: Sequence[TextLine], *, last: bool = True) -> tuple[list[TextLine], list[TextLine]]:
    """The rows of a table, up to an empty line or a prompt, and what perf says of itself below them."""
    start = next((at for at, one in enumerate(below) if one.text), len(below))
    lines = below[start:]
    ends = [at for at, one in enumerate(lines) if not one.text or _ENDS.match(one.text)]
    end = ends[0] if ends else len(lines)
    debug = next((at for at, one in enumerate(lines) if _DEBUG.fullmatch(one.text)), len(lines))
    prompt = next((at for at in ends if at > debug and lines[at].text), len(lines))
    said = lines[debug:prompt]
    if not last:  # what perf says before the next table is none of this one's
        said = list(takewhile(lambda one: _DEBUG.fullmatch(one.text) or _BAD.fullmatch(one.text), said))
    return list(lines[: min(end, debug)]), list(said)


def _broken(lines: Sequence[str]) -> list[str]:
    """A warning where perf could not follow some waits; BadInput for lines that are not its own."""
    warnings = []
    for line in lines:
        if found := _BAD.fullmatch(line):
            bad, total = (int(found[name] or found[f"{name}2"]) for name in ("bad", "all"))
            if bad:
                warnings.append(f"perf lock could not match {bad} of {total} events: their waits are missing")
        elif not (_DEBUG.fullmatch(line) or _DEBUG_LINE.fullmatch(line)):
            raise BadInput(f"perf lock: unknown line below the table: {line[:60]!r}")
    return warnings


def rows(text: str, table: str | int | None = None) -> Parsed:
    """The numbers of parse() for each name."""
    found = parse(text, table)
    of_names = [row for waits in found.waits for row in rows_of(waits.name, *_numbers(waits))]
    return Parsed(TOOL, NOT_STATED, tuple(of_names), (*found.warnings, *_added(found.waits)))


def _added(found: Sequence[LockWaits]) -> list[str]:
    return [f"{waits.rows} rows of {waits.name} are added up" for waits in found if waits.rows > 1]


def profiles(text: str) -> list[LockProfile]:
    """Each table whose rows are of locks or of callers; BadInput where all are of threads or cgroups."""
    found = [
        LockProfile(
            TOOL,
            "lock waits",
            tuple(_entry(one.by, waits) for waits in one.by_stack),
            one.title,
            one.line,
            None,
            (*one.warnings, *_added(one.by_stack)),
            of_locks=one.by != "caller",
        )
        for one in tables(text)
        if one.by in ("caller", "address", "lock")
    ]
    if not found:
        raise BadInput("perf lock's table is by thread or cgroup and names no lock: print it by caller")
    return found


def _entry(by: str, waits: LockWaits) -> Entry:
    """Of a table by caller the name is the function; by address the symbol, where the lock has one."""
    kind, name, at = None, waits.name, ""
    if by == "caller":
        kind, _, at = waits.name.rpartition(" ")
        name = function_of(at)
    elif by == "address" and (found := re.fullmatch(r"([0-9a-f]+) (?:(\S+) )?\((.+)\)", name)):
        name, kind = found[2] or found[1], found[3]
    above = [function_of(one) for one in waits.stack]
    callers = tuple(above[above.index(name) + 1 :] if name in above else above)
    return Entry(
        name,
        waits.line,
        callers or None,
        _KINDS.get(kind or "", kind),
        contentions=waits.contentions,
        wait_ns=waits.total_ns,
        mean_ns=waits.mean_ns,
        max_ns=waits.max_ns,
        acquisitions=waits.acquired,
        at=at,
    )


def _numbers(waits: LockWaits) -> list[Number]:
    counts = {"acquisitions": waits.acquired, "contentions": waits.contentions}
    times = {"total": waits.total_ns, "mean": waits.mean_ns, "max": waits.max_ns, "min": waits.min_ns}
    return [
        *(Number(what, "total", "events", n) for what, n in counts.items() if n is not None),
        *(Number("wait", name, "ns", value) for name, value in times.items() if value is not None),
    ]


def on_load(answer: str, cpus: int, functions: Sequence[str]) -> LoadProfiler:
    """Every wait on the whole machine around a load, by caller; answer: what CONTENTION_HELP prints.

    In exact nanoseconds where this perf prints them (6.5 does).
    """
    separated = ["-x", ","] if "--field-separator" in answer else []
    report = plain(["perf", "lock", "contention", "-i", DATA, *separated])
    return LoadProfiler(
        around=lambda load: ["perf", "lock", "record", "-q", "-a", "-N", "-o", DATA, "--", *load],
        read=sealed(report, with_errors=True),
        data=DATA,
        numbers=_numbers_of_load,
    )


def _numbers_of_load(text: str) -> list[Number]:
    """Contentions and waits of all together and of the MOST_LOCKS that were waited for longest."""
    waits = parse(text).waits
    longest = sorted(waits, key=lambda one: (-(one.total_ns or 0.0), one.name))[:MOST_LOCKS]
    return [
        Number("contentions", "total", "events", sum(one.contentions for one in waits)),
        Number("wait", "total", "ns", sum(one.total_ns or 0.0 for one in waits)),
        *(
            number
            for one in longest
            for number in (
                Number(f"{one.name}.contentions", "total", "events", one.contentions),
                Number(f"{one.name}.wait", "total", "ns", one.total_ns or 0.0),
                Number(f"{one.name}.wait", "max", "ns", one.max_ns or 0.0),
            )
        ),
    ]
