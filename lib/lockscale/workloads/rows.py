# SPDX-License-Identifier: MIT
"""The long-form row that every tool's output becomes."""

from dataclasses import asdict, dataclass
from typing import Any

NOT_STATED = "not stated"  # a version, unit or statistic that the output leaves out


@dataclass(frozen=True)
class Row:
    """One number of one tool.

    `test` is the phase (`create`, `remove`, ...), `threads` how many processes or threads worked
    at once (None: the output does not say), `iteration` the repeat from 1 on (None: over all
    repeats), `value` in `unit`. `arm` is the column of a table that compares kernels, in the
    table's own words. `statistic` says whose time the number comes from:

    total          operations of all processes / (first start to last end, or one rank's time
                   from barrier to barrier, or the longest process's time, whichever the tool takes)
    slowest_rank   the slowest process's own rate x processes
    fastest_rank   the fastest process's own rate x processes
    rank<k>        process k alone
    rank0_to_barrier   what process 0 did / its time until all were through
    per_container  mean over containers of what each did; `threads` counts the containers
    container<k>   the k-th container alone, all of its workers; `threads` are those of the run
    per_mdt_mean   mean over Lustre's MDTs of what each did; `threads` is that of one MDT
    mdt<k>         the k-th MDT alone, all of its threads
    machine        the whole machine, whoever used it
    <any>_max, _min, _mean, _sd    over iterations, or `ranks_...` over ranks x iterations
                   (of will-it-scale: over seconds)
                   (`ranks_alone_...`: of rank<k>)
    <any>_interval_min, _max       slowest and fastest second, of any one MDT where there are several
    <any>_p<q>, _mean, _max of a latency    over the operations
    mean_of_<n>    over n runs; hmean, amean, stddev, ...: what mmtests calls it
    change, <any>_change           this arm against the table's first, in % as printed
    change_starred, <any>_...      the same, marked as significant
    """

    test: str
    threads: int | None
    iteration: int | None
    metric: str
    unit: str
    value: float
    statistic: str
    arm: str | None = None


def unconfirmed(what: str) -> str:
    """The warning for numbers that stand alone in their output; `what` names them."""
    return f"nothing in the output confirms {what}: a changed digit cannot be noticed"


def rate_row(test: str, threads: int | None, iteration: int | None, value: float, statistic: str) -> Row:
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
        """The value `lockscale parse --json` prints; only the rows of a comparison have an `arm`."""
        rows = [asdict(row) for row in self.rows]
        if all(row.arm is None for row in self.rows):
            for row in rows:
                del row["arm"]
        warnings = list(self.warnings)
        return {"tool": self.tool, "version": self.version, "rows": rows, "warnings": warnings}
