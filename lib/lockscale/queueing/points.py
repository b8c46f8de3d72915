# SPDX-License-Identifier: MIT
"""A table as a fit sees it: one point per thread count, and what its repeats say about noise."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.columns import FloatArray, as_floats, check_threads
from lockscale.queueing.model import LARGEST

SMALLEST = 1e-12


@dataclass(frozen=True)
class Points:
    """Thread counts in rising order, each once; all arrays have shape (points,).

    Rates are kept as logarithms: noise is a share of the rate, so +10% and -10% weigh alike.
    repeat_ss and repeat_dof are the spread of the repeats about their own mean.
    """

    threads: FloatArray
    log_rate: FloatArray
    weight: FloatArray
    repeat_ss: float
    repeat_dof: int

    def __len__(self) -> int:
        return len(self.threads)

    @property
    def rate_per_s(self) -> FloatArray:
        return np.exp(self.log_rate)

    def keep(self, mask: npt.NDArray[np.bool_]) -> "Points":
        """Only the points of the mask; the noise known from repeats stays."""
        kept = self.threads[mask], self.log_rate[mask], self.weight[mask]
        return Points(*kept, self.repeat_ss, self.repeat_dof)

    def with_row(self, threads: float, log_rate: float, weight: float) -> "Points":
        """One more point, at the end."""
        return Points(
            np.append(self.threads, threads),
            np.append(self.log_rate, log_rate),
            np.append(self.weight, weight),
            self.repeat_ss,
            self.repeat_dof,
        )


def points(
    threads: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    n_min: int = 1,
) -> Points:
    """Columns to points; rows of one thread count are repeats and are averaged (geometric mean).

    threads, values, weights: shape (rows,), any order; weights is the number of runs behind each
    row (default 1). Raises BadInput for anything that is not a table of positive rates.
    """
    n, rates = as_floats("threads", threads), as_floats("values", values)
    runs = np.ones(len(rates)) if weights is None else as_floats("weights", weights)
    if not len(n) == len(rates) == len(runs):
        lengths = f"{len(n)}, {len(rates)} and {len(runs)}"
        raise BadInput(f"threads, values and weights have {lengths} rows: give equal columns.")
    n = check_threads(n)
    for what, column in (("values", rates), ("weights", runs)):
        if bad := np.flatnonzero((column < SMALLEST) | (column > LARGEST)).tolist():
            row = f"{what} row {bad[0] + 1} is {column[bad[0]]:g}"
            raise BadInput(
                f"{row}: give {SMALLEST:g} to {LARGEST:g}, so check the unit "
                "and leave out runs that did not work."
            )
    if not isinstance(n_min, int) or n_min < 1:
        raise BadInput(f"n_min = {n_min!r}: give the smallest thread count to use, a whole number.")
    used = n >= n_min
    if not used.any():
        raise BadInput(f"the table has no row with {n_min} threads or more: add rows or lower n_min.")
    return _grouped(n[used], np.log(rates[used]), runs[used])


def _grouped(n: FloatArray, log_rate: FloatArray, runs: FloatArray) -> Points:
    distinct, place = np.unique(n, return_inverse=True)
    weight = np.asarray(np.bincount(place, weights=runs), dtype=np.float64)
    mean = np.bincount(place, weights=runs * log_rate) / weight
    spread = float(np.sum(runs * (log_rate - mean[place]) ** 2))
    return Points(distinct, mean, weight, spread, len(n) - len(distinct))
