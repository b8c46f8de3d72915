# SPDX-License-Identifier: MIT
"""What a run's rows say: what each arm counted for an operation, and more of it with its interval."""

from collections.abc import Sequence

import pandas as pd

from lockscale.errors import BadInput
from lockscale.measure.all_processes import of_all_processes, operation_of
from lockscale.measure.blocked import differences, mean_p
from lockscale.measure.counting import OBSERVE, observed_counters
from lockscale.measure.plan import WARM_UP
from lockscale.measure.profiles import at_point
from lockscale.measure.stars import POINT, least_of, pair_gaps, starred
from lockscale.measure.stats import difference, spread
from lockscale.measure.where import origin_of
from lockscale.study.file import Study

COUNTED = ["counter", *POINT]
EXTRA = ["extra", "low", "high", "level_pct", "spread", "repeats", "above", "significant", "origin"]
REPEAT = ["arm", "cpus", "threads", "pair", "block", "iteration"]


def calls_per_operation(rows: pd.DataFrame, function: str) -> pd.DataFrame:
    """Profiled calls of `function` over operations, one row a repeat: REPEAT columns, `value`, `least`.

    Warm-up blocks are left out. least: what one call more makes of the value.
    """
    profiled = rows[(rows.tool == "ftrace_cost") & (rows.pair != WARM_UP)]
    wide = profiled.pivot_table(index=REPEAT, columns="metric", values="value", aggfunc="sum")
    column = f"{function}.calls"
    if column not in wide:
        raise BadInput(f"the run's profiles do not have {function}: add it to profiled_functions")
    return _ratio(wide[column], wide[f"{operation_of(rows)}s"])


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
    """Each counter of each arm at each point beside the upstream arm's: means, and more of it.

    Columns counter, unit, arm, cpus, threads, value, upstream, extra, low, high, level_pct, p, p_holm (over
    all rows of the table), aa_alike, significant, origin. low and high are those of each row alone. The
    proof's counter comes first.
    """
    has = set(rows[rows.tool == OBSERVE].metric)
    more = [one.name for one in observed_counters(study).values() if set(one.sources) <= has]
    names = dict.fromkeys([proof_of(rows, study), *more])
    repeats = pd.concat([counted(rows, study, name).assign(counter=name) for name in names])
    return _against_upstream(repeats, study, study.arm_names).assign(origin=origin_of(rows))


def _against_upstream(repeats: pd.DataFrame, study: Study, arms: Sequence[str]) -> pd.DataFrame:
    """One row a counter, point and arm of `arms` that was measured there, and which are starred."""
    base, found = study.patched.name, []
    for (counter, cpus, threads), point in repeats.groupby(COUNTED, sort=False):
        gaps = pair_gaps(point[point.pair == "ab"], study, differences)
        values = {arm: point.value[point.arm == arm].tolist() for arm in (base, *arms)}
        for arm in (name for name in arms if values[name] and name != base):
            d = difference(values[base], values[arm])
            found.append(
                {
                    "counter": counter,
                    "unit": unit_of(study, str(counter)),
                    "arm": arm,
                    "cpus": cpus,
                    "threads": threads,
                    "value": d.after,
                    "upstream": d.before,
                    "extra": d.value,
                    "low": d.low,
                    "high": d.high,
                    "level_pct": 100 * d.level,
                    # with no two blocks of both arms there is nothing to tell by
                    "p": float(mean_p(gaps[arm][None, :], least_of(point))[0]) if arm in gaps else 1.0,
                }
            )
    if not found:
        raise BadInput("no arm beside the upstream one was counted: there is nothing to compare")
    return starred(pd.DataFrame(found), repeats, study, COUNTED, differences)


def extra_calls(rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Per point: the proof's counter of both arms, the extra with an interval, the base's spread.

    Every repeat of the base counts, the A/A pair's too: it is the same build in the same steps.
    `level_pct` is what the interval covers, of each row alone; `above` says that it lies above the base's
    spread; `significant` holds for all rows together.
    """
    counter = proof_of(rows, study)
    calls = counted(rows, study, counter).assign(counter=counter)
    base, before = study.patched.name, study.unpatched.name
    table = _against_upstream(calls, study, [before]).rename(columns={"upstream": base, "value": before})
    values = {arm: calls[calls.arm == arm].groupby(POINT).value for arm in (base, before)}
    noise = values[base].agg(spread).rename("spread").reset_index()
    repeats = values[before].count().rename("repeats").reset_index()
    table = table.merge(noise, on=POINT).merge(repeats, on=POINT)
    table = table.assign(above=table.low > table.spread, origin=origin_of(rows))
    return table[[*POINT, base, before, *EXTRA]]


def aa_pair(rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """The A/A pair: calls an operation of the study's function, the same build twice, and how far apart."""
    calls = calls_per_operation(rows, study.called_function)
    aa = calls[calls.pair == "aa"].pivot_table(index=POINT, columns="iteration", values="value")
    table = aa.rename(columns={1: "first", 2: "second"}).reset_index()
    table["difference"] = table["second"] - table["first"]
    table["origin"] = origin_of(rows)
    return table


def rate_repeats(rows: pd.DataFrame, test: str = "") -> pd.DataFrame:
    """The A/B rows of unprofiled rates in ops/s, of all processes; BadInput where there is none."""
    return of_all_processes(rows[rows.pair == "ab"], test)


def rates(rows: pd.DataFrame, test: str = "") -> pd.DataFrame:
    """Unprofiled rates of all processes: mean, standard deviation and repeats of each point.

    `statistic` says whose time they come from, the same in every row.
    """
    grouped = rate_repeats(rows, test).groupby(["arm", *POINT, "statistic"])["value"]
    table = grouped.agg(value="mean", sd="std", repeats="count").reset_index()
    table["unit"] = "ops/s"
    table["origin"] = origin_of(rows)
    return table


def lock_events(rows: pd.DataFrame) -> pd.DataFrame:
    """lock_slowpath and lock_pending of each load, arm and point, mean over the A/B repeats."""
    wanted = rows[(rows.tool == "lock_events") & (rows.pair == "ab")]
    table = wanted.pivot_table(index=["test", "arm", *POINT], columns="metric", values="value")
    table = table.reset_index()
    table["origin"] = origin_of(rows)
    return table


def function_costs(rows: pd.DataFrame, arm: str, cpus: int, threads: int) -> pd.DataFrame:
    """Function cost of one arm at one point, summed over its A/B repeats: the columns of S1's table."""
    here = at_point(rows, "ftrace_cost", arm, cpus, threads)
    here = here[here.metric.str.contains(".", regex=False)]
    parts = here.metric.str.rsplit(".", n=1, expand=True)
    table = here.assign(function=parts[0], what=parts[1]).pivot_table(
        index="function", columns="what", values="value", aggfunc="sum"
    )
    table = table.rename(columns={"time": "total_us", "calls": "count"}).reset_index()
    table["avg_us"] = table.total_us / table["count"]
    return table.sort_values("total_us", ascending=False, ignore_index=True)
