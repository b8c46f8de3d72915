# SPDX-License-Identifier: MIT
"""Tables of measurements as kernel changelogs print them: a column for each kernel, a row for each load.

Two shapes: columns of times under `Threads Time Time Time` (ext4's orphan file) and pipe tables with
changes in % (ext4_try_lock_group; changelog_pipes). What the numbers are stands in the prose around a
table, so give that too. Published tables are text: there is nothing to run here.
"""

import re
from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.workloads import changelog_pipes as pipes
from lockscale.workloads.rows import NOT_STATED, Parsed, Row, unconfirmed
from lockscale.workloads.table_cells import LOST_ROWS, decimals, runs_averaged

TOOL = "changelog-table"
_HEAD = re.compile(r"^(?:Threads|Processes|Clients)((?: +[A-Z][a-z]+){2,}) *$", re.MULTILINE)
_ROW = re.compile(r" *([0-9]{1,6})((?: +[0-9]{1,9}\.[0-9]{1,9})+) *")
_TIMES = unconfirmed("the times, nor the numbers of threads beside them")
_COUNTS = unconfirmed("the numbers that head the columns")
_LOADS = {"stress-orphan": "stress-orphan", "will-it-scale/fallocate2": "fallocate2"}


def recognise(text: str) -> bool:
    """Whether there is the heading of either shape."""
    return _HEAD.search(text.expandtabs()) is not None or pipes.recognise(text)


def parse(text: str) -> Parsed:
    """Values by kernel (`arm`) and, of pipe tables, the changes in % beside them.

    Times have no unit and `mean_of_<n>` where the text says `average of n runs`. Pipe tables have
    `per_container` and ops/s where the text says so, else neither. `test` is the load, if the text
    names one that is known, and in tables of several machines the row's name and the processor.
    """
    lines = text.expandtabs().splitlines()
    load = _load(text)
    times, warnings = _times(lines, load, runs_averaged(text))
    piped, more = pipes.rows(lines, load)
    rows = [*times, *piped]
    if len({(row.test, row.threads, row.arm, row.unit) for row in rows}) < len(rows):
        raise BadInput("two tables in this text have rows of one name: give one table at a time")
    if not rows:
        why = [*warnings, *more, "it has no heading that is known"][0]
        raise BadInput(f"nothing could be read from the changelog's tables: {why}")
    alone = [_TIMES] * bool(times) + [_COUNTS] * bool(piped)
    return Parsed(TOOL, NOT_STATED, tuple(rows), (*warnings, *more, *alone, LOST_ROWS))


def _load(text: str) -> str:
    """The load that the prose names, if it names just one of those that are known."""
    named = {load for name, load in _LOADS.items() if re.search(rf"\b{name}\b", text)}
    return named.pop() if len(named) == 1 else NOT_STATED


def _times(lines: Sequence[str], load: str, statistic: str) -> tuple[list[Row], list[str]]:
    """Rows and warnings of the table under `Threads Time Time`; the next line names the columns."""
    rows: list[Row] = []
    warnings: list[str] = []
    for at, line in enumerate(lines):
        if _HEAD.fullmatch(line):
            metrics, arms = _columns(line, lines[at + 1] if at + 1 < len(lines) else "")
            body = [*enumerate(lines[at + 2 :], at + 3), (0, "")]
            body = body[: [not below.strip() for _, below in body].index(True)]
            rows += _body(body, load, metrics, arms, statistic, warnings)
    return rows, warnings


def _columns(head: str, names: str) -> tuple[list[str], list[str]]:
    """Metric and arm of each column; a name begins below its heading."""
    starts = [found.start() for found in re.finditer(r"\S+", head)][1:]
    arms = [names[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
    if any(not re.match(r"\s\S", names[a - 1 :]) or "  " in arm for a, arm in zip(starts, arms, strict=True)):
        raise BadInput("a name of the changelog's columns does not begin below its heading: put it there")
    if names[: starts[0]].strip() or not all(re.match("[A-Za-z]", arm) for arm in arms):
        raise BadInput("the columns of the changelog's table have no names below their heading: write them")
    if len(set(arms)) < len(arms):
        raise BadInput("two columns of the changelog's table have one name: write others")
    return [metric.lower() for metric in head.split()[1:]], arms


def _body(
    body: Sequence[tuple[int, str]],
    load: str,
    metrics: list[str],
    arms: list[str],
    statistic: str,
    warnings: list[str],
) -> list[Row]:
    found = [(number, _ROW.fullmatch(line)) for number, line in body]
    values = {number: match[2].split() for number, match in found if match}
    digits = max((decimals(value) for of in values.values() for value in of), default=0)
    rows = []
    for number, match in found:
        of_line = values.get(number, [])
        if match is None or len(of_line) != len(arms) or {decimals(value) for value in of_line} != {digits}:
            warnings.append(f"line {number} is left out: it is not a row of the table above it")
            continue
        rows += [
            Row(load, int(match[1]), None, metric, NOT_STATED, float(value), statistic, arm)
            for metric, value, arm in zip(metrics, of_line, arms, strict=True)
        ]
    return rows
