# SPDX-License-Identifier: MIT
"""Function cost from ftrace's function profiler, as the table that funccost of perf-tools printed.

Read in the kernel: kernel/trace/ftrace.c (function_stat_show) and trace_functions_graph.c
(trace_print_graph_duration). Times are always microseconds; they are wall time and hold callees
and sleep (options graph-time and sleep-time, on by default). A duration has at most seven digits
and is cut, not rounded; names are cut to 30 characters. Needs CONFIG_FUNCTION_PROFILER and
CONFIG_FUNCTION_GRAPH_TRACER.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.tools.target_tools import Part, TargetTool, kernel_file, printed

TOOL = "ftrace_cost"
TRACING = "/sys/kernel/tracing"
RESULTS = f"{TRACING}/trace_stat/function"  # one file per CPU: function0, function1, ...
NAME_LENGTH = 30
ON_TARGET = TargetTool(
    name="ftrace function profiler",
    ask=kernel_file(f"{TRACING}/function_profile_enabled"),
    version=printed(r"(\d\S*)"),
    without="rates, lock events and the profilers of perf; calls per create are not counted",
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


@dataclass(frozen=True)
class FunctionCost:
    """Calls of one function: `total_us` and `avg_us` in microseconds, inclusive of callees.

    `truncated`: the name fills the 30 characters that the kernel prints, so it may be cut.
    `ambiguous`: one CPU listed the name twice; two functions of the kernel share these sums.
    """

    function: str
    total_us: float
    count: int
    avg_us: float
    truncated: bool = False
    ambiguous: bool = False


def start(patterns: Iterable[str]) -> list[tuple[str, str]]:
    """(file, value) to write in order: the profiler counts only functions that match a pattern.

    Turning it on empties the counters, so it is turned off first. Each write truncates the file;
    the kernel takes one pattern at a time, so the value must be written on until all of it is gone.
    """
    wanted = list(patterns)
    strange = [p for p in wanted if not re.fullmatch(r"[\w.*?\[\]-]+", p, re.ASCII)]
    if strange or not wanted:
        raise BadInput(f"function pattern {strange or wanted} is none: use names and *, as ext4_*")
    return [
        (f"{TRACING}/function_profile_enabled", "0\n"),
        (f"{TRACING}/set_ftrace_filter", "".join(f"{pattern}\n" for pattern in wanted)),
        (f"{TRACING}/function_profile_enabled", "1\n"),
    ]


def stop() -> list[tuple[str, str]]:
    """(file, value) that ends the counting; the results stay until the next start()."""
    return [(f"{TRACING}/function_profile_enabled", "0\n")]


def clear() -> list[tuple[str, str]]:
    """(file, value) that takes the filter off, once the results have been read."""
    return [(f"{TRACING}/set_ftrace_filter", "\n")]


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
    costs = [_cost(name, time_ns[name], hits[name], name in ambiguous) for name in hits]
    return sorted(costs, key=lambda cost: (-cost.total_us, cost.function))


def _cost(name: str, time_ns: int, count: int, ambiguous: bool) -> FunctionCost:
    return FunctionCost(
        name,
        time_ns / 1000,
        count,
        time_ns / 1000 / count,
        truncated=len(name) == NAME_LENGTH,
        ambiguous=ambiguous,
    )


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
        raise BadInput(f"function{cpu} has two equal lines: read it again")
    for line in lines[2:-1]:
        match = _ROW.fullmatch(line.rstrip())
        if match is None:
            raise BadInput(f"function{cpu} has a line that is not one of its table: {line[:60]!r}")
        count = int(match[2])
        total_ns, total_step = _duration_ns(match[3])
        average_ns, average_step = _duration_ns(match[4])
        low, high = average_ns * count, (average_ns + average_step) * count
        if not (count and low < total_ns + total_step and total_ns < high):
            raise BadInput(f"{match[1]} in function{cpu}: time is not count x average, read it again")
        yield match[1], count, total_ns


def _duration_ns(text: str) -> tuple[int, int]:
    """A printed duration and its step: the value lies in [duration, duration + step), in ns."""
    whole, _, fraction = text.partition(".")
    step = 1000 // 10 ** len(fraction)
    return int(whole) * 1000 + int(fraction or "0") * step, step
