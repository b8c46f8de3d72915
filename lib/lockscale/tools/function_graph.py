# SPDX-License-Identifier: MIT
"""Single calls and what they cost, from ftrace's function graph tracer.

Dearer than the function profiler (ftrace_cost) and bounded by the trace buffer, but it has the longest
and shortest call, where the profiler has sums. Read in the kernel: kernel/trace/trace_functions_graph.c
(print_graph_entry_leaf, print_graph_return, trace_print_graph_duration) and trace_output.c
(trace_find_mark). Times are wall time and hold callees and sleep; at most seven digits are printed,
cut and not rounded. Needs CONFIG_FUNCTION_GRAPH_TRACER.
"""

import re
from dataclasses import dataclass, field

from lockscale.errors import BadInput
from lockscale.tools.ftrace_cost import duration_ns
from lockscale.tools.parsed_rows import NOT_STATED, Number, Parsed, rows_of
from lockscale.tools.seal import unsealed

TOOL = "function_graph"
# What a mark says: the call took longer than this.
MARKS_NS = {"$": 10**9, "@": 10**8, "*": 10**7, "#": 10**6, "!": 10**5, "+": 10**4}

_HEAD = re.compile(r"^# tracer: function_graph$", re.MULTILINE)
_COLUMNS = "# CPU  DURATION                  FUNCTION CALLS"
_LINE = re.compile(
    r" +(\d{1,4})\) (?: {14,15}|([ +!#*@$]) (\d{1,20}(?:\.\d{1,3})?) us +)\|  ((?:  )*)(\S.*)", re.ASCII
)
_ENTRY = re.compile(r"([\w.]+(?: \[\w+\])?)\(\) \{")
_LEAF = re.compile(r"([\w.]+(?: \[\w+\])?)\(\);")
_EXIT = re.compile(r"\}(?: /\* ([\w.]+(?: \[\w+\])?) \*/)?")
_COMMENT = re.compile(r"/\* .* \*/")
_BETWEEN = re.compile(r"| -+| +\d+\)  .* => .*| +\d+\)   (?:==========>|<==========) \|.*|#.*")
_LOST = re.compile(r"CPU:\d+ \[LOST (?:\d+ )?EVENTS\]")


@dataclass
class FunctionTimes:
    """Calls of one function that ended while it was traced, with their callees, in microseconds.

    `over`: how many of them had each mark of MARKS_NS.
    """

    function: str
    count: int = 0
    total_us: float = 0.0
    max_us: float = 0.0
    min_us: float = float("inf")
    over: dict[str, int] = field(default_factory=dict)

    def add(self, ns: int, mark: str) -> None:
        self.count += 1
        self.total_us = round(self.total_us + ns / 1000, 3)
        self.max_us, self.min_us = max(self.max_us, ns / 1000), min(self.min_us, ns / 1000)
        if mark != " ":
            self.over[mark] = self.over.get(mark, 0) + 1

    def numbers(self) -> list[Number]:
        return [
            Number("calls", "total", "calls", self.count),
            Number("time", "total", "us", self.total_us),
            Number("time", "mean", "us", self.total_us / self.count),
            Number("time", "max", "us", self.max_us),
            Number("time", "min", "us", self.min_us),
            *(
                Number(f"calls_marked_{MARKS_NS[mark] // 1000}us", "total", "calls", count)
                for mark, count in self.over.items()
            ),
        ]


def recognise(text: str) -> bool:
    """Whether there is the head of such a trace."""
    return _HEAD.search(text) is not None


def parse(text: str) -> Parsed:
    """Times per function from the tracer's default columns, the dearest first, and its calls by mark.

    A call that had not ended is left out.

    BadInput for other columns, a line that is not the tracer's, an end without its beginning, and a trace
    of no call.
    """
    body, warnings = unsealed(text)
    *lines, last = body.split("\n")
    if _COLUMNS not in lines or last:
        raise BadInput(
            "this is not a complete function graph with the columns CPU and DURATION: read it again"
        )
    graph = _Graph()
    for line in lines[lines.index(_COLUMNS) + 1 :]:
        graph.add(line)
    if graph.lost:
        warnings.append(
            "events were lost, so counts and times are too low: trace fewer functions or for a shorter time"
        )
    if not graph.times:
        raise BadInput(
            "the function graph has no completed call: are its functions called, and can they be traced?"
        )
    found = sorted(graph.times.values(), key=lambda one: (-one.total_us, one.function))
    rows = [row for one in found for row in rows_of(one.function, *one.numbers())]
    return Parsed(TOOL, NOT_STATED, tuple(rows), tuple(warnings))


class _Graph:
    """The trace line by line. An end without a name is of the last function begun on its CPU and depth."""

    def __init__(self) -> None:
        self.times: dict[str, FunctionTimes] = {}
        self.lost = False
        self._begun: dict[tuple[str, int], str] = {}

    def add(self, line: str) -> None:
        found = _LINE.fullmatch(line.rstrip())
        if found is None:
            self.lost = self.lost or _LOST.fullmatch(line) is not None
            self._refuse_unless(_LOST.fullmatch(line) or _BETWEEN.fullmatch(line), line)
            return
        cpu, mark, duration, indent, call = found.groups()
        place = cpu, len(indent)
        if entry := _ENTRY.fullmatch(call):
            self._refuse_unless(duration is None, line)
            self._begun[place] = entry[1]
        elif leaf := _LEAF.fullmatch(call):
            self._ended(leaf[1], mark, duration, line)
        elif end := _EXIT.fullmatch(call):
            begun = self._begun.pop(place, None)
            self._ended(end[1] or begun, mark, duration, line)
        else:
            self._refuse_unless(duration is None and _COMMENT.fullmatch(call), line)

    def _ended(self, name: str | None, mark: str | None, duration: str | None, line: str) -> None:
        if name is None or mark is None or duration is None:
            self._refuse_unless(False, line)
            return
        self.times.setdefault(name, FunctionTimes(name)).add(duration_ns(duration)[0], mark)

    @staticmethod
    def _refuse_unless(expected: object, line: str) -> None:
        if not expected:
            raise BadInput(f"the function graph has an unexpected line: {line.strip()[:60]!r}")
