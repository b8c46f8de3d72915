# SPDX-License-Identifier: MIT
"""Differences between arms with their intervals, beside the spread that repeats have by themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from lockscale.errors import BadInput


@dataclass(frozen=True)
class Difference:
    """Mean of `after` minus mean of `before`, with a 95% interval; all in the unit of the data."""

    before: float
    after: float
    value: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        """The interval leaves out zero: what a changelog marks with stars."""
        return not self.low <= 0 <= self.high


def difference(before: Sequence[float], after: Sequence[float]) -> Difference:
    """Welch's interval for a difference of means, unequal variances (Welch 1947)."""
    a, b = np.asarray(before, float), np.asarray(after, float)
    if min(a.size, b.size) < 2:
        raise BadInput("a difference needs two repeats in each arm: raise the number of iterations")
    value = b.mean() - a.mean()
    half = _welch_half_width(a, b)
    return Difference(a.mean(), b.mean(), value, value - half, value + half)


def _welch_half_width(a: "np.ndarray", b: "np.ndarray") -> float:
    parts = np.array([a.var(ddof=1) / a.size, b.var(ddof=1) / b.size])
    if parts.sum() == 0:
        return 0.0
    freedom = parts.sum() ** 2 / (parts**2 / np.array([a.size - 1, b.size - 1])).sum()
    return float(stats.t.ppf(0.975, freedom) * np.sqrt(parts.sum()))


def spread(values: Sequence[float]) -> float:
    """Largest minus smallest of repeats of one and the same thing."""
    return float(np.ptp(np.asarray(values, float)))
