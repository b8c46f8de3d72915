# SPDX-License-Identifier: MIT
"""Intervals of published repeats against textbook formulas and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lockscale.tables.intervals import next_repeat, ratio_of_means

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
