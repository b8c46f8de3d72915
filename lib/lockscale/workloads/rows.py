# SPDX-License-Identifier: MIT
"""The long-form row that every tool's output becomes."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One number of one tool.

    `test` is the phase (`create`, `remove`, ...), `threads` how many processes or threads worked
    at once, `iteration` the repeat from 1 on (None: over all repeats), `value` in `unit`.
    `statistic` says whose time the number comes from:

    total         operations of all processes / (first start to last end, or one rank's time
                  from barrier to barrier where the tool measures that)
    slowest_rank  the slowest process's own rate x processes
    fastest_rank  the fastest process's own rate x processes
    rank<k>       process k alone
    <any>_max, _min, _mean, _sd    over iterations, or `ranks_...` over ranks x iterations
    """

    test: str
    threads: int
    iteration: int | None
    metric: str
    unit: str
    value: float
    statistic: str


def rate_row(test: str, threads: int, iteration: int | None, value: float, statistic: str) -> Row:
    """A rate in operations per second."""
    return Row(test, threads, iteration, "rate", "ops/s", value, statistic)


@dataclass(frozen=True)
class Parsed:
    """What was read from one output; `warnings` say what was left out of it and why."""

    tool: str
    version: str
    rows: tuple[Row, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The value `lockscale parse --json` prints."""
        return {
            "tool": self.tool,
            "version": self.version,
            "rows": [asdict(row) for row in self.rows],
            "warnings": list(self.warnings),
        }
