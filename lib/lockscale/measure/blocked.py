# SPDX-License-Identifier: MIT
"""Arms compared within blocks: both ran one after the other there, so what drifts is in both.

The unit is the gap of two arms in one block: the log ratio, or the difference of counts, which may be 0.
Under no difference the two are exchangeable, so the gap is symmetric about 0, and Student's test of its
mean is exact for normal noise and conservative for symmetric noise with heavier tails (Efron, JASA 64,
1969). Intervals come from the studentised bootstrap
over blocks (Efron and Tibshirani, An Introduction to the Bootstrap, 12.5).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from lockscale.errors import BadInput

LEVEL = 0.95
RESAMPLES = 2000
LEAST_FOR_BOOTSTRAP = 5
"""Blocks: with fewer most resamples repeat one block, and the interval is Student's."""
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """Geometric mean change from one arm to another in percent, its interval of 95%, and Student's p."""

    change_pct: float
    low_pct: float
    high_pct: float
    p: float
    blocks: int
    interval: str


def log_ratios(before: Sequence[float], after: Sequence[float]) -> Array:
    """log(after / before), one a block. Raises BadInput for a value not above 0."""
    a, b = np.asarray(before, float), np.asarray(after, float)
    if not (np.all(a > 0) and np.all(b > 0)):
        raise BadInput("a value to compare is not above 0: no ratio of it can be taken")
    ratios: Array = np.log(b / a)
    return ratios


def differences(before: Sequence[float], after: Sequence[float]) -> Array:
    """after - before, one a block, in their unit."""
    gaps: Array = np.asarray(after, float) - np.asarray(before, float)
    return gaps


def change(before: Sequence[float], after: Sequence[float], seed: int) -> Change:
    """From `before` to `after`, both in the order of their blocks. Raises BadInput for fewer than two."""
    if len(before) < 2 or len(before) != len(after):
        raise BadInput("a comparison needs two blocks with both arms: raise the number of iterations")
    ratios = log_ratios(before, after)
    low, high, kind = _interval(ratios, seed)
    middle, low, high = (100 * float(np.expm1(x)) for x in (ratios.mean(), low, high))
    return Change(middle, low, high, float(mean_p(ratios[None, :])[0]), ratios.size, kind)


def mean_p(gaps: Array, least: float = 0.0) -> Array:
    """Two-sided p of mean 0 by Student, for each row of `gaps` (tests, blocks); shape (tests,).

    least: standard deviation that the noise has at least. Counts are whole, and may repeat to the last one:
    they are given one count, or three gaps of one count would be as sure as three of a thousand. Without
    it equal gaps in all blocks have no noise to be judged by: p is 1 where they are 0, else 0.
    """
    n = gaps.shape[1]
    mean, se = gaps.mean(axis=1), np.maximum(gaps.std(axis=1, ddof=1), least) / np.sqrt(n)
    flat = se <= 1e-12 * np.maximum(1, np.abs(mean))
    t = np.abs(mean) / np.where(flat, 1, se)
    found: Array = np.where(flat, np.where(np.abs(mean) <= 1e-12, 1.0, 0.0), 2 * stats.t.sf(t, n - 1))
    return found


def holm(p: Sequence[float]) -> list[float]:
    """p values that hold for all of them together (Holm, Scand. J. Stat. 6, 1979)."""
    values = np.asarray(p, float)
    order = np.argsort(values, kind="stable")
    factor = values.size - np.arange(values.size)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(values[order] * factor))
    return [float(x) for x in adjusted]


def _interval(ratios: Array, seed: int) -> tuple[float, float, str]:
    n, mean = ratios.size, ratios.mean()
    se = ratios.std(ddof=1) / np.sqrt(n)
    tail = (1 - LEVEL) / 2
    if n < LEAST_FOR_BOOTSTRAP:
        half = float(stats.t.isf(tail, n - 1) * se)
        return mean - half, mean + half, "Student"
    drawn = ratios[np.random.default_rng(seed).integers(0, n, (RESAMPLES, n))]
    spread = drawn.std(axis=1, ddof=1) / np.sqrt(n)
    told = spread > 1e-12
    if not told.any():
        return mean, mean, "bootstrap"
    t = (drawn.mean(axis=1)[told] - mean) / spread[told]
    high, low = np.quantile(t, [tail, 1 - tail])
    return float(mean - low * se), float(mean - high * se), "bootstrap"
