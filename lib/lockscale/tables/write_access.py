# SPDX-License-Identifier: MIT
"""S2, LU-9796 'Speedup file creation under heavy concurrency': what its four tables claim."""

from collections.abc import Callable

from lockscale.tables.claim import (
    AuditRow,
    equals,
    exceeds,
    judged,
    row,
    total_is_count_times_average,
)
from lockscale.tables.datapackage import printed_points, published, repeats
from lockscale.tables.intervals import Interval, next_repeat, ratio_of_means

SURVEY, FIVE_RUNS = "s2_mds_survey", "s2_five_runs"
WITHOUT, WITH = "s2_function_cost_without", "s2_function_cost_with"


def _overall_per_s(arm: str) -> float:
    threads = int(published(SURVEY)["threads"].iloc[0])
    return float(printed_points(SURVEY, "overall")[arm, threads])


def _gain_pct(metric: str) -> Interval:
    before = repeats(FIVE_RUNS, "slow-retry", metric)
    gain = ratio_of_means(before, repeats(FIVE_RUNS, "timed-backoff", metric))
    return Interval(*(100 * (ratio - 1) for ratio in gain))


def regression() -> list[AuditRow]:
    """The comment: the patch 'cause performance regression with mds-survey'."""
    ratio = _overall_per_s("fast-retry") / _overall_per_s("slow-retry")
    claim = "cheaper get_write_access makes creates slower"
    note = "the ratio of one run each: no interval"
    return [row(SURVEY, claim, None, Interval(ratio, ratio, ratio), "x", judged(ratio < 1), note)]


def single_run_is_one_of_five() -> list[AuditRow]:
    """Both tables have runs 'without patch' of one command, published in one issue."""
    single = _overall_per_s("slow-retry")
    found = next_repeat(repeats(FIVE_RUNS, "slow-retry", "create_rate"))
    claim = f"the single run without patch repeats {FIVE_RUNS} without patch"
    note = (
        "mean of the five and 95% prediction interval of one more; the mean is "
        f"{100 * (found.value / single - 1):.1f}% above the single run, and the source does not "
        "say whether the machine is the same"
    )
    return [equals(SURVEY, claim, single, found, "ops/s", note)]


def creation_gain() -> list[AuditRow]:
    """The comment: 'we are getting 50% perforamnce improvment for creation'."""
    note = "from the means of five runs, with the 95% interval"
    return [equals(FIVE_RUNS, "creation gains 50%", 50.0, _gain_pct("create_rate"), "%", note)]


def destroy_gain() -> list[AuditRow]:
    """Not claimed in words: the destroy columns differ, but so do their runs."""
    note = "not claimed in words; from the means of five runs, with the 95% interval"
    return [exceeds(FIVE_RUNS, "destroy is faster too", 0.0, _gain_pct("destroy_rate"), "%", note)]


CLAIMS: dict[str, tuple[Callable[[], list[AuditRow]], ...]] = {
    SURVEY: (regression, single_run_is_one_of_five),
    WITHOUT: (lambda: total_is_count_times_average(WITHOUT),),
    WITH: (lambda: total_is_count_times_average(WITH),),
    FIVE_RUNS: (creation_gain, destroy_gain),
}
