# SPDX-License-Identifier: MIT
"""The CSV of will-it-scale's runtest.py.

`linear` is what 1 task did, processes or threads, whichever was faster, x tasks: the only check on a
row, and what the tasks hardly exceed. It is a wish and not a measurement, so it makes no row here.
"""

import re
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.workloads.command_line import LOST_LINES
from lockscale.workloads.rows import Row, rate_row, unconfirmed

HEADER = re.compile(r"^tasks,processes,processes_idle,threads,threads_idle,linear\r?$", re.MULTILINE)
_ALONE = unconfirmed("a rate but the greater one of 1 task, nor how idle the machine was")
_MOST_OF_LINEAR = 2  # tasks do not help each other to twice their rate
_ZERO = "0,0,100,0,100,0"
_IDLE = r"([0-9]{1,3}\.[0-9]{2})"
_LINE = re.compile(rf"([0-9]{{1,5}}),(-1|[0-9]{{1,15}}),{_IDLE},(-1|[0-9]{{1,15}}),{_IDLE},([0-9]{{1,15}})")


@dataclass(frozen=True)
class _Point:
    """One line: per kind of task the operations per second of all, -1 for none, and the idle share."""

    line: int
    tasks: int
    rates: tuple[int, int]
    idle_pct: tuple[float, float]
    linear: int


def csv_rows(text: str) -> tuple[list[Row], list[str]]:
    """Rows and warnings."""
    warnings: list[str] = []
    points = _points(text[_start(text) :], text.count("\n", 0, _start(text)), warnings)
    if len({point.tasks for point in points}) < len(points):
        raise BadInput("will-it-scale's CSV has a number of tasks twice: give the output of one run")
    at_one = {max(p.rates) for p in points if p.tasks == 1} or {p.linear // max(p.tasks, 1) for p in points}
    rows: list[Row] = []
    for point in points:
        if len(at_one) != 1 or point.linear != point.tasks * next(iter(at_one)):
            warnings.append(f"line {point.line} is left out: its `linear` is not that of the run")
        else:
            rows += _rows(point, warnings)
    return rows, [*warnings, *[_ALONE] * bool(rows), LOST_LINES]


def _start(text: str) -> int:
    found = HEADER.search(text)
    return 0 if found is None else found.start()


def _points(text: str, before: int, warnings: list[str]) -> list[_Point]:
    points = []
    for number, line in enumerate(text.splitlines()[1:], before + 2):
        found = _LINE.fullmatch(line.strip())
        if found is None:
            if line.strip() not in ("", _ZERO):
                warnings.append(f"line {number} is not understood and is left out")
            continue
        tasks, *rates, linear = (int(found[k]) for k in (1, 2, 4, 6))
        idle = (float(found[3]), float(found[5]))
        points.append(_Point(number, tasks, (rates[0], rates[1]), idle, linear))
    return points


def _rows(point: _Point, warnings: list[str]) -> list[Row]:
    rows = []
    for kind, rate, idle_pct in zip(("processes", "threads"), point.rates, point.idle_pct, strict=True):
        if rate < 0 or idle_pct > 100:
            warnings.append(f"line {point.line}: the {kind} gave no average, or an impossible one")
            continue
        if rate > _MOST_OF_LINEAR * point.linear:
            warnings.append(f"line {point.line}: {rate} by {kind} is left out, it is far above `linear`")
            continue
        rows.append(rate_row(kind, point.tasks, None, float(rate), "total_mean"))
        rows.append(Row(kind, point.tasks, None, "cpu_idle", "%", idle_pct, "machine"))
    return rows
