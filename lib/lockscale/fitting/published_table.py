# SPDX-License-Identifier: MIT
"""Curves of the published tables: rates, sums over containers, and times of a fixed amount of work."""

from dataclasses import replace

import pandas as pd

from lockscale.errors import BadInput
from lockscale.fitting.column import Column
from lockscale.tables import list_tables, published
from lockscale.tables.datapackage import reference_arm

FEWEST = 3
"""Thread counts that a column needs: two numbers fit any two-parameter curve."""


def published_columns(table: str) -> list[Column]:
    """Every column with three or more thread counts. Raises BadInput where there is none.

    Where the table has a reference arm the others are also there given that one.

    What is published per container becomes the sum over containers. A time T of N threads that each do
    the same, unpublished, amount of work becomes N / T: rates in units of one thread's work.
    """
    frame = published(table)
    if not _has_rates(frame):
        raise BadInput(f"table {table} has no rates against threads: fit a table that has")
    found = _columns(table, frame)
    if not found:
        raise BadInput(f"no column of {table} has rates at {FEWEST} or more thread counts")
    return found


def all_published_columns() -> list[Column]:
    """The same of every published table that has any."""
    frames = {table: published(table) for table in list_tables()}
    return [one for table, frame in frames.items() if _has_rates(frame) for one in _columns(table, frame)]


def _has_rates(frame: pd.DataFrame) -> bool:
    return {"threads", "metric", "value", "statistic"} <= set(frame.columns)


def _columns(table: str, frame: pd.DataFrame) -> list[Column]:
    by_arm = {
        str(arm): _column(table, str(arm), str(metric), str(statistic), rows)
        for (arm, metric, statistic), rows in frame.groupby(["arm", "metric", "statistic"], sort=False)
        if rows.threads.nunique() >= FEWEST and (rows.unit.iloc[0].endswith("/s") or metric == "time")
    }
    reference = reference_arm(table)
    given = [
        replace(column, name=f"{arm} given {reference}", given=by_arm[reference])
        for arm, column in by_arm.items()
        if reference and arm != reference
    ]
    return [*by_arm.values(), *given]


def _column(table: str, arm: str, metric: str, statistic: str, rows: pd.DataFrame) -> Column:
    threads = rows.threads.to_numpy(float)
    values = rows.value.to_numpy(float)
    name, unit, made_of = f"{arm} {metric}", str(rows.unit.iloc[0]), ""
    if statistic == "mean_per_container":
        name, made_of = f"{name} aggregate", "containers x rate of one"
        values = values * threads
    elif metric == "time":
        name, unit, made_of = f"{arm} threads / time", "threads/s", "threads / time"
        values = threads / values
    return Column(table, name, threads, values, None, unit, "published", made_of)
