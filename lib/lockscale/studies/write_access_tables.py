# SPDX-License-Identifier: MIT
"""S2, LU-9796 'Speedup file creation under heavy concurrency': what its four tables claim."""

from collections.abc import Callable
from math import log
from statistics import mean, stdev
from typing import NamedTuple

from lockscale.tables.claim import (
    AuditRow,
    Gap,
    Interval,
    equals,
    exceeds,
    judged,
    next_repeat,
    ratio_of_means,
    ratio_of_spreads,
    row,
    tally,
    undecided,
    unstated,
    welch_p,
)
from lockscale.tables.datapackage import command_numbers, printed_points, published, repeats
from lockscale.tables.function_costs import Cost, costs, profile_claims

SURVEY, FIVE_RUNS = "s2_mds_survey", "s2_five_runs"
WITHOUT, WITH = "s2_function_cost_without", "s2_function_cost_with"
CREATE, _SPIN, ACCESS = "ldiskfs_create_inode", "_raw_spin_lock", "jbd2_journal_get_write_access"


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
    note = "our check; they look like samples of a second: no interval of the run's rate"
    return tally(SURVEY, claim, passed, "rates", note)


def single_run_is_one_of_five() -> AuditRow:
    """Both tables have runs 'without patch' of one command, published in one issue."""
    single = _survey_per_s("slow-retry")
    five = next_repeat(repeats(FIVE_RUNS, "slow-retry", "create_rate"))
    found = Interval(*(100 * (rate / single - 1) for rate in five))
    claim = f"the single run without patch is as fast as those of {FIVE_RUNS}"
    note = (
        f"our check; mean of the five ({five.value:.0f} ops/s) over the single run ({single:.0f}), with the "
        "95% prediction interval of one more run; that the machine is the same is not stated"
    )
    return equals(SURVEY, claim, 0.0, found, "%", note)


def creation_gain() -> AuditRow:
    """The comment: 'we are getting 50% perforamnce improvment for creation'."""
    found, note = _gain_pct("create_rate")
    return equals(FIVE_RUNS, "creation gains 50%", 50.0, found, "%", note)


def destroy_gain() -> AuditRow:
    """Not claimed in words: the destroy columns differ, but so do their runs."""
    found, note = _gain_pct("destroy_rate")
    return exceeds(FIVE_RUNS, "destroy is faster too", 0.0, found, "%", f"our check of the table; {note}")


def prototype_scatters() -> AuditRow:
    """What the mean hides: five runs with the timed sleep beside five without."""
    found = ratio_of_spreads(*_five("create_rate"))
    claim = "creates scatter more with the prototype than without"
    note = "our check; ratio of the standard deviations of five runs, with the 95% interval"
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


class Both(NamedTuple):
    """The two tables, by function."""

    without: dict[str, Cost]
    patched: dict[str, Cost]

    def pair(self, function: str) -> tuple[Cost, Cost]:
        return self.without[function], self.patched[function]

    def a_create(self, function: str) -> tuple[float, float]:
        """Calls a create, without and with the patch."""
        before, after = (table[function].calls / table[CREATE].calls for table in self)
        return before, after

    def others(self) -> list[str]:
        """The functions of both tables that no retry calls."""
        return [name for name in self.patched if name in self.without and name not in (CREATE, _SPIN, ACCESS)]


def access_is_cheaper(both: Both) -> AuditRow:
    """What the patch did to get_write_access: its two jbd2 changes are of that function (17fe3c192e)."""
    before, after = (cost.total_us / cost.calls for cost in both.pair(ACCESS))
    ratio = before / after
    claim = f"the patch makes {ACCESS} cheaper"
    note = f"our check of the table; time per call, {before:.2f} us without and {after:.2f} us with the patch"
    return row(WITH, claim, 1.0, ratio, "x", judged(ratio > 1), note)


def added_time_is_spinning(both: Both) -> AuditRow:
    """The comment: the regression is 'beoucse of a lot of _raw_spin_lock() calls'."""
    spin_us, create_us = (
        after.total_us - before.total_us for before, after in (both.pair(_SPIN), both.pair(CREATE))
    )
    share_pct = 100 * spin_us / create_us
    note = (
        f"added time in {_SPIN} / added time in {CREATE}; above 100% since {ACCESS} gave time back, "
        "or where other functions spin"
    )
    claim = f"creates are slower because of {_SPIN}"
    return row(WITH, claim, 50.0, share_pct, "%", judged(share_pct > 50), note)


def more_calls_cost_more(both: Both) -> AuditRow:
    """The same comment, taken at its word: more calls, at what a call cost before."""
    before, after = both.pair(_SPIN)
    was_us, is_us = before.total_us / before.calls, after.total_us / after.calls
    share_pct = 100 * (after.calls - before.calls) * was_us / (after.total_us - before.total_us)
    note = (
        f"share of the added spinning that the added calls explain at {was_us:.3f} us each; calls grew "
        f"{after.calls / before.calls:.2f}x, the time of a call {is_us / was_us:.0f}x: they wait longer"
    )
    claim = f"... because of a lot of {_SPIN} calls"
    return row(WITH, claim, 50.0, share_pct, "%", judged(share_pct > 50), note)


def attempts(both: Both) -> AuditRow:
    """Retries: get_write_access calls beyond those of the other table, whose creates try once or more."""
    before, after = both.a_create(ACCESS)
    others = max(then - now for now, then in map(both.a_create, both.others()))
    least = 1 + after - before
    found = Interval(least, least - max(others, 0.0), after)
    note = (
        f"our check; a create calls get_write_access {after:.2f} times with the patch and {before:.2f} "
        "without, where one attempt is assumed; low: less the calls by which any other function grew; "
        "high: every call is an attempt"
    )
    claim = "a create takes more than one attempt at its inode"
    return row(WITH, claim, 1.0, found, "attempts", judged(found.low > 1), note)


def spins(both: Both) -> AuditRow:
    """Each retry takes the group's lock again: what else it takes, the counts say."""
    before, after = both.a_create(_SPIN)
    access_before, access_after = both.a_create(ACCESS)
    per_retry = (after - before) / (access_after - access_before)
    note = (
        f"our check; added {_SPIN} calls for each added attempt; a create makes {after:.1f} with the "
        f"patch and {before:.1f} without"
    )
    claim = "an attempt takes a spin lock at least once"
    return row(WITH, claim, 1.0, per_retry, "spins", judged(per_retry >= 1), note)


def others_are_called_as_often(both: Both) -> AuditRow:
    """Attempts are counted by a difference of calls: is it the only one?"""
    passed = {}
    for name in both.others():
        before, after = both.a_create(name)
        passed[f"{name} ({before:.2f} and {after:.2f} calls)"] = abs(after / before - 1) < 1e-3
    claim = "a create calls every other function as often in both tables, to 0.1%"
    return tally(WITH, claim, passed, "functions", "our check")


def compared() -> list[AuditRow]:
    """Every line that needs both tables."""
    both = Both(costs(WITHOUT), costs(WITH))
    checks = (access_is_cheaper, added_time_is_spinning, more_calls_cost_more, attempts, spins)
    return [*(check(both) for check in checks), others_are_called_as_often(both)]


def audit_survey() -> list[AuditRow]:
    checks = (regression, extremes_enclose, extremes_are_samples, single_run_is_one_of_five)
    lustre = Gap("review 28276 improves performance on Lustre", "any rate on Lustre", "lustre_rate")
    return [*(check() for check in checks), *unstated(SURVEY, lustre)]


def _audit_costs(table: str, arm: str) -> list[AuditRow]:
    (files,) = command_numbers(SURVEY, r"file_count=(\d+)")
    return profile_claims(table, CREATE, files, SURVEY, [_survey_per_s(arm)], _threads())


def audit_without() -> list[AuditRow]:
    return [*_audit_costs(WITHOUT, "slow-retry"), *unstated(WITHOUT)]


def audit_with() -> list[AuditRow]:
    return [*_audit_costs(WITH, "fast-retry"), *compared(), *unstated(WITH)]


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
