# SPDX-License-Identifier: MIT
"""Single calls and what they cost, from ftrace's function graph tracer.

Dearer than the function profiler (ftrace_cost) and bounded by the trace buffer, but it has the longest
and shortest call, where the profiler has sums. Read in the kernel: kernel/trace/trace_functions_graph.c
(print_graph_entry_leaf, print_graph_return, trace_print_graph_duration) and trace_output.c
(trace_find_mark). Times are wall time and hold callees and sleep; at most seven digits are printed,
cut and not rounded. Needs CONFIG_FUNCTION_GRAPH_TRACER.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

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
    calls: dict[str, list[tuple[int, str]]] = defaultdict(list)
    begun: dict[tuple[str, int], str] = {}  # by CPU and depth: an end without a name is of the last one there
    lost = False
    for line in lines[lines.index(_COLUMNS) + 1 :]:
        found = _LINE.fullmatch(line.rstrip())
        if found is None:
            lost = lost or _LOST.fullmatch(line) is not None
            _refuse_unless(_LOST.fullmatch(line) or _BETWEEN.fullmatch(line), line)
            continue
        cpu, mark, duration, indent, call = found.groups()
        place = cpu, len(indent)
        entry, leaf, end = (pattern.fullmatch(call) for pattern in (_ENTRY, _LEAF, _EXIT))
        opened = begun.pop(place, None) if end else None
        name = leaf[1] if leaf else end and (end[1] or opened)
        if entry and duration is None:
            begun[place] = entry[1]
        elif name and duration is not None:
            calls[name].append((duration_ns(duration)[0], mark))
        else:
            _refuse_unless(duration is None and _COMMENT.fullmatch(call), line)
    if lost:
        warnings.append(
            "events were lost, so counts and times are too low: trace fewer functions or for a shorter time"
        )
    if not calls:
        raise BadInput(
            "the function graph has no completed call: are its functions called, and can they be traced?"
        )
    dearest = sorted(calls, key=lambda name: (-sum(ns for ns, _ in calls[name]), name))
    rows = [row for name in dearest for row in rows_of(name, *_numbers(calls[name]))]
    return Parsed(TOOL, NOT_STATED, tuple(rows), tuple(warnings))


def _refuse_unless(expected: object, line: str) -> None:
    if not expected:
        raise BadInput(f"the function graph has an unexpected line: {line.strip()[:60]!r}")


def _numbers(calls: Sequence[tuple[int, str]]) -> list[Number]:
    """Of the calls of one function that ended: time in ns with that of its callees, and mark of each."""
    times_ns = [ns for ns, _ in calls]
    total_us = sum(times_ns) / 1000
    marked = Counter(MARKS_NS[mark] // 1000 for _, mark in calls if mark != " ")
    return [
        Number("calls", "total", "calls", len(calls)),
        Number("time", "total", "us", total_us),
        Number("time", "mean", "us", total_us / len(calls)),
        Number("time", "max", "us", max(times_ns) / 1000),
        Number("time", "min", "us", min(times_ns) / 1000),
        *(Number(f"calls_marked_{us}us", "total", "calls", count) for us, count in marked.items()),
    ]
