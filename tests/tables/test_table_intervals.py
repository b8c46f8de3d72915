# SPDX-License-Identifier: MIT
"""Intervals of published repeats against textbook formulas and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lockscale.errors import BadInput
from lockscale.tables.claim import next_repeat, ratio_of_means, ratio_of_spreads, welch_p

repeats = st.lists(st.floats(1.0, 1e6), min_size=2, max_size=6)


def test_prediction_interval_by_hand():
    # mean 3, s = sqrt(2.5), n = 5: half = 2.7764 * 1.58114 * sqrt(1.2)
    found = next_repeat([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found == pytest.approx((3.0, 3 - 4.8090, 3 + 4.8090), abs=2e-4)


def test_equal_spread_has_welchs_freedom_of_the_pooled_test():
    # Two samples of one relative spread and size: nu = 2 (n - 1) = 4, t = 2.7764.
    base, changed = [9.0, 10.0, 11.0], [90.0, 100.0, 110.0]
    factor = math.exp(2.7764451 * math.sqrt(2 * 0.1**2 / 3))
    assert ratio_of_means(base, changed) == pytest.approx((10, 10 / factor, 10 * factor), rel=1e-7)


def test_repeats_without_spread_give_no_width():
    assert ratio_of_means([2.0, 2.0], [6.0, 6.0]) == (3.0, 3.0, 3.0)


def test_ratio_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(2000):
        found = ratio_of_means(rng.normal(100, 3, 5), rng.normal(150, 9, 5))
        hits += found.low <= 1.5 <= found.high
    low, high = stats.binom(2000, 0.95).ppf([1e-4, 1 - 1e-4])
    assert low - 20 <= hits <= high + 20  # Welch's degrees of freedom are good to about 1%


@given(repeats, repeats)
def test_swapping_the_arms_inverts_the_interval(base, changed):
    there, back = ratio_of_means(base, changed), ratio_of_means(changed, base)
    assert there.low <= there.value <= there.high
    inverse = (1 / back.value, 1 / back.high, 1 / back.low)
    assert there == pytest.approx(inverse, rel=1e-9)


@given(repeats, repeats, st.floats(0.01, 100.0))
def test_ratio_does_not_depend_on_the_unit(base, changed, unit):
    scaled = ratio_of_means([unit * x for x in base], [unit * x for x in changed])
    assert scaled == pytest.approx(ratio_of_means(base, changed), rel=1e-6)


def fieller(base, changed):
    """95% ends of a ratio of means, by Fieller's quadratic (Biometrika 24, 1932) with Welch's freedom."""
    m, c = np.mean(base), np.mean(changed)
    v, w = np.var(base, ddof=1) / len(base), np.var(changed, ddof=1) / len(changed)
    ratio = c / m
    freedom = (w + ratio**2 * v) ** 2 / (w**2 / (len(changed) - 1) + (ratio**2 * v) ** 2 / (len(base) - 1))
    t2 = stats.t.ppf(0.975, freedom) ** 2
    return np.sort(np.roots([m**2 - t2 * v, -2 * m * c, c**2 - t2 * w]).real)


S1_CREATES = ([79_033, 81_463, 79_875], [810_669, 812_805, 813_965])
S2_CREATES = ([135_864, 137_432, 135_347, 135_641, 137_300], [223_178, 181_892, 202_841, 195_022, 193_564])
S2_DESTROYS = ([241_262, 245_305, 228_004, 223_845, 242_719], [273_882, 269_771, 235_435, 220_466, 263_998])


@pytest.mark.parametrize("pair", [S1_CREATES, S2_CREATES, S2_DESTROYS])
def test_published_ratios_agree_with_fiellers_interval(pair):
    found = ratio_of_means(*pair)
    assert (found.low, found.high) == pytest.approx(tuple(fieller(*pair)), rel=6e-3)


@pytest.mark.parametrize("pair", [S1_CREATES, S2_CREATES, S2_DESTROYS])
def test_published_ratios_enclose_the_bootstrap(pair):
    """Few repeats make the percentile bootstrap too narrow: it must lie inside Welch's interval."""
    rng = np.random.default_rng(1)
    base, changed = (rng.choice(runs, (20_000, len(runs))).mean(axis=1) for runs in pair)
    low, high = np.percentile(changed / base, [2.5, 97.5])
    found = ratio_of_means(*pair)
    assert found.low < low < found.value < high < found.high


def test_welchs_p_by_hand():
    # Means 2 and 5, variances 1 and 4, n = 3: t = 3 / sqrt(5/3) = 2.32379, nu = (5/3)^2 / (17/18).
    p = 2 * stats.t.sf(3 / math.sqrt(5 / 3), (25 / 9) / (17 / 18))
    assert welch_p([1.0, 2.0, 3.0], [3.0, 5.0, 7.0]) == pytest.approx(p, rel=1e-12)


def test_ratio_of_spreads_by_hand():
    # Spreads 1 and 2; F(2, 2) at 0.975 is 39: an interval of a factor sqrt(39) either way.
    found = ratio_of_spreads([1.0, 2.0, 3.0], [3.0, 5.0, 7.0])
    assert found == pytest.approx((2, 2 / math.sqrt(39), 2 * math.sqrt(39)), rel=1e-9)


def test_ratio_of_spreads_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(6)
    intervals = [ratio_of_spreads(rng.normal(9, 1, 5), rng.normal(9, 4, 4)) for _ in range(2000)]
    hits = sum(found.low <= 4 <= found.high for found in intervals)
    low, high = stats.binom(2000, 0.95).ppf([1e-4, 1 - 1e-4])
    assert low <= hits <= high


@pytest.mark.parametrize("interval", [ratio_of_means, ratio_of_spreads, lambda base, _: next_repeat(base)])
def test_one_value_has_no_interval(interval):
    """With ends that are no numbers every claim would fail."""
    with pytest.raises(BadInput, match="an interval needs two repeats or more"):
        interval([5.0], [7.0, 8.0])
