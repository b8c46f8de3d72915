# SPDX-License-Identifier: MIT
"""S1, 'ext4: reduce lock contention in __ext4_new_inode': what its two tables claim."""

from collections.abc import Callable

from lockscale.tables.claim import AuditRow, Verdict, exceeds, row, total_is_count_times_average
from lockscale.tables.datapackage import function_cost, published, repeats
from lockscale.tables.intervals import Interval, ratio_of_means

RATES, COST = "s1_rates", "s1_function_cost"


def _gain(metric: str) -> Interval:
    return ratio_of_means(repeats(RATES, "steal-retry", metric), repeats(RATES, "search-locked", metric))


def creation_gain() -> list[AuditRow]:
    """The message: 'Creation performance is improved more than 10X'."""
    note = "ratio of the means of three iterations, with its 95% interval"
    claim = "creation is improved more than 10X"
    return [exceeds(RATES, claim, 10.0, _gain("create_rate"), "x", note)]


def removal_gain() -> list[AuditRow]:
    """The message is silent on removal; the table shows a gain."""
    note = "not claimed in words; ratio of the means of three iterations, with its 95% interval"
    return [exceeds(RATES, "removal is faster too", 1.0, _gain("removal_rate"), "x", note)]


def cost_run_is_the_rate_run() -> list[AuditRow]:
    """Time in ext4_create over the wall time of the rate run: processes inside it, at most N."""
    costs = function_cost(COST).set_index("function")
    total_s = float(costs["total_us"]["ext4_create"]) / 1e6
    count = int(costs["count"]["ext4_create"])
    processes = float(published(RATES)["threads"].iloc[0])
    busy = [total_s * rate / count for rate in repeats(RATES, "steal-retry", "create_rate")]
    found = Interval(sum(busy) / len(busy), min(busy), max(busy))
    note = (
        "processes inside ext4_create, with the extremes of three iterations; with no more than "
        f"{processes:.0f} the profiled run made at most {processes * count / total_s:.0f} creates/s"
    )
    claim = f"the function costs are from a run as fast as {RATES}"
    verdict: Verdict = "fails" if found.low > processes else "unknown"
    return [row(COST, claim, processes, found, "processes", verdict, note)]


CLAIMS: dict[str, tuple[Callable[[], list[AuditRow]], ...]] = {
    RATES: (creation_gain, removal_gain),
    COST: (lambda: total_is_count_times_average(COST), cost_run_is_the_rate_run),
}
