# SPDX-License-Identifier: MIT
"""Intervals for the few repeats that people publish."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats


class Interval(NamedTuple):
    """A value with the ends of its 95% interval, all in one unit."""

    value: float
    low: float
    high: float


def ratio_of_means(base: Sequence[float], changed: Sequence[float]) -> Interval:
    """mean(changed) / mean(base) with its 95% interval; each at least two positive repeats.

    Delta method on the logarithm: var = s_b^2 / (n_b m_b^2) + s_c^2 / (n_c m_c^2), Student's t with
    Welch and Satterthwaite's degrees of freedom (Biometrika 34, 1947). Repeats that are all equal
    give an interval of no width.
    """
    n = np.array([len(base), len(changed)])
    means = np.array([np.mean(base), np.mean(changed)])
    parts = np.array([np.var(base, ddof=1), np.var(changed, ddof=1)]) / n / means**2
    ratio, variance = float(means[1] / means[0]), float(parts.sum())
    if variance == 0.0:
        return Interval(ratio, ratio, ratio)
    freedom = variance**2 / float((parts**2 / (n - 1)).sum())
    factor = float(np.exp(stats.t.ppf(0.975, freedom) * np.sqrt(variance)))
    return Interval(ratio, ratio / factor, ratio * factor)


def next_repeat(repeats: Sequence[float]) -> Interval:
    """Mean of n >= 2 repeats with the 95% prediction interval of one more from the same normal.

    mean +- t(n - 1) s sqrt(1 + 1/n).
    """
    n, mean = len(repeats), float(np.mean(repeats))
    half = float(stats.t.ppf(0.975, n - 1) * np.std(repeats, ddof=1) * np.sqrt(1 + 1 / n))
    return Interval(mean, mean - half, mean + half)


def ratio_of_spreads(base: Sequence[float], changed: Sequence[float]) -> Interval:
    """sd(changed) / sd(base) of normal repeats with its 95% interval, from the F distribution.

    Each at least two repeats that are not all equal.
    """
    ratio = float(np.std(changed, ddof=1) / np.std(base, ddof=1))
    freedom = (len(changed) - 1, len(base) - 1)
    low, high = (ratio / float(np.sqrt(stats.f.ppf(p, *freedom))) for p in (0.975, 0.025))
    return Interval(ratio, low, high)


def welch_p(base: Sequence[float], changed: Sequence[float]) -> float:
    """Two-sided p of Welch's test that the means are equal; repeats not all equal in both."""
    return float(stats.ttest_ind(changed, base, equal_var=False).pvalue)
