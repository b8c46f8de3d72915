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
"""

from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.workloads.mdtest_bounds import is_mean_of, is_summary_of, mean_fits_inverses
from lockscale.workloads.mdtest_processes import contradicts_ranks, processes_of
from lockscale.workloads.mdtest_run import Result, Run, like
from lockscale.workloads.rows import Row, unconfirmed

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
