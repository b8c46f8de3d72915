# SPDX-License-Identifier: MIT
"""What each profiler cost in a run: the load's rate without it and with it, in the same boots."""

import pandas as pd

from lockscale.errors import BadInput
from lockscale.measure.all_processes import of_all_processes
from lockscale.measure.plan import WARM_UP
from lockscale.tools.overhead import overhead

UNDER_PROFILER = "rate_under_profiler"
"""The metric of a rate that is no result: its row is marked as profiled and has the profiler as its tool."""
_POINT = ["arm", "cpus", "threads"]
_BOOT = ["pair", "block", "iteration"]


def overheads(rows: pd.DataFrame, test: str = "") -> pd.DataFrame:
    """Per profiler and point, over the boots: rate lost in percent with its interval.

    Columns tool, arm, cpus, threads, statistic (of the rates), origin, overhead_pct, low, high,
    level_pct (what the interval covers), pairs. BadInput where the run has no rate under a profiler.
    """
    if not (rows.metric == UNDER_PROFILER).any():
        raise BadInput("the run has no rate under a profiler: measure it again to see what profilers cost")
    total = of_all_processes(rows[rows.pair != WARM_UP], test, ("rate", UNDER_PROFILER))
    key = [*_POINT, *_BOOT]
    without = total[(total.metric == "rate") & ~total.profiled].set_index(key).value
    under = total[total.metric == UNDER_PROFILER]
    both = under.join(without.rename("without"), on=key, how="inner")
    points = both.groupby(["tool", *_POINT, "statistic"])
    lost = [overhead(point.without.tolist(), point.value.tolist()) for _, point in points]
    table = points.origin.first().reset_index()
    return table.assign(
        overhead_pct=[one.percent for one in lost],
        low=[one.low for one in lost],
        high=[one.high for one in lost],
        level_pct=[100 * one.level for one in lost],
        pairs=[one.pairs for one in lost],
    )
