# SPDX-License-Identifier: MIT
"""The rates and times of single processes that mdtest 4.x prints with --print-all-procs."""

import math

from lockscale.workloads.mdtest_run import Result, Run, like
from lockscale.workloads.rows import Row, unconfirmed


def processes_of(run: Run) -> list[Row]:
    """`rank<k>` of each iteration: a process's own items / its time up to the barrier."""
    rows: list[Row] = []
    kept = 0
    for metric, results in run.processes.items():
        for result in results:
            if not run.has(result, result.values):
                continue
            if len(result.values) != run.tasks or _other_items(run, result):
                run.leave_out(result, "these are not the numbers of all processes")
            elif contradicts_ranks(run, metric, result.test):
                run.leave_out(result, "the statistics of ranks are not those of the processes")
            else:
                kept += 1
                rows += [
                    run.row(result, metric, value, f"rank{rank}", result.iteration)
                    for rank, value in enumerate(result.values)
                ]
    if run.asked.processes:
        expected = len(run.asked.tests) * run.asked.repeats * len(run.asked.metrics)
        run.miss(kept, expected, "lines of processes")
    both = len(run.processes) > 1 and not run.asked.by_time
    if kept and not both and not run.asked.rank_statistics:
        run.warnings.append(unconfirmed("the numbers of single processes"))
    return rows


def _other_items(run: Run, result: Result) -> bool:
    """Whether rates and times are both there and do not give each process's share of the items."""
    pair = [like(result, run.processes.get(metric, [])) for metric in ("rate", "time")]
    if run.asked.by_time or not all(pair):
        return False
    rates, times = [one.values for one in pair if one]
    share = run.items_total // run.tasks
    return any(abs(r * t - share) > 3e-6 * share for r, t in zip(rates, times, strict=False))


def contradicts_ranks(run: Run, metric: str, test: str) -> bool:
    """Whether --showRankStatistics says another max, min or mean than the processes have."""
    said = [result.values[:-4] for result in run.summary.get(metric, []) if result.test == test]
    lines = [result.values for result in run.processes.get(metric, []) if result.test == test]
    if len(lines) != run.asked.repeats or not said or len(said[0]) != 3:
        return False
    values = [value for line in lines for value in line]
    found = (max(values), min(values), math.fsum(values) / len(values))
    return not all(
        math.isclose(a, b, rel_tol=1e-6, abs_tol=6e-4) for a, b in zip(said[0], found, strict=True)
    )
