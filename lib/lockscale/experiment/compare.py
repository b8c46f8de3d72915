# SPDX-License-Identifier: MIT
"""What a run's rows say: calls per create of each arm, and the extra ones with their interval."""

import pandas as pd

from lockscale.errors import BadInput
from lockscale.experiment.all_processes import of_all_processes
from lockscale.experiment.plan import WARM_UP
from lockscale.experiment.stats import difference, spread
from lockscale.experiment.where import origin_of
from lockscale.study import Study

ACCESS = "jbd2_journal_get_write_access"
POINT = ["cpus", "threads"]
REPEAT = ["arm", "cpus", "threads", "pair", "block", "iteration"]


def calls_per_create(rows: pd.DataFrame, function: str = ACCESS) -> pd.DataFrame:
    """Profiled calls of `function` over creates, one row a repeat: REPEAT columns and `value`.

    Warm-up blocks are left out.
    """
    profiled = rows[(rows.tool == "ftrace_cost") & (rows.pair != WARM_UP)]
    wide = profiled.pivot_table(index=REPEAT, columns="metric", values="value", aggfunc="sum")
    column = f"{function}.calls"
    if column not in wide:
        raise BadInput(f"the run's profiles do not have {function}: add it to profiled_functions")
    return (wide[column] / wide["creates"]).rename("value").reset_index()


def extra_calls(rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Per point: calls a create of both arms, the extra ones with an interval, the base's spread.

    Every repeat of the base counts, the A/A pair's too: it is the same build in the same steps.
    `level_pct` is what the interval covers; `above` says that it lies above the base's spread.
    """
    calls, origin = calls_per_create(rows), origin_of(rows)
    base, before = study.arm("upstream").name, study.arm("before").name
    found = []
    for (cpus, threads), point in calls.groupby(POINT):
        values = {arm: point.value[point.arm == arm].tolist() for arm in (base, before)}
        d, noise = difference(values[base], values[before]), spread(values[base])
        found.append(
            {
                "cpus": cpus,
                "threads": threads,
                base: d.before,
                before: d.after,
                "extra": d.value,
                "low": d.low,
                "high": d.high,
                "level_pct": 100 * d.level,
                "spread": noise,
                "repeats": len(values[before]),
                "above": d.low > noise,
                "significant": d.significant,
                "origin": origin,
            }
        )
    return pd.DataFrame(found)


def aa_pair(rows: pd.DataFrame) -> pd.DataFrame:
    """The A/A pair: calls a create of the same build twice, and how far they lie apart."""
    calls = calls_per_create(rows)
    aa = calls[calls.pair == "aa"].pivot_table(index=POINT, columns="iteration", values="value")
    table = aa.rename(columns={1: "first", 2: "second"}).reset_index()
    table["difference"] = table["second"] - table["first"]
    table["origin"] = origin_of(rows)
    return table


def rate_repeats(rows: pd.DataFrame, test: str = "create") -> pd.DataFrame:
    """The A/B rows of unprofiled rates in ops/s, of all processes; BadInput where there is none."""
    return of_all_processes(rows[rows.pair == "ab"], test)


def rates(rows: pd.DataFrame, test: str = "create") -> pd.DataFrame:
    """Unprofiled rates of all processes: mean, standard deviation and repeats of each point.

    `statistic` says whose time they come from, the same in every row.
    """
    grouped = rate_repeats(rows, test).groupby(["arm", *POINT, "statistic"])["value"]
    table = grouped.agg(value="mean", sd="std", repeats="count").reset_index()
    table["unit"] = "ops/s"
    table["origin"] = origin_of(rows)
    return table


def lock_events(rows: pd.DataFrame) -> pd.DataFrame:
    """lock_slowpath and lock_pending of each arm and point, mean over the A/B repeats."""
    wanted = rows[(rows.tool == "lock_events") & (rows.pair == "ab")]
    table = wanted.pivot_table(index=["arm", *POINT], columns="metric", values="value")
    table = table.reset_index()
    table["origin"] = origin_of(rows)
    return table


def function_costs(rows: pd.DataFrame, arm: str, cpus: int, threads: int) -> pd.DataFrame:
    """Function cost of one arm at one point, summed over its A/B repeats: the columns of S1's table."""
    here = rows[
        (rows.tool == "ftrace_cost")
        & (rows.pair == "ab")
        & (rows.arm == arm)
        & (rows.cpus == cpus)
        & (rows.threads == threads)
        & rows.metric.str.contains(".", regex=False)
    ]
    parts = here.metric.str.rsplit(".", n=1, expand=True)
    table = here.assign(function=parts[0], what=parts[1]).pivot_table(
        index="function", columns="what", values="value", aggfunc="sum"
    )
    table = table.rename(columns={"time": "total_us", "calls": "count"}).reset_index()
    table["avg_us"] = table.total_us / table["count"]
    return table.sort_values("total_us", ascending=False, ignore_index=True)
