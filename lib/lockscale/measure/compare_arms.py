# SPDX-License-Identifier: MIT
"""What a run's rows say: its arms beside one another by rate, latency and counter, and the A/A pair."""

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd

from lockscale.errors import BadInput
from lockscale.measure.count_calls import OBSERVE, observed_counters
from lockscale.measure.plan import WARM_UP
from lockscale.measure.profiling import UNDER_PROFILER, at_point
from lockscale.measure.rows import of_all_processes, origin_of
from lockscale.measure.significance import (
    POINT,
    aa_pairs,
    change,
    difference,
    differences,
    least_of,
    log_ratios,
    mean_p,
    pair_gaps,
    starred,
    unpatched_of,
)
from lockscale.study.file import Study
from lockscale.tools import ftrace_cost
from lockscale.tools.lock_events import TOOL as LOCK_EVENTS

COUNTED = ["counter", *POINT]
EXTRA = ["extra", "low", "high", "level_pct", "spread", "repeats", "above", "significant", "origin"]
AGAINST = [
    "counter", "unit", "arm", *POINT, "unpatched", "value", "change", "low", "high", "level_pct", "p",
]  # fmt: skip
REPEAT = ["arm", "cpus", "threads", "pair", "block", "iteration"]


def calls_per_operation(rows: pd.DataFrame, function: str) -> pd.DataFrame:
    """Profiled calls of `function` over operations, one row a repeat: REPEAT columns, `value`, `least`.

    Warm-up blocks are left out. least: what one call more makes of the value. A function that was never
    called in a load is not in that load's profile, but it was asked for: 0.
    """
    profiled = rows[(rows.tool == ftrace_cost.TOOL) & (rows.pair != WARM_UP)]
    wide = profiled.pivot_table(index=REPEAT, columns="metric", values="value", aggfunc="sum")
    column = f"{function}.calls"
    if column not in wide:
        raise BadInput(f"the run's profiles do not have {function}: add it to profiled_functions")
    (operations,) = (name for name in map(str, wide) if "." not in name and name != UNDER_PROFILER)
    return _ratio(wide[column].fillna(0.0), wide[operations])


def counted(rows: pd.DataFrame, study: Study, counter: str = "") -> pd.DataFrame:
    """One of the study's counters, by default proof_of(): REPEAT columns, `value`, `least`.

    From the observe kernels' rows where the study has it among its counters, else a function's calls.
    Raises BadInput where it was not counted.
    """
    counter = counter or proof_of(rows, study)
    known = observed_counters(study).get(counter)
    if known is None:
        return calls_per_operation(rows, counter)
    sums = rows[rows.tool == OBSERVE].pivot_table(
        index=REPEAT, columns="metric", values="value", aggfunc="sum"
    )
    if not set(known.sources) <= set(sums.columns):
        raise BadInput(f"the run did not count {counter!r}: run notebook 05 of it in QEMU")
    return _ratio(sums[known.count].sum(axis=1), sums[known.per].sum(axis=1))


def _ratio(counts: pd.Series, per: pd.Series) -> pd.DataFrame:
    """Where there was nothing to count by, there is no ratio."""
    counts, per = counts[per > 0], per[per > 0]
    return pd.DataFrame({"value": counts / per, "least": 1 / per}).reset_index()


def proof_of(rows: pd.DataFrame, study: Study) -> str:
    """The counter that carries the proof: the study's, or its function's calls without observe kernels."""
    has = set(rows[rows.tool == OBSERVE].metric)
    known = observed_counters(study).get(study.counter)
    return study.counter if known is None or set(known.sources) <= has else study.called_function


def unit_of(study: Study, counter: str) -> str:
    """What counted() gives is in."""
    known = observed_counters(study).get(counter)
    return known.unit if known else f"calls per {study.operation}"


def counted_arms(rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Each counter of each arm at each point beside the unpatched arm's: means, and how it changed.

    Columns counter, unit, arm, cpus, threads, unpatched, value, change, low, high, level_pct, p, p_holm (over
    all rows of the table), aa_alike, significant, origin. low and high are those of each row alone. The
    proof's counter comes first.
    """
    has = set(rows[rows.tool == OBSERVE].metric)
    more = [one.name for one in observed_counters(study).values() if set(one.sources) <= has]
    names = dict.fromkeys([proof_of(rows, study), *more])
    repeats = pd.concat([counted(rows, study, name).assign(counter=name) for name in names])
    return _against_unpatched(repeats, study, study.arm_names).assign(origin=origin_of(rows))


def _against_unpatched(repeats: pd.DataFrame, study: Study, arms: Sequence[str]) -> pd.DataFrame:
    """One row a counter, point and arm of `arms`, and which are starred.

    An arm has none where it, or the unpatched one, has fewer than two repeats with operations to count by.
    """
    unpatched, found = study.unpatched.name, []
    for (counter, cpus, threads), point in repeats.groupby(COUNTED, sort=False):
        gaps = pair_gaps(point[point.pair == "ab"], study, differences)
        values = {arm: point.value[point.arm == arm].tolist() for arm in (unpatched, *arms)}
        enough = {arm for arm, repeated in values.items() if len(repeated) > 1}
        for arm in (name for name in arms if {name, unpatched} <= enough and name != unpatched):
            # with no two blocks of both arms there is nothing to tell by
            least = least_of(point[point.arm.isin([unpatched, arm])])
            p = float(mean_p(gaps[arm][None, :], least)[0]) if arm in gaps else 1.0
            d = difference(values[unpatched], values[arm])
            place = (counter, unit_of(study, str(counter)), arm, cpus, threads)
            found.append((*place, d.before, d.after, d.value, d.low, d.high, 100 * d.level, p))
    if not found:
        raise BadInput(
            f"no point has two repeats of {unpatched} and two of another arm with operations to count by: "
            "raise the number of iterations"
        )
    return starred(pd.DataFrame(found, columns=AGAINST), repeats, study, COUNTED, differences)


def extra_calls(rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Per point: the proof's counter of both arms, and what the unpatched one has extra, with an interval.

    The extra is the change turned round, since it is what the patch takes away. Every repeat of the patched
    arm counts, the A/A pair's too: it is the same build in the same steps. `level_pct` is what the interval
    covers, of each row alone; `above` says that it lies above the patched arm's spread (its largest
    less its smallest); `significant` holds for all rows together, those of the other arms as well, as in
    counted_arms().
    """
    counter = proof_of(rows, study)
    calls = counted(rows, study, counter).assign(counter=counter)
    patched, unpatched = study.patched.name, study.unpatched.name
    table = _against_unpatched(calls, study, study.arm_names)
    table = table[table.arm == patched].reset_index(drop=True)
    if table.empty:
        raise BadInput(
            f"{patched} has no two repeats with operations that {counter!r} is counted by: raise the number "
            "of iterations, or choose another counter for the study"
        )
    table = table.rename(columns={"unpatched": unpatched, "value": patched})
    table = table.assign(extra=-table.change, low=-table.high, high=-table.low)
    values = {arm: calls[calls.arm == arm].groupby(POINT).value for arm in (patched, unpatched)}
    noise = (values[patched].max() - values[patched].min()).rename("spread").reset_index()
    repeats = values[unpatched].count().rename("repeats").reset_index()
    table = table.merge(noise, on=POINT).merge(repeats, on=POINT)
    table = table.assign(above=table.low > table.spread, origin=origin_of(rows))
    return table[[*POINT, patched, unpatched, *EXTRA]]


NO_MORE = 3
"""Digits of the extra calls per operation: less is no difference."""


def most_extra(extra: pd.DataFrame) -> tuple[int, int]:
    """CPUs and processes of the point in extra_calls() with the most of it; of equal ones the largest."""
    last = extra.sort_values(["cpus", "threads"], ascending=False)
    most = last.iloc[last.extra.round(NO_MORE).argmax()]
    return int(most.cpus), int(most.threads)


def aa_pair(rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """The A/A pair: calls an operation of the study's function, the same build twice, and how far apart."""
    calls = calls_per_operation(rows, study.called_function)
    aa = calls[calls.pair == "aa"].pivot_table(index=POINT, columns="iteration", values="value")
    table = aa.rename(columns={1: "first", 2: "second"}).reset_index()
    return table.assign(difference=table["second"] - table["first"], origin=origin_of(rows))


def rate_repeats(rows: pd.DataFrame, test: str = "") -> pd.DataFrame:
    """The A/B rows of unprofiled rates in ops/s, of all processes; BadInput where there is none."""
    return of_all_processes(rows[rows.pair == "ab"], test)


def rates(rows: pd.DataFrame, test: str = "") -> pd.DataFrame:
    """Unprofiled rates of all processes: mean, standard deviation and repeats of each point.

    `statistic` says whose time they come from, the same in every row.
    """
    grouped = rate_repeats(rows, test).groupby(["arm", *POINT, "statistic"])["value"]
    table = grouped.agg(value="mean", sd="std", repeats="count").reset_index()
    return table.assign(unit="ops/s", origin=origin_of(rows))


def lock_events(rows: pd.DataFrame) -> pd.DataFrame:
    """lock_slowpath and lock_pending of each load, arm and point, mean over the A/B repeats."""
    wanted = rows[(rows.tool == LOCK_EVENTS) & (rows.pair == "ab")]
    table = wanted.pivot_table(index=["test", "arm", *POINT], columns="metric", values="value")
    return table.reset_index().assign(origin=origin_of(rows))


def function_costs(rows: pd.DataFrame, arm: str, cpus: int, threads: int) -> pd.DataFrame:
    """Function cost of one arm at one point, summed over its A/B repeats: the columns of S1's table."""
    here = at_point(rows, ftrace_cost.TOOL, arm, cpus, threads)
    here = here[here.metric.str.contains(".", regex=False)]
    parts = here.metric.str.rsplit(".", n=1, expand=True)
    table = here.assign(function=parts[0], what=parts[1]).pivot_table(
        index="function", columns="what", values="value", aggfunc="sum"
    )
    table = table.rename(columns={"time": "total_us", "calls": "count"}).reset_index()
    table["avg_us"] = table.total_us / table["count"]
    return table.sort_values("total_us", ascending=False, ignore_index=True)


def profiled_operations(rows: pd.DataFrame, arm: str, cpus: int, threads: int) -> tuple[int, int] | None:
    """Boots of one arm, and operations of all of them, that function_costs() sums up; None without any."""
    here = at_point(rows, ftrace_cost.TOOL, arm, cpus, threads)
    operations = here[~here.metric.str.contains(".", regex=False) & (here.metric != UNDER_PROFILER)]
    if operations.empty:
        return None
    return len(operations[["pair", "block", "iteration"]].drop_duplicates()), int(operations.value.sum())


MEASURED = ("aa", "ab")
"""The pairs of steps that are not warm-up."""
KEYS = [*POINT, "statistic"]


def compared_rates(rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Each arm against the unpatched one at each point, by blocks.

    Columns arm, cpus, threads, statistic, unpatched, value (means, ops/s), change_pct, low_pct, high_pct,
    interval, p, blocks, p_holm (over all rows of the table), aa_alike, significant, origin. A row is
    significant below 5% in p_holm, unless the A/A pair differs at its point. Nothing is left out of it
    but warm-up blocks. Raises BadInput where there are no rates, or fewer than two blocks.
    """
    return _compared(of_all_processes(rows[rows.pair.isin(MEASURED)], study.operation), study)


def compared_latencies(rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """The same of each percentile of the latency, in ns; empty where no load timed its operations."""
    here = rows[(rows.test == study.operation) & rows.pair.isin(MEASURED)]
    wanted = here[(here.metric == "latency") & ~here.profiled]
    return pd.DataFrame() if wanted.empty else _compared(wanted, study)


def aa_rates(rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """The A/A pair of the rates: the same build twice, against the noise of the blocks at the same point.

    Columns cpus, threads, first, second, difference_pct, p, p_holm, alike. p is None, and alike true,
    where there are not two blocks of two arms to know the noise from.
    """
    rates = of_all_processes(rows[rows.pair.isin(MEASURED)], study.operation)
    table = aa_pairs(rates, study, POINT, log_ratios)
    table["gap"] = 100 * np.expm1(table.gap.astype(float))
    return table.rename(columns={"gap": "difference_pct"})


def boots_apart_pct(rows: pd.DataFrame, study: Study, arms: Sequence[str]) -> float | None:
    """The highest rate of one kernel's boots over its lowest, where these arms' differ most, in %.

    Of the A/A pair's boots too; None where each kernel was booted once.
    """
    rates = of_all_processes(rows[rows.pair.isin(MEASURED)], study.operation)
    boots = rates[rates.arm.isin(arms)].groupby(["arm", *KEYS]).value
    apart = (boots.max() / boots.min() - 1)[boots.count() > 1]
    return None if apart.empty else float(100 * apart.max())


def _compared(values: pd.DataFrame, study: Study) -> pd.DataFrame:
    """One row an arm and KEYS: both means, the change with its interval, p, and whether it is starred."""
    blocks = values[values.pair == "ab"]
    unpatched, found = unpatched_of(sorted(blocks.arm.unique()), study), []
    for key, here in blocks.groupby(KEYS, sort=True):
        wide = here.pivot_table(index="block", columns="arm", values="value")
        for arm in [name for name in wide.columns if name != unpatched]:
            both = wide[[unpatched, arm]].dropna()
            changed = change(both[unpatched].tolist(), both[arm].tolist(), study.parameters.seed)
            names = dict(zip(KEYS, key, strict=True))
            means = {"unpatched": both[unpatched].mean(), "value": both[arm].mean()}
            found.append({"arm": arm, **names, **means, **asdict(changed)})
    if not found:
        raise BadInput("only one arm was measured: there is nothing to compare")
    return starred(pd.DataFrame(found), values, study, KEYS, log_ratios).assign(origin=origin_of(blocks))
