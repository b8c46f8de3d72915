# SPDX-License-Identifier: MIT
"""What each profiler says, as long-form rows.

`test` is the function, lock, event or file that a number is of; no output says how many threads the
load had, so `threads` is None.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from lockscale.errors import BadInput
from lockscale.tools import (
    event_counts,
    ext4_stats,
    ftrace_cost,
    function_graph,
    function_table,
    lock_events,
    lock_stat,
    perf_lock,
    perf_script,
    perf_stat,
)
from lockscale.tools.folded import Folded, functions
from lockscale.tools.ftrace_cost import FunctionCost
from lockscale.tools.seal import UNSEALED, unseal
from lockscale.tools.workload_rows import NOT_STATED, Parsed, Row

# No machine counts so many in its life.
_MOST_EVENTS = 10**14

Reader = tuple[Callable[[str], bool], Callable[[str], Parsed]]


class _Number(NamedTuple):
    metric: str
    statistic: str
    unit: str
    value: float | None


def _rows(test: str, *numbers: _Number) -> list[Row]:
    """Rows of the numbers that are there; BadInput for more events than there can have been."""
    if any(n.unit == "events" and n.value is not None and n.value >= _MOST_EVENTS for n in numbers):
        raise BadInput(
            f"{test[:60]} has a count that no machine reaches: the output is damaged, read it again"
        )
    return [
        Row(test, None, None, n.metric, n.unit, n.value, n.statistic) for n in numbers if n.value is not None
    ]


def _parsed(tool: str, rows: Iterable[Row], warnings: Iterable[str], version: str = NOT_STATED) -> Parsed:
    return Parsed(tool, version, tuple(rows), tuple(warnings))


def _opened(text: str) -> tuple[str, list[str]]:
    """The output without its seal, and a warning where it has none."""
    body, whole = unseal(text)
    return body, [] if whole else [UNSEALED]


def _function_cost(text: str) -> Parsed:
    body, warnings = _opened(text)
    tables = ftrace_cost.split(body)
    if warnings and any(table.count("\n") > 3 and tables.count(table) > 1 for table in tables):
        raise BadInput("two processors' tables are alike to the last digit: give each one once")
    costs = ftrace_cost.parse(tables)
    return _parsed(ftrace_cost.TOOL, _cost_rows(costs), [*warnings, *_cost_warnings(costs)])


def _funccost(text: str) -> Parsed:
    body, warnings = _opened(text)
    costs = function_table.parse_table(body)
    return _parsed(function_table.TOOL, _cost_rows(costs), [*warnings, *_cost_warnings(costs)])


def _cost_rows(costs: Iterable[FunctionCost]) -> list[Row]:
    return [
        row
        for cost in costs
        for row in _rows(
            cost.function,
            _Number("calls", "total", "calls", cost.count),
            _Number("time", "total", "us", cost.total_us),
            _Number("time", "mean", "us", cost.avg_us),
        )
    ]


def _cost_warnings(costs: Iterable[FunctionCost]) -> list[str]:
    shared = [cost.function for cost in costs if cost.ambiguous]
    return [f"{name} is there twice: functions whose names are cut alike are added" for name in shared]


def _lock_stat(text: str) -> Parsed:
    body, whole = unseal(text)
    found = lock_stat.parse(body)
    rows: list[Row] = []
    for use in found.uses:
        name = use.name if use.mode == "write" else f"{use.name}-R"
        rows += _rows(
            name,
            _Number("contentions", "total", "events", use.waits.count),
            _Number("contention_bounces", "total", "events", use.con_bounces),
            *_times("wait", use.waits),
            _Number("acquisitions", "total", "events", use.holds.count),
            _Number("acquisition_bounces", "total", "events", use.acq_bounces),
            *_times("hold", use.holds),
        )
    for place in found.places:
        role = "waits at" if place.role == "waiter" else "is held from"
        rows += _rows(
            f"{place.name} {role} {place.symbol}", _Number("contentions", "total", "events", place.count)
        )
    shared = [f"{use.name} names several lock classes: they are added" for use in found.uses if use.ambiguous]
    return _parsed(lock_stat.TOOL, rows, [*(() if whole else found.warnings), *shared], "0.4")


def _times(metric: str, times: lock_stat.Times) -> list[_Number]:
    return [
        _Number(metric, "total", "us", times.total_us),
        _Number(metric, "mean", "us", times.avg_us),
        _Number(metric, "max", "us", times.max_us),
        _Number(metric, "min", "us", times.min_us),
    ]


def _lock_events(text: str) -> Parsed:
    body, warnings = _opened(text)
    counts = lock_events.parse(body)
    rows = [row for name, count in counts.items() for row in _rows(name, _events(count))]
    return _parsed(lock_events.TOOL, rows, warnings)


def _event_counts(text: str) -> Parsed:
    body, warnings = _opened(text)
    counts = event_counts.parse(body, event_counts.events_of(body))
    rows = [row for name, count in counts.items() for row in _rows(name, _events(count))]
    return _parsed(event_counts.TOOL, rows, warnings)


def _events(count: int) -> _Number:
    return _Number("events", "total", "events", count)


def _perf_lock(text: str) -> Parsed:
    found = perf_lock.parse(text)
    rows: list[Row] = []
    for waits in found.waits:
        rows += _rows(
            waits.name,
            _Number("acquisitions", "total", "events", waits.acquired),
            _Number("contentions", "total", "events", waits.contentions),
            _Number("wait", "total", "ns", waits.total_ns),
            _Number("wait", "mean", "ns", waits.mean_ns),
            _Number("wait", "max", "ns", waits.max_ns),
            _Number("wait", "min", "ns", waits.min_ns),
        )
    added = [f"{w.rows} rows of {w.name} are added" for w in found.waits if w.rows > 1]
    return _parsed(perf_lock.TOOL, rows, [*found.warnings, *added])


def _perf_stat(text: str) -> Parsed:
    found = perf_stat.parse(text)
    rows: list[Row] = []
    for one in found.counts:
        metric, unit = (
            ("time", one.unit.replace("msec", "ms")) if one.unit in ("msec", "ns") else ("count", one.unit)
        )
        statistic = "total" if one.error_pct is None else "mean"
        rows += _rows(
            one.event,
            _Number(metric, statistic, unit or "events", one.value),
            _Number(metric, "standard_error_of_mean", "%", one.error_pct),
        )
    return _parsed(perf_stat.TOOL, rows, found.warnings)


def _function_graph(text: str) -> Parsed:
    found = function_graph.parse(text)
    rows: list[Row] = []
    for one in found.functions:
        over = [
            _Number(f"calls_marked_{function_graph.MARKS_NS[mark] // 1000}us", "total", "calls", count)
            for mark, count in one.over.items()
        ]
        rows += _rows(
            one.function,
            _Number("calls", "total", "calls", one.count),
            _Number("time", "total", "us", one.total_us),
            _Number("time", "mean", "us", one.total_us / one.count),
            _Number("time", "max", "us", one.max_us),
            _Number("time", "min", "us", one.min_us),
            *over,
        )
    return _parsed(function_graph.TOOL, rows, found.warnings)


def _ext4_stats(text: str) -> Parsed:
    found = ext4_stats.parse(text)
    rows = [
        row
        for file, values in found.files.items()
        for one in values
        for row in _rows(file, _Number(one.name, one.statistic, one.unit, one.value))
    ]
    return _parsed(ext4_stats.TOOL, rows, found.warnings)


def folded_rows(folded: Folded) -> Parsed:
    """Samples of each function: in which it ran itself, and in which it was on the stack."""
    rows = [
        row
        for one in functions(folded)
        for row in _rows(
            one.function,
            _Number("samples", "itself", "samples", one.itself),
            _Number("samples", "total", "samples", one.total),
        )
    ]
    return _parsed(perf_script.TOOL, rows, folded.warnings)


PROFILERS: dict[str, Reader] = {
    event_counts.TOOL: (event_counts.recognise, _event_counts),
    ext4_stats.TOOL: (ext4_stats.recognise, _ext4_stats),
    ftrace_cost.TOOL: (ftrace_cost.recognise, _function_cost),
    function_table.TOOL: (function_table.recognise, _funccost),
    function_graph.TOOL: (function_graph.recognise, _function_graph),
    lock_events.TOOL: (lock_events.recognise, _lock_events),
    lock_stat.TOOL: (lock_stat.recognise, _lock_stat),
    perf_lock.TOOL: (perf_lock.recognise, _perf_lock),
    perf_script.TOOL: (perf_script.recognise, lambda text: folded_rows(perf_script.parse(text))),
    perf_stat.TOOL: (perf_stat.recognise, _perf_stat),
}
