# SPDX-License-Identifier: MIT
"""Function cost from ftrace's function profiler, as the table that funccost of perf-tools printed.

Read in the kernel: kernel/trace/ftrace.c (function_stat_show) and trace_functions_graph.c
(trace_print_graph_duration). Times are always microseconds; they are wall time and hold callees
and sleep (options graph-time and sleep-time, on by default). A duration has at most seven digits
and is cut, not rounded; names are cut to 30 characters. Needs CONFIG_FUNCTION_PROFILER and
CONFIG_FUNCTION_GRAPH_TRACER.

Also the table `FUNC TOTAL_TIME(us) COUNT AVG(us)` of kernel changelogs: printed and read.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.tools.parsed_rows import NOT_STATED, Number, Parsed, ParsedRow, rows_of
from lockscale.tools.seal import sealed, unseal, unsealed
from lockscale.tools.target_tools import LoadProfiler, Part, TargetTool, kernel_file, printed

TOOL = "ftrace_cost"
TABLE = "funccost"
TRACING = "/sys/kernel/tracing"
RESULTS = f"{TRACING}/trace_stat/function"  # one file per CPU: function0, function1, ...
STOP = [(f"{TRACING}/function_profile_enabled", "0\n")]
"""(file, value) that ends the counting; the results stay until the next start()."""
CLEAR = [(f"{TRACING}/set_ftrace_filter", "\n")]
"""(file, value) that takes the filter off, once the results have been read."""
ON_TARGET = TargetTool(
    name="ftrace function profiler",
    ask=kernel_file(f"{TRACING}/function_profile_enabled"),
    version=printed(r"(\d\S*)"),
    without="rates, lock events and perf's profilers work; calls per create are not counted",
    get="boot a kernel with CONFIG_FUNCTION_PROFILER and mount tracefs on /sys/kernel/tracing",
    parts=[
        Part(
            "the function_graph tracer",
            ["grep", "-qw", "function_graph", f"{TRACING}/available_tracers"],
            "calls have no times, and their table is refused",
        )
    ],
)

_HEADER = re.compile(r" {2}Function +Hit +Time +Avg +s\^2")
_HEADER_WITHOUT_TIMES = re.compile(r" {2}Function +Hit")
_DURATION = r" +(\d{1,20}(?:\.\d{1,3})?) us"
_ROW = re.compile(rf" {{2}}(\S{{1,30}}) +(\d{{1,20}}){_DURATION * 3}")


_TABLE_COLUMNS = "{:<30} {:<20} {:<12} {}"
_TABLE_HEADER = re.compile(r"\s*FUNC\s+TOTAL_TIME\(us\)\s+COUNT\s+AVG\(us\)\s*")
_TABLE_ROW = re.compile(r"\s*(\S+)\s+(\d{1,18})\s+(\d{1,18})\s+(\d{1,18}\.\d\d)\s*", re.ASCII)


@dataclass(frozen=True)
class FunctionCost:
    """Calls of one function: `total_us` and `avg_us` in microseconds, inclusive of callees.

    `ambiguous`: one CPU listed the name, which the kernel cuts, twice; two functions share these sums.
    """

    function: str
    total_us: float
    count: int
    avg_us: float
    ambiguous: bool = False


def start(patterns: Iterable[str]) -> list[tuple[str, str]]:
    """(file, value) to write in order: the profiler counts only functions that match a pattern.

    Turning it on empties the counters, so it is turned off first. Each write truncates the file;
    the kernel takes one pattern at a time, so the value must be written on until all of it is gone.
    """
    wanted = list(patterns)
    strange = [p for p in wanted if not re.fullmatch(r"[\w.*?\[\]-]+", p, re.ASCII)]
    if strange or not wanted:
        raise BadInput(f"function pattern {strange or wanted} is invalid: use names and *, such as ext4_*")
    return [
        *STOP,
        (f"{TRACING}/set_ftrace_filter", "".join(f"{pattern}\n" for pattern in wanted)),
        (f"{TRACING}/function_profile_enabled", "1\n"),
    ]


def recognise(text: str) -> bool:
    """Whether it begins with the head of such a file."""
    return re.match(r" {2}Function +Hit", text) is not None


def split(text: str) -> list[str]:
    """The per-CPU files of one `cat function0 function1 ...`: each begins with its header."""
    starts = [match.start() for match in re.finditer(r"^ {2}Function +Hit", text, re.MULTILINE)] or [0]
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def parse(texts: Sequence[str]) -> list[FunctionCost]:
    """Costs summed over the CPUs' trace_stat/function<CPU> files, the dearest first.

    BadInput when a file is not such a table, or its time is not its count times its average, as
    when it was read before the profiler was stopped.
    """
    time_ns: dict[str, int] = defaultdict(int)
    hits: dict[str, int] = defaultdict(int)
    ambiguous: set[str] = set()
    for cpu, text in enumerate(texts):
        seen: set[str] = set()
        for name, count, total_ns in _rows(cpu, text):
            if name in seen:
                ambiguous.add(name)
            seen.add(name)
            hits[name] += count
            time_ns[name] += total_ns
    costs = []
    for name, count in hits.items():
        us = time_ns[name] / 1000
        costs.append(FunctionCost(name, us, count, us / count, name in ambiguous))
    return sorted(costs, key=lambda cost: (-cost.total_us, cost.function))


def _rows(cpu: int, text: str) -> Iterable[tuple[str, int, int]]:
    """(name, count, time in ns) of one CPU's file."""
    lines = text.split("\n")
    if not _HEADER.fullmatch(lines[0]):
        if _HEADER_WITHOUT_TIMES.fullmatch(lines[0]):
            raise BadInput("the kernel counts calls without times: set CONFIG_FUNCTION_GRAPH_TRACER")
        raise BadInput(f"function{cpu} is not the function profiler's table: read trace_stat/function*")
    if lines[-1] or not re.fullmatch("[ -]+", lines[1]):
        raise BadInput(f"function{cpu} ends in the middle of a line: read it again")
    if len(set(lines[2:-1])) < len(lines[2:-1]):
        raise BadInput(f"function{cpu} has two identical lines: read it again")
    for line in lines[2:-1]:
        match = _ROW.fullmatch(line.rstrip())
        if match is None:
            raise BadInput(f"function{cpu} has a line that does not belong to its table: {line[:60]!r}")
        count = int(match[2])
        total_ns, total_step = duration_ns(match[3])
        average_ns, average_step = duration_ns(match[4])
        low, high = average_ns * count, (average_ns + average_step) * count
        if not (count and low < total_ns + total_step and total_ns < high):
            raise BadInput(f"{match[1]} in function{cpu}: time is not count x average: read it again")
        yield match[1], count, total_ns


def duration_ns(text: str) -> tuple[int, int]:
    """A printed duration and its step: the value lies in [duration, duration + step), in ns."""
    whole, _, fraction = text.partition(".")
    step = 1000 // 10 ** len(fraction)
    return int(whole) * 1000 + int(fraction or "0") * step, step


def rows(text: str) -> Parsed:
    """Calls, total and mean time of each function in a text of one or several such files."""
    body, warnings = unsealed(text)
    tables = split(body)
    if warnings and any(one.count("\n") > 3 and tables.count(one) > 1 for one in tables):
        raise BadInput("the tables of two CPUs are identical: give each one once")
    return _parsed(TOOL, parse(tables), warnings)


def rows_of_table(text: str) -> Parsed:
    """The same of the changelog's table."""
    body, warnings = unsealed(text)
    return _parsed(TABLE, parse_table(body), warnings)


def _parsed(tool: str, costs: Iterable[FunctionCost], warnings: list[str]) -> Parsed:
    found: list[ParsedRow] = []
    for cost in costs:
        found += rows_of(
            cost.function,
            Number("calls", "total", "calls", cost.count),
            Number("time", "total", "us", cost.total_us),
            Number("time", "mean", "us", cost.avg_us),
        )
        if cost.ambiguous:
            warnings.append(
                f"{cost.function} appears twice: functions whose truncated names are the same are added up"
            )
    return Parsed(tool, NOT_STATED, tuple(found), tuple(warnings))


def table(costs: Iterable[FunctionCost]) -> str:
    """The costs as S1's changelog prints them: whole microseconds, averages to two decimals."""
    rows = [(cost.function, int(cost.total_us), cost.count, f"{cost.avg_us:.2f}") for cost in costs]
    lines = [("FUNC", "TOTAL_TIME(us)", "COUNT", "AVG(us)"), *rows]
    return "".join(_TABLE_COLUMNS.format(*line) + "\n" for line in lines)


def recognise_table(text: str) -> bool:
    """Whether a line is the head of such a table."""
    return any(_TABLE_HEADER.fullmatch(line) for line in text.split("\n"))


def parse_table(text: str) -> list[FunctionCost]:
    """The costs of the one such table in `text`, in its order; other text around it is passed over.

    The table ends at the first line that is blank or no row of it. BadInput for no table, for two,
    for an empty one, for a name twice, and where the average is not total / count.
    """
    lines = text.split("\n")
    heads = [number for number, line in enumerate(lines) if _TABLE_HEADER.fullmatch(line)]
    if len(heads) != 1:
        raise BadInput(f"the text contains {len(heads)} function cost tables: give one with its header")
    costs: list[FunctionCost] = []
    for line in lines[heads[0] + 1 :]:
        match = _TABLE_ROW.fullmatch(line)
        if match is None:
            if line.strip():
                raise BadInput(f"the function cost table has a line that is not a row: {line[:60]!r}")
            break
        costs.append(_table_cost(*match.groups()))
    if not costs or len({cost.function for cost in costs}) != len(costs):
        raise BadInput("the function cost table has no rows, or the same function twice")
    return costs


def _table_cost(name: str, total: str, count: str, average: str) -> FunctionCost:
    """A row whose average, rounded or cut to two decimals, is total / count."""
    low, high = int(total) / max(int(count), 1), (int(total) + 1) / max(int(count), 1)
    if not low - 0.01 <= float(average) <= high + 0.005 or not int(count):
        raise BadInput(f"{name} in the function cost table: {average} is not {total} / {count}")
    return FunctionCost(name, float(total), int(count), float(average))


def on_load(answer: str, cpus: int, functions: Sequence[str]) -> LoadProfiler:
    """Calls and time of the functions that match a pattern, around a load on a machine of so many CPUs."""
    return LoadProfiler(
        start=start(functions),
        stop=STOP,
        read=sealed(["cat", *(f"{RESULTS}{cpu}" for cpu in range(cpus))]),
        clear=CLEAR,
        numbers=_numbers_of_load,
        raw=lambda text: unseal(text)[0],
    )


def _numbers_of_load(text: str) -> list[Number]:
    """Calls and time of each function, in one order, whatever took longest."""
    return [
        number
        for cost in sorted(parse(split(unseal(text)[0])), key=lambda one: one.function)
        for number in (
            Number(f"{cost.function}.calls", "total", "calls", cost.count),
            Number(f"{cost.function}.time", "total", "us", cost.total_us),
        )
    ]
