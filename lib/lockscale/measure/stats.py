# SPDX-License-Identifier: MIT
"""Differences between arms with their intervals, beside the spread of repeats of one arm."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput

LEVEL = 0.95


@dataclass(frozen=True)
class Difference:
    """Mean of `after` minus mean of `before` with an interval of `level`; all in the data's unit."""

    before: float
    after: float
    value: float
    low: float
    high: float
    level: float

    @property
    def significant(self) -> bool:
        """The interval leaves out zero at 95% or more, this difference taken alone; of tables: stars.py."""
        return self.level >= LEVEL and not self.low <= 0 <= self.high

    @property
    def turned(self) -> "Difference":
        """The same seen from the other side: before minus after."""
        return Difference(self.after, self.before, -self.value, -self.high, -self.low, self.level)


def difference(before: Sequence[float], after: Sequence[float]) -> Difference:
    """A difference of arms with the exact distribution-free interval of a shift.

    Counts of lost claims are skewed (a storm is there or it is not) while the base repeats to the
    last call, so no interval that assumes normal errors fits. This one inverts the Mann-Whitney
    test: of the sorted differences after - before it takes the c-th from either end, where c is the
    largest with coverage 1 - 2 P(U < c) >= 95% (Hollander and Wolfe, Nonparametric Statistical
    Methods, 4.3). With too few repeats for 95% it takes the extremes, and `level` says what they
    cover: 2 against 4 repeats 86.7%, 3 against 5 96.4%.
    """
    a, b = np.asarray(before, float), np.asarray(after, float)
    if min(a.size, b.size) < 2:
        raise BadInput("a difference needs two repeats in each arm: raise the number of iterations")
    below = _below(a.size, b.size)
    c = max(1, int(np.count_nonzero(1 - 2 * below >= LEVEL)))
    sorted_differences = np.sort((b[None, :] - a[:, None]).ravel())
    low, high = sorted_differences[c - 1], sorted_differences[-c]
    value = b.mean() - a.mean()
    return Difference(a.mean(), b.mean(), value, float(low), float(high), float(1 - 2 * below[c - 1]))


def _below(m: int, n: int) -> npt.NDArray[np.float64]:
    """P(U < c) for c = 1 .. m n under no difference, shape (m n,).

    The counts of U are the coefficients of the Gaussian binomial (m + n choose n), built up here one
    factor (1 - x^(m + k)) / (1 - x^k) at a time.
    """
    counts = np.zeros(m * n + 1)
    counts[0] = 1
    for k in range(1, n + 1):
        counts[m + k :] -= counts[: max(0, counts.size - m - k)].copy()
        for u in range(k, counts.size):
            counts[u] += counts[u - k]
    shares: npt.NDArray[np.float64] = np.cumsum(counts[:-1]) / counts.sum()
    return shares


def spread(values: Sequence[float]) -> float:
    """Largest minus smallest of repeats of one and the same thing."""
    return float(np.ptp(np.asarray(values, float)))
