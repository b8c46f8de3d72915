# SPDX-License-Identifier: MIT
"""S2, LU-9796 'Speedup file creation under heavy concurrency': what its four tables claim."""

import re
from collections.abc import Callable
from math import log
from statistics import mean, stdev

from lockscale.errors import BadInput
from lockscale.tables import write_access_costs
from lockscale.tables.claim import AuditRow, equals, exceeds, judged, row, tally, undecided
from lockscale.tables.datapackage import describe, printed_points, published, repeats
from lockscale.tables.function_costs import (
    callees_are_within_callers,
    costs,
    is_one_run,
    is_the_rate_run,
    total_is_count_times_average,
)
from lockscale.tables.intervals import Interval, next_repeat, ratio_of_means, ratio_of_spreads, welch_p
from lockscale.tables.unstated import Gap, unstated
from lockscale.tables.write_access_costs import WITH, WITHOUT

SURVEY, FIVE_RUNS = "s2_mds_survey", "s2_five_runs"


def _threads() -> int:
    return int(published(SURVEY)["threads"].iloc[0])


def _survey_per_s(arm: str, statistic: str = "overall") -> float:
    return float(printed_points(SURVEY, statistic)[arm, _threads()])


def _five(metric: str) -> tuple[list[float], list[float]]:
    return repeats(FIVE_RUNS, "slow-retry", metric), repeats(FIVE_RUNS, "timed-backoff", metric)


def _gain_pct(metric: str) -> tuple[Interval, str]:
    before, after = _five(metric)
    gain = Interval(*(100 * (ratio - 1) for ratio in ratio_of_means(before, after)))
    return gain, f"means of five runs, with the 95% interval; Welch's test: p = {welch_p(before, after):.2g}"


def regression() -> AuditRow:
    """The comment: the patch 'cause performance regression with mds-survey'."""
    ratio = _survey_per_s("fast-retry") / _survey_per_s("slow-retry")
    claim = "the patch (review 28276) makes creates slower"
    five = repeats(FIVE_RUNS, "slow-retry", "create_rate")
    scatter_pct = 100 * stdev(five) / mean(five)
    note = (
        f"one run each, so no interval; the runs without patch in {FIVE_RUNS} scatter by {scatter_pct:.1f}%"
    )
    return row(SURVEY, claim, 1.0, ratio, "x", judged(ratio < 1), note)


def extremes_enclose() -> AuditRow:
    """The survey prints: rate [min, max]."""
    passed = {
        arm: _survey_per_s(arm, "min") <= _survey_per_s(arm) <= _survey_per_s(arm, "max")
        for arm in ("slow-retry", "fast-retry")
    }
    return tally(SURVEY, "each rate is within its [min, max]", passed, "rates")


def extremes_are_samples() -> AuditRow:
    """Thousands of creates over a little more than a second: what the survey's extremes are of."""
    passed = {}
    for arm in ("slow-retry", "fast-retry"):
        for end in ("min", "max"):
            rate = _survey_per_s(arm, end)
            passed[f"{end} of {arm}"] = 1 <= 1000 * round(rate / 1000) / rate < 1.0002
    claim = "each min and max is thousands of creates in 1.0000 to 1.0002 s"
    note = "not claimed; they look like samples of a second: no interval of the run's rate"
    return tally(SURVEY, claim, passed, "rates", note)


def single_run_is_one_of_five() -> AuditRow:
    """Both tables have runs 'without patch' of one command, published in one issue."""
    single = _survey_per_s("slow-retry")
    five = next_repeat(repeats(FIVE_RUNS, "slow-retry", "create_rate"))
    found = Interval(*(100 * (rate / single - 1) for rate in five))
    claim = f"the single run without patch is as fast as those of {FIVE_RUNS}"
    note = (
        f"mean of the five ({five.value:.0f} ops/s) over the single run ({single:.0f}), with the 95% "
        "prediction interval of one more run; that the machine is the same is not stated"
    )
    return equals(SURVEY, claim, 0.0, found, "%", note)


def creation_gain() -> AuditRow:
    """The comment: 'we are getting 50% perforamnce improvment for creation'."""
    found, note = _gain_pct("create_rate")
    return equals(FIVE_RUNS, "creation gains 50%", 50.0, found, "%", note)


def destroy_gain() -> AuditRow:
    """Not claimed in words: the destroy columns differ, but so do their runs."""
    found, note = _gain_pct("destroy_rate")
    return exceeds(FIVE_RUNS, "destroy is faster too", 0.0, found, "%", f"not claimed in words; {note}")


def prototype_scatters() -> AuditRow:
    """What the mean hides: five runs with the timed sleep beside five without."""
    found = ratio_of_spreads(*_five("create_rate"))
    claim = "creates scatter more with the prototype than without"
    note = "not claimed; ratio of the standard deviations of five runs, with the 95% interval"
    return exceeds(FIVE_RUNS, claim, 1.0, found, "x", note)


def prototype_sat_on_the_slow_code() -> AuditRow:
    """'Without patch' may mean without the prototype only: then the survey says which code it is."""
    base = Gap(
        "the prototype sat on the code without review 28276", "the code that it was applied to", "applied_to"
    )
    five_per_s = mean(repeats(FIVE_RUNS, "slow-retry", "create_rate"))
    slow, fast = (five_per_s / _survey_per_s(arm) for arm in ("slow-retry", "fast-retry"))
    note = f"without it the five runs are {slow:.2f}x the survey without 28276 and {fast:.2f}x that with it"
    line = row(FIVE_RUNS, base.claim, 1.0, slow, "x", judged(abs(log(slow)) < abs(log(fast))), note)
    return undecided(line, base.missing) if base.is_open(FIVE_RUNS) else line


def quarter_million() -> AuditRow:
    """The comment: 'we are now reaching ~250K ops/sec', beside a figure that the text does not hold."""
    best = max(max(runs) for runs in _five("create_rate"))
    claim = "creates reach ~250K ops/s (Platinum 8160, review 29032)"
    note = "the fastest published run, on a machine that is not stated"
    line = row(FIVE_RUNS, claim, 250_000, best, "ops/s", "holds", note)
    return line if best >= 250_000 else undecided(line, "the numbers of the figure that shows it")


def _file_count() -> int:
    found = re.search(r"file_count=(\d+)", describe(SURVEY)["command"])
    if found is None:
        raise BadInput(f"the command of {SURVEY} in datapackage.json has no file_count; restore it from git")
    return int(found[1])


def audit_survey() -> list[AuditRow]:
    checks = (regression, extremes_enclose, extremes_are_samples, single_run_is_one_of_five)
    lustre = Gap("review 28276 improves performance on Lustre", "any rate on Lustre", "lustre_rate")
    return [*(check() for check in checks), *unstated(SURVEY, lustre)]


def _audit_costs(table: str, arm: str) -> list[AuditRow]:
    function = "ldiskfs_create_inode"
    return [
        total_is_count_times_average(table, costs(table)),
        callees_are_within_callers(table),
        is_one_run(table, function, _file_count()),
        is_the_rate_run(table, function, SURVEY, [_survey_per_s(arm)], _threads()),
    ]


def audit_without() -> list[AuditRow]:
    return [*_audit_costs(WITHOUT, "slow-retry"), *unstated(WITHOUT)]


def audit_with() -> list[AuditRow]:
    return [*_audit_costs(WITH, "fast-retry"), *write_access_costs.compared(), *unstated(WITH)]


def audit_five_runs() -> list[AuditRow]:
    checks = (creation_gain, destroy_gain, prototype_scatters, prototype_sat_on_the_slow_code)
    return [
        *(check() for check in checks),
        quarter_million(),
        *unstated(
            FIVE_RUNS,
            Gap("the length of the prototype's timed sleep", "it", "sleep_us"),
            Gap(
                "the refreshed patch is faster than the code before the regression",
                "its rates on this machine",
                "arm",
                "search-locked",
            ),
            Gap(
                "queued spin locks contend likewise ('we saw same contentions')",
                "rates with and without them",
                "spin_lock",
            ),
        ),
    ]


CLAIMS: dict[str, Callable[[], list[AuditRow]]] = {
    SURVEY: audit_survey,
    WITHOUT: audit_without,
    WITH: audit_with,
    FIVE_RUNS: audit_five_runs,
}
