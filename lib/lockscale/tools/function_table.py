# SPDX-License-Identifier: MIT
"""The table `FUNC TOTAL_TIME(us) COUNT AVG(us)` of kernel changelogs: print it and read it."""

import re
from collections.abc import Iterable

from lockscale.errors import BadInput
from lockscale.tools.ftrace_cost import NAME_LENGTH, FunctionCost

TOOL = "funccost"

_COLUMNS = "{:<30} {:<20} {:<12} {}"
_HEADER = re.compile(r"\s*FUNC\s+TOTAL_TIME\(us\)\s+COUNT\s+AVG\(us\)\s*")
_ROW = re.compile(r"\s*(\S+)\s+(\d{1,18})\s+(\d{1,18})\s+(\d{1,18}\.\d\d)\s*", re.ASCII)


def table(costs: Iterable[FunctionCost]) -> str:
    """The costs as S1's changelog prints them: whole microseconds, averages to two decimals."""
    rows = [(cost.function, int(cost.total_us), cost.count, f"{cost.avg_us:.2f}") for cost in costs]
    lines = [("FUNC", "TOTAL_TIME(us)", "COUNT", "AVG(us)"), *rows]
    return "".join(_COLUMNS.format(*line) + "\n" for line in lines)


def recognise(text: str) -> bool:
    """Whether a line is the head of such a table."""
    return any(_HEADER.fullmatch(line) for line in text.split("\n"))


def parse_table(text: str) -> list[FunctionCost]:
    """The costs of the one such table in `text`, in its order; other text around it is passed over.

    The table ends at the first line that is blank or no row of it. BadInput for no table, for two,
    for an empty one, for a name twice, and where the average is not total / count.
    """
    lines = text.split("\n")
    heads = [number for number, line in enumerate(lines) if _HEADER.fullmatch(line)]
    if len(heads) != 1:
        raise BadInput(f"the text holds {len(heads)} function cost tables: give one with its header")
    costs: list[FunctionCost] = []
    for line in lines[heads[0] + 1 :]:
        match = _ROW.fullmatch(line)
        if match is None:
            if line.strip():
                raise BadInput(f"the function cost table has a line that is no row: {line[:60]!r}")
            break
        costs.append(_cost(*match.groups()))
    if not costs or len({cost.function for cost in costs}) != len(costs):
        raise BadInput("the function cost table has no rows, or a function twice")
    return costs


def _cost(name: str, total: str, count: str, average: str) -> FunctionCost:
    """A row whose average, rounded or cut to two decimals, is total / count."""
    low, high = int(total) / max(int(count), 1), (int(total) + 1) / max(int(count), 1)
    if not low - 0.01 <= float(average) <= high + 0.005 or not int(count):
        raise BadInput(f"{name} in the function cost table: {average} is not {total} / {count}")
    cut = len(name) >= NAME_LENGTH
    return FunctionCost(name, float(total), int(count), float(average), truncated=cut)
