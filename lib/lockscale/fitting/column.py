# SPDX-License-Identifier: MIT
"""One curve of a table, rate against thread count, and the curves of the published tables."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from lockscale.errors import BadInput
from lockscale.queueing.model import FloatArray
from lockscale.queueing.points import Points, points
from lockscale.tables import list_tables, published
from lockscale.tables.datapackage import reference_arm


@dataclass(frozen=True)
class Column:
    """threads, rates_per_s: shape (rows,); rows of one thread count are repeats.

    runs: number of runs behind each row, or None where each row is one. origin: `published`,
    `simulated`, `qemu`, `hardware`, or `not stated`. made_of says how rates came from printed numbers
    where they are not those numbers. given: the same work without the change, at the same thread counts;
    the models are then those of one column given another.
    """

    table: str
    name: str
    threads: FloatArray
    rates_per_s: FloatArray
    runs: FloatArray | None
    unit: str
    origin: str
    made_of: str = ""
    given: "Column | None" = None

    def __str__(self) -> str:
        how = f"; {self.made_of}" if self.made_of else ""
        origin = "origin not stated" if self.origin == "not stated" else self.origin
        return f"{self.table}, {self.name} ({self.unit or 'operations/s assumed'}; {origin}{how})"

    def points(self) -> Points:
        """The curve as a queueing model is fitted to it."""
        return points(self.threads, self.rates_per_s, weights=self.runs)

    def between(self, n_min: int, n_max: int | None) -> "Column":
        """Only thread counts from n_min to n_max. Raises BadInput where none is left."""
        last = float("inf") if n_max is None else n_max
        used = (self.threads >= n_min) & (self.threads <= last)
        if used.all():
            return self
        if not used.any():
            span = f"from {n_min}" if n_max is None else f"from {n_min} to {n_max}"
            raise BadInput(f"{self.table}, {self.name} has no thread counts {span}: choose another range")
        runs = None if self.runs is None else self.runs[used]
        given = self.given and self.given.between(n_min, n_max)
        return replace(
            self, threads=self.threads[used], rates_per_s=self.rates_per_s[used], runs=runs, given=given
        )


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
        raise BadInput(f"table {table} has no rates against threads: choose a table that has")
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


MANY_THREADS = 4096
"""More threads than the simulator has; nobody's smallest count."""


def looks_swapped(column: Column) -> str:
    """A sentence, or none: values are small rising whole numbers, threads larger and not of a scale.

    A scale of thread counts rises and begins below MANY_THREADS. This is odd and not impossible.
    """
    n, x = column.threads, column.rates_per_s
    if len(n) < 3 or np.any(n <= x) or np.any(x != np.round(x)) or np.any(np.diff(x) <= 0):
        return ""
    if x[-1] > MANY_THREADS or (np.all(np.diff(n) > 0) and n[0] <= MANY_THREADS):
        return ""
    return (
        f"{column.table}, {column.name}: values {x[0]:g} to {x[-1]:g} look like thread counts and threads "
        f"{n[0]:g} to {n[-1]:g} like rates, so check that the columns are not swapped"
    )


def warn_if_swapped(column: Column) -> None:
    """The sentence as a warning, for a notebook."""
    if said := looks_swapped(column):
        warnings.warn(said, stacklevel=3)
