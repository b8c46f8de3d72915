# SPDX-License-Identifier: MIT
"""What the numbers of each version of mdtest mean, as rows.

Read in the sources, checked by runs of each version:

banner                        `-v` line of an iteration      SUMMARY of rates
1.9.3 (IOR 3.2.0 to 3.2.2)    all ranks' items / rank 0's    -i 1: fastest rank; wrong for -i > 1 in
                              time from barrier to barrier   3.2.0 and 3.2.1 (hpc/ior #113, #183)
3.3.0, 3.3.1+dev              the same                       over ranks x iterations, SD with n
4.0.0rc1 to 4.1.0+dev         rank 0's own items / its       slowest rank x ranks, SD with n - 1
                              time from barrier to barrier

The SUMMARY of times (-Z, and -P beside the rates) is in seconds for the whole phase in every
version, whatever its heading says ("in ops/sec", "in ms/op"): rate x time gives the items. 4.x has
each process's rate, up to the barrier, with --print-all-procs and --showRankStatistics.

The statistics that mdtest prints have to belong to each other. Each is printed to three decimals, so a
change that moves the others by less cannot be seen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.tools.mdtest_run import Result, Run, like
from lockscale.tools.workload_rows import Row, unconfirmed

_HALF = 0.0005  # what rounding to three decimals moves a number by, at most


def is_mean_of(n: int, most: float, least: float, mean: float) -> bool:
    """Whether n values with this maximum, minimum and mean can exist."""
    if n == 1:
        return most == least == mean
    rest, slack = n * mean - most - least, 2 * n * _HALF + 1e-12 * n * most
    return (n - 2) * least - slack <= rest <= (n - 2) * most + slack and least - slack <= mean <= most + slack


def is_summary_of(n: int, most: float, least: float, mean: float, sd: float, *, sample_sd: bool) -> bool:
    """Whether n values with this max, min, mean and standard deviation can exist.

    The bounds on the sum of squares: the other n - 2 values all equal (least), and Bhatia and
    Davis's n (max - mean)(mean - min) (most); for n <= 3 the two meet. The least is the square of
    the vector (max - mean, min - mean, the rest): rounding moves its length by at most `slack`.
    """
    if not is_mean_of(n, most, least, mean):
        return False
    if n == 1:
        return sd == 0
    others = (2 * mean - most - least) / math.sqrt(n - 2) if n > 2 else 0.0
    lowest = math.hypot(most - mean, least - mean, others)
    slack = _HALF * math.sqrt(8 + (16 / (n - 2) if n > 2 else 0)) + 1e-12 * most
    highest = lowest + slack
    if n > 3:
        highest = math.sqrt(n * max(most - mean + 2 * _HALF, 0.0) * max(mean - least + 2 * _HALF, 0.0))
    root = math.sqrt(n - 1 if sample_sd else n)
    return (lowest - slack) / root - _HALF <= sd <= highest / root + _HALF + 1e-12 * most


def mean_fits_inverses(
    n: int, amount: float, stats: Sequence[float], mean: float, *, sample_sd: bool
) -> bool:
    """Whether `mean` can be the mean of amount / x over the n values x of which `stats` are printed.

    stats: max, min, mean and standard deviation of x. The mean of 1 / x under a given mean and variance
    is greatest for two values of which one is the minimum, and least where one is the maximum (Markov
    and Krein's bounds for moments: the third derivative of 1 / x is negative).
    """
    most, least, middle, sd = stats
    unbiased = math.sqrt((n - 1) / n) if sample_sd else 1.0
    low = _mean_inverse(middle + _HALF, (unbiased * max(sd - _HALF, 0.0)) ** 2, most + 2 * _HALF)
    if amount * low > (mean + _HALF) * (1 + 1e-9):
        return False
    if least <= 2 * _HALF:  # it may be next to nothing, and its inverse anything
        return True
    high = _mean_inverse(middle - _HALF, (unbiased * (sd + _HALF)) ** 2, least - 2 * _HALF)
    return (mean - _HALF) * (1 - 1e-9) <= amount * high


def _mean_inverse(middle: float, variance: float, end: float) -> float:
    """The mean of 1 / x where x is `end` or one other value, with this mean and variance."""
    away = middle - end
    other = middle + variance / away
    if other <= 0:  # there is no such pair: rounded off
        return 1 / middle
    share = variance / (variance + away**2)
    return share / end + (1 - share) / other


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


_MOST_CONFIRMED = 3  # of so many values the four statistics follow from three of them
_STATISTICS = ("max", "min", "mean", "sd")


@dataclass(frozen=True)
class Meaning:
    """Whose time a version's numbers come from; `summary_over_ranks`: values are ranks x -i."""

    iteration: str
    summary: dict[str, str]
    summary_over_ranks: bool = False
    sample_sd: bool = False
    summary_needs_one_iteration: bool = False


_IOR_3_2 = Meaning(
    "total", {"rate": "fastest_rank", "time": "slowest_rank"}, summary_needs_one_iteration=True
)
_IOR_3_3 = Meaning("total", {"rate": "ranks", "time": "ranks"}, summary_over_ranks=True)
_IOR_4 = Meaning("rank0_to_barrier", {"rate": "slowest_rank", "time": "slowest_rank"}, sample_sd=True)
VERSIONS = {
    "1.9.3": _IOR_3_2,
    "3.3.0": _IOR_3_3,
    "3.3.1+dev": _IOR_3_3,
    "4.0.0rc1": _IOR_4,
    "4.0.0": _IOR_4,
    "4.0.1rc1+dev": _IOR_4,
    "4.1.0+dev": _IOR_4,
}


def check_version(version: str) -> None:
    """BadInput for a version whose numbers nobody looked up."""
    if version not in VERSIONS:
        known = ", ".join(VERSIONS)
        raise BadInput(f"mdtest {version} is not known: this reads {known} (what IOR calls it)")


def rows_of(run: Run) -> list[Row]:
    """Rows of iterations (-v), processes and the summary; what is left out goes to the warnings."""
    meaning = VERSIONS[run.version]
    return [*_iterations(run, meaning), *processes_of(run), *_summaries(run, meaning)]


def _iterations(run: Run, meaning: Meaning) -> list[Row]:
    if run.asked.by_time:
        if run.iterations:
            run.warnings.append("the iterations are left out: with -W nobody says how many items they had")
        return []
    rows = []
    items = run.items_total // (1 if meaning.iteration == "total" else run.tasks)
    for result in run.iterations:
        seconds, rate = result.values
        if not run.has(result, (rate,)):
            continue
        if _disagree(items, rate, seconds):
            run.leave_out(result, "rate and duration disagree")
            continue
        rows.append(run.row(result, "rate", rate, meaning.iteration, result.iteration))
    if run.asked.verbose:
        run.miss(len(rows), len(run.asked.tests) * run.asked.repeats, "iterations x phases")
    return rows


def _disagree(items: int, rate: float, seconds: float) -> bool:
    """Whether seconds, printed to three decimals, are not those of `items` at this rate."""
    return not (seconds - 0.0006) * rate <= items <= (seconds + 0.0006) * rate


def _summaries(run: Run, meaning: Meaning) -> list[Row]:
    if meaning.summary_needs_one_iteration and run.asked.repeats > 1:
        run.warnings.append(f"the summary of mdtest {run.version} is wrong for -i > 1: left out")
        return []
    rows: list[Row] = []
    kept = 0
    for metric, results in run.summary.items():
        for result in results:
            if not run.has(result, result.values, rounded=metric == "time"):
                continue
            found = _summary(run, result, metric, meaning)
            kept += bool(found)
            rows += found
    run.miss(kept, len(run.asked.tests) * len(run.asked.metrics), "phases of the summary")
    of_ranks = meaning.summary_over_ranks or (run.asked.rank_statistics and not run.asked.processes)
    count = run.asked.repeats * (run.tasks if of_ranks else 1)
    if kept and count > _MOST_CONFIRMED:
        run.warnings.append(unconfirmed(f"the statistics of {count} values, any that can be together"))
    return rows


def _summary(run: Run, result: Result, metric: str, meaning: Meaning) -> list[Row]:
    """The rows of one line: three statistics of the ranks if asked for, then the four of all."""
    ranks, values = result.values[:-4], result.values[-4:]
    count = run.asked.repeats * (run.tasks if meaning.summary_over_ranks else 1)
    if len(ranks) != (3 if run.asked.rank_statistics else 0):
        run.leave_out(result, "it has not the columns that were asked for")
    elif not is_summary_of(count, *values, sample_sd=meaning.sample_sd):
        run.leave_out(result, "max, min, mean and SD disagree")
    elif ranks and not is_mean_of(run.asked.repeats * run.tasks, *ranks):
        run.leave_out(result, "max, min and mean of the ranks disagree")
    elif ranks and contradicts_ranks(run, metric, result.test):
        run.leave_out(result, "the statistics of ranks are not those of the processes")
    elif _rate_and_time_disagree(run, result, count, meaning):
        run.leave_out(result, "its rate and its time disagree")
    else:
        return [
            *_statistics(run, result, metric, "ranks_alone", ranks, run.asked.repeats * run.tasks),
            *_statistics(run, result, metric, meaning.summary[metric], values, count),
        ]
    return []


def _rate_and_time_disagree(run: Run, result: Result, count: int, meaning: Meaning) -> bool:
    """The least time is that of the greatest rate, and the other way round, where -P gives both.

    Each one's mean has to fit the other's mean and deviation.
    """
    both = [like(result, run.summary.get(metric, [])) for metric in ("rate", "time")]
    if run.asked.by_time or not all(both):
        return False
    rates, times = [one.values[-4:] for one in both if one]
    items = run.items_total
    if _disagree(items, rates[0], times[1]) or _disagree(items, rates[1], times[0]):
        return True
    return not all(
        mean_fits_inverses(count, items, of, other[2], sample_sd=meaning.sample_sd)
        for of, other in ((rates, times), (times, rates))
    )


def _statistics(
    run: Run, result: Result, metric: str, whose: str, values: tuple[float, ...], count: int
) -> list[Row]:
    """One row where the statistics are of one value, else one for each."""
    iteration = 1 if run.asked.repeats == 1 else None
    if values and count == 1:
        return [run.row(result, metric, values[2], whose, 1)]
    return [
        run.row(result, metric, value, f"{whose}_{name}", iteration)
        for name, value in zip(_STATISTICS, values, strict=False)
    ]
