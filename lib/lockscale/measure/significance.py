# SPDX-License-Identifier: MIT
"""Statistics of comparisons, patched against unpatched: which test gives what.

Difference of counts (`difference`): its interval is rank-based, the Mann-Whitney test inverted, for two arms.
Change of rates or latencies (`change`): log ratios of blocks, their interval by the studentised bootstrap
(Efron and Tibshirani, An Introduction to the Bootstrap, 12.5), in few blocks by Student.
Star of a row of any table (`starred`): Student's t test of the gaps of two arms, one a block (`mean_p`),
with Holm's correction over all rows of the table (`holm`); no star where the A/A pair, the same build twice,
differs at its point (`aa_pairs`).

Both arms of a block ran one after the other, so what drifts is in both. Their gap is the log ratio, or the
difference of counts, which may be 0. Under no difference the two are exchangeable, so the gap is symmetric
about 0, and Student's test of its mean is exact for normal noise and conservative for symmetric noise with
heavier tails (Efron, JASA 64, 1969).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtr, stdtrit

from lockscale.errors import BadInput
from lockscale.study.file import Study

LEVEL = 0.95
Array = npt.NDArray[np.float64]


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
        """The interval leaves out zero at 95% or more, this difference taken alone; of tables: starred()."""
        return self.level >= LEVEL and not self.low <= 0 <= self.high

    @property
    def turned(self) -> "Difference":
        """The same seen from the other side: before minus after."""
        return Difference(self.after, self.before, -self.value, -self.high, -self.low, self.level)


def difference(before: Sequence[float], after: Sequence[float]) -> Difference:
    """A difference of arms with the exact distribution-free interval of a shift.

    Counts of lost claims are skewed (a storm is there or it is not) while the patched arm repeats to the
    last call, so no interval that assumes normal errors fits. This one inverts the Mann-Whitney
    test: of the sorted differences after - before it takes the c-th from either end, where c is the
    largest with coverage 1 - 2 P(U < c) >= 95% (Hollander and Wolfe, Nonparametric Statistical
    Methods, 4.3). With too few repeats for 95% it takes the extremes, and `level` says what they
    cover: 2 against 4 repeats 86.7%, 3 against 5 96.4%.
    """
    a, b = np.asarray(before, float), np.asarray(after, float)
    if min(a.size, b.size) < 2:
        raise BadInput("a difference needs two repeats in each arm: raise the number of iterations")
    ends = innermost(np.sort((b[None, :] - a[:, None]).ravel()), _below(a.size, b.size))
    return Difference(a.mean(), b.mean(), b.mean() - a.mean(), *ends)


def innermost(candidates: Array, below: Array) -> tuple[float, float, float]:
    """The c-th of the sorted candidates from either end and what they cover, for the largest c with LEVEL.

    below: P(statistic < c) for c = 1, 2, ... under no difference. Where no c has LEVEL, the extremes.
    """
    c = max(1, int(np.count_nonzero(1 - 2 * below >= LEVEL)))
    return float(candidates[c - 1]), float(candidates[-c]), float(1 - 2 * below[c - 1])


def _below(m: int, n: int) -> Array:
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
    shares: Array = np.cumsum(counts[:-1]) / counts.sum()
    return shares


RESAMPLES = 2000
LEAST_FOR_BOOTSTRAP = 5
"""Blocks: with fewer most resamples repeat one block, and the interval is Student's."""


@dataclass(frozen=True)
class BlockedChange:
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
        raise BadInput("a value to compare is not above 0, so its ratio is undefined")
    ratios: Array = np.log(b / a)
    return ratios


def differences(before: Sequence[float], after: Sequence[float]) -> Array:
    """after - before, one a block, in their unit."""
    gaps: Array = np.asarray(after, float) - np.asarray(before, float)
    return gaps


def change(before: Sequence[float], after: Sequence[float], seed: int) -> BlockedChange:
    """From `before` to `after`, both in the order of their blocks. Raises BadInput for fewer than two."""
    if len(before) < 2 or len(before) != len(after):
        raise BadInput("a comparison needs two blocks with both arms: raise the number of iterations")
    ratios = log_ratios(before, after)
    low, high, kind = _interval(ratios, seed)
    middle, low, high = (100 * float(np.expm1(x)) for x in (ratios.mean(), low, high))
    return BlockedChange(middle, low, high, float(mean_p(ratios[None, :])[0]), ratios.size, kind)


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
    found: Array = np.where(flat, np.where(np.abs(mean) <= 1e-12, 1.0, 0.0), 2 * stdtr(n - 1, -t))
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
        half = float(-stdtrit(n - 1, tail) * se)
        return mean - half, mean + half, "Student"
    drawn = ratios[np.random.default_rng(seed).integers(0, n, (RESAMPLES, n))]
    spread = drawn.std(axis=1, ddof=1) / np.sqrt(n)
    told = spread > 1e-12
    if not told.any():
        return mean, mean, "bootstrap"
    t = (drawn.mean(axis=1)[told] - mean) / spread[told]
    high, low = np.quantile(t, [tail, 1 - tail])
    return float(mean - low * se), float(mean - high * se), "bootstrap"


ALPHA = 0.05
POINT = ["cpus", "threads"]
AA = ["first", "second", "gap", "p", "p_holm", "alike"]
Gap = Callable[[Sequence[float], Sequence[float]], Array]
"""From the unpatched to another arm, one a block: log_ratios or differences."""


def starred(
    table: pd.DataFrame, values: pd.DataFrame, study: Study, keys: list[str], gap: Gap
) -> pd.DataFrame:
    """`table` (one test a row: `keys` and p) with p_holm, aa_alike and significant.

    significant: below ALPHA over all rows together, unless the A/A pair of `values` differs at `keys`.
    """
    alike = aa_pairs(values, study, keys, gap).set_index(keys).alike
    rows = pd.MultiIndex.from_frame(table[keys])
    known = alike.to_dict()
    told = table.assign(p_holm=holm(table.p.tolist()), aa_alike=[known.get(tuple(row), True) for row in rows])
    return told.assign(significant=(told.p_holm < ALPHA) & told.aa_alike)


def aa_pairs(values: pd.DataFrame, study: Study, keys: list[str], gap: Gap) -> pd.DataFrame:
    """The A/A pair: the same build twice, against the noise of the blocks at the same `keys`.

    values: arm, pair, block, iteration, value, `keys`, and `least` where values are whole counts. Columns
    `keys` and AA; gap is `gap` from the first to the second. p is None, and alike true, where there are no
    two blocks to know the noise from.
    """
    found = []
    for key, here in values.groupby(keys):
        pair = here[here.pair == "aa"].sort_values("iteration").value.tolist()
        if len(pair) == 2:
            apart = float(gap(pair[:1], pair[1:])[0])
            noise, df = _noise(here[here.pair == "ab"], study, gap)
            p = _p_of_gap(apart, noise, df) if df else None
            names = dict(zip(keys, key, strict=True))
            found.append(names | {"first": pair[0], "second": pair[1], "gap": apart, "p": p})
    table = pd.DataFrame(found, columns=[*keys, *AA[:4]])
    known = table.p.notna()
    table["p_holm"] = None
    table.loc[known, "p_holm"] = holm(table.p[known].tolist())
    table["alike"] = [p is None or not p < ALPHA for p in table.p_holm]
    return table


def pair_gaps(values: pd.DataFrame, study: Study, gap: Gap) -> dict[str, Array]:
    """Arm -> gaps from the unpatched arm, one a block that has both, of values at one point.

    An arm with fewer than two such blocks is not in it.
    """
    if values.empty:
        return {}
    wide = values.pivot_table(index="block", columns="arm", values="value")
    unpatched = unpatched_of(list(wide.columns), study)
    both = {arm: wide[[unpatched, arm]].dropna() for arm in wide.columns if arm != unpatched}
    return {arm: gap(two[unpatched].tolist(), two[arm].tolist()) for arm, two in both.items() if len(two) > 1}


def unpatched_of(arms: Sequence[str], study: Study) -> str:
    """The arm that the others are compared with; where it was not measured, the first of `arms`."""
    unpatched = study.unpatched.name
    return unpatched if unpatched in set(arms) else str(next(iter(arms)))


def least_of(values: pd.DataFrame) -> float:
    """What one count more or less makes of these values; 0 where they are no counts."""
    return float(values.least.max()) if "least" in values else 0.0


def _p_of_gap(apart: float, noise: float, df: int) -> float:
    """Of a gap as large as that between two of the same, by Student's t; blocks may repeat exactly."""
    if not noise:
        return float(not apart)
    return 2 * float(stdtr(df, -abs(apart) / noise))


def _noise(values: pd.DataFrame, study: Study, gap: Gap) -> tuple[float, int]:
    """Standard deviation of gaps within blocks, and its degrees of freedom; 0 for unknown."""
    squares, df = squares_within_blocks(pair_gaps(values, study, gap))
    return (max(float(np.sqrt(squares / df)), least_of(values)), df) if df else (0.0, 0)


def squares_within_blocks(gaps: Mapping[str, Array]) -> tuple[float, int]:
    """Squares of gaps beyond their means, and their degrees of freedom: the ratio is a gap's variance.

    All gaps of a block are from one boot of the unpatched arm, so they are no independent ones: where the
    arms have the same blocks it is twice the residual of an analysis of variance by arm and block, which
    for one gap is its own variance. Arms that lack a block are left out, unless no two have the same.
    """
    blocks = max((one.size for one in gaps.values()), default=0)
    whole = [one for one in gaps.values() if one.size == blocks]
    if not whole or blocks < 2:
        return 0.0, 0
    table = np.column_stack([np.zeros(blocks), *whole])
    residual = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    return 2 * float((residual**2).sum()), len(whole) * (blocks - 1)
