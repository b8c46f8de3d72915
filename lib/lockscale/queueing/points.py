# SPDX-License-Identifier: MIT
"""A table as a fit sees it: one point per thread count, and what its repeats say about noise.

A fit takes for granted that repeats scatter alike at every thread count. Whether they do: one way
analysis of variance of the distances from each thread count's median: M. B. Brown and A. B. Forsythe,
"Robust Tests for the Equality of Variances", J. American Statistical Association 69, 1974.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc

from lockscale.errors import BadInput
from lockscale.queueing.model import LARGEST, FloatArray, as_floats, check_threads

FEWEST = 3
"""Repeats that a thread count needs to say how it scatters."""
LEVEL = 0.01  # of a table with even noise, one in a hundred is warned of


def uneven_spread(threads: FloatArray, place: npt.NDArray[np.intp], deviations: FloatArray) -> str:
    """A sentence where the test finds it, or nothing.

    threads: shape (n,). place: of each row, in threads. deviations of ln(rate) from the mean there, in
    standard deviations of one run up to a factor; both (rows,).
    """
    rows = np.bincount(place, minlength=len(threads))
    kept = rows[place] >= FEWEST
    used = np.flatnonzero(rows >= FEWEST)
    if len(used) < 2:
        return ""
    order = np.lexsort((deviations[kept], place[kept]))
    value, group = deviations[kept][order], np.searchsorted(used, place[kept][order])
    count = rows[used]
    first = np.cumsum(count) - count
    median = (value[first + (count - 1) // 2] + value[first + count // 2]) / 2
    p = _p_equal_means(np.abs(value - median[group]), group, count)
    if p >= LEVEL:
        return ""
    spread = np.sqrt(np.bincount(group, value**2) / (count - 1))
    most, least = spread.argmax(), spread.argmin()
    return (
        f"Repeats scatter unevenly (Brown-Forsythe p = {p:.2g}): {100 * spread[most]:.2g}% at N = "
        f"{threads[used[most]]:g}, {100 * spread[least]:.2g}% at N = {threads[used[least]]:g}; every "
        "interval is for their mean, too narrow where they scatter most and too wide where least."
    )


def _p_equal_means(values: FloatArray, group: npt.NDArray[np.intp], count: npt.NDArray[np.intp]) -> float:
    means = np.bincount(group, values) / count
    between = float(np.sum(count * (means - values.mean()) ** 2)) / (len(count) - 1)
    freedom = len(values) - len(count)
    within = float(np.sum((values - means[group]) ** 2)) / freedom
    return float(fdtrc(len(count) - 1, freedom, between / within)) if within > 0 else 1.0


SMALLEST = 1e-12
CHECK_UNIT = "check the unit and leave out failed runs"


@dataclass(frozen=True)
class Points:
    """Thread counts in rising order, each once in a column; all arrays have shape (points,).

    Rates are kept as logarithms: noise is a share of the rate, so +10% and -10% weigh alike.
    repeat_ss and repeat_dof are the spread of the repeats about their own mean. column is the place
    in `names` of the column that a point is from. warnings: sentences on what a fit takes for granted
    and is not so.
    """

    threads: FloatArray
    log_rate: FloatArray
    weight: FloatArray
    repeat_ss: float
    repeat_dof: int
    column: npt.NDArray[np.intp]
    names: tuple[str, ...] = ("",)
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.threads)

    @property
    def rate_per_s(self) -> FloatArray:
        return np.exp(self.log_rate)

    def keep(self, mask: npt.NDArray[np.bool_]) -> "Points":
        """Only the points of the mask; the noise known from repeats stays."""
        return replace(
            self,
            threads=self.threads[mask],
            log_rate=self.log_rate[mask],
            weight=self.weight[mask],
            column=self.column[mask],
        )

    def with_row(self, threads: float, log_rate: float, weight: float, column: int = 0) -> "Points":
        """One more point, at the end."""
        return replace(
            self,
            threads=np.append(self.threads, threads),
            log_rate=np.append(self.log_rate, log_rate),
            weight=np.append(self.weight, weight),
            column=np.append(self.column, column),
        )


def points(threads: npt.ArrayLike, values: npt.ArrayLike, *, weights: npt.ArrayLike | None = None) -> Points:
    """Columns to points; rows of one thread count are repeats and are averaged (geometric mean).

    threads, values (rates per second), weights: shape (rows,), any order; weights is the number of runs
    behind each row (default 1). Raises BadInput for anything that is not a table of positive values.
    """
    n, rates = as_floats("threads", threads), as_floats("values", values)
    runs = np.ones(len(rates)) if weights is None else as_floats("weights", weights)
    if not len(n) == len(rates) == len(runs):
        lengths = f"{len(n)}, {len(rates)} and {len(runs)}"
        raise BadInput(f"threads, values and weights have {lengths} rows: give equal columns.")
    if not len(n):
        raise BadInput("the table has no rows: add one for each thread count.")
    check_threads(n)
    for what, given in (("values", rates), ("weights", runs)):
        if bad := np.flatnonzero((given < SMALLEST) | (given > LARGEST)).tolist():
            raise BadInput(
                f"{what} row {bad[0] + 1} is {given[bad[0]]:g}: give {SMALLEST:g} to {LARGEST:g}, so "
                f"{'leave out rows of no run' if what == 'weights' else CHECK_UNIT}."
            )
    distinct, place = np.unique(n, return_inverse=True)
    weight = np.asarray(np.bincount(place, weights=runs), dtype=np.float64)
    log_rate = np.log(rates)
    mean = np.bincount(place, weights=runs * log_rate) / weight
    deviations = np.sqrt(runs) * (log_rate - mean[place])
    repeat_ss, repeat_dof = float(deviations @ deviations), len(n) - len(distinct)
    column = np.zeros(len(distinct), dtype=np.intp)
    said = (uneven_spread(distinct, place, deviations), _copies(n, rates))
    warnings = tuple(one for one in said if one)
    return Points(distinct, mean, weight, repeat_ss, repeat_dof, column, warnings=warnings)


def _copies(threads: FloatArray, rates: FloatArray) -> str:
    """That most repeats are another's very number, though repeats differ.

    Of a machine that always gives the same number nothing is said.
    """
    rows = len(threads)
    several, counts = np.unique(np.stack([threads, rates]), axis=1, return_counts=True)
    places, copied = len(np.unique(several[0])), rows - len(counts)
    if len(counts) == places or copied <= (rows - places) / 2:
        return ""
    return (
        f"{copied} of {rows} rows have the threads and the rate of another row: rows that were copied are no "
        "repeats, and make the noise and every interval too small."
    )


def stacked(columns: Mapping[str, Points]) -> Points:
    """Several columns as one table; the noise of all of them is taken to be the same."""
    parts = list(columns.values())
    return Points(
        np.concatenate([part.threads for part in parts]),
        np.concatenate([part.log_rate for part in parts]),
        np.concatenate([part.weight for part in parts]),
        sum(part.repeat_ss for part in parts),
        sum(part.repeat_dof for part in parts),
        np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
        tuple(columns),
        tuple(f"{name}: {said}" for name, part in columns.items() for said in part.warnings),
    )
