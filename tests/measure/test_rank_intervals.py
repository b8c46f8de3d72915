# SPDX-License-Identifier: MIT
"""Intervals of differences against enumeration, scipy's exact Mann-Whitney test, and coverage."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from lockscale.errors import BadInput
from lockscale.measure.significance import difference

repeats = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=6, unique=True)


def test_three_against_five_repeats_reach_95_percent_with_the_extreme_differences():
    found = difference([7.0, 7.01, 7.02, 7.0, 7.01], [7.5, 7.1, 8.9])
    assert (found.low, found.high) == pytest.approx((7.1 - 7.02, 8.9 - 7.0))
    assert found.level == pytest.approx(1 - 2 / comb(8, 3))
    assert found.significant


def test_two_against_two_repeats_cannot_be_significant():
    found = difference([1, 2], [100, 200])
    assert found.level == pytest.approx(1 - 2 / 6)
    assert found.low > 0 and not found.significant


def test_the_level_is_what_enumeration_of_all_rank_orders_gives():
    m, n = 4, 5
    us = [
        sum(rank - 1 - i for i, rank in enumerate(chosen)) for chosen in combinations(range(1, m + n + 1), n)
    ]
    found = difference(list(range(m)), [x + 0.5 for x in range(n)])
    c = max(c for c in range(1, m * n) if 2 * sum(u < c for u in us) / len(us) <= 0.05)
    assert found.level == pytest.approx(1 - 2 * sum(u < c for u in us) / len(us))


def test_shifting_by_just_inside_the_interval_is_what_scipy_does_not_reject():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=7), rng.normal(1, size=8)
    found = difference(a.tolist(), b.tolist())
    p = [mannwhitneyu(b - s, a, method="exact").pvalue for s in (found.low + 1e-9, found.high - 1e-9)]
    outside = [mannwhitneyu(b - s, a, method="exact").pvalue for s in (found.low - 1e-9, found.high + 1e-9)]
    assert min(p) > 0.05 >= max(outside)


def test_the_interval_covers_a_known_shift_as_often_as_it_says():
    rng = np.random.default_rng(11)
    hits, level, tries = 0, 0.0, 1500
    for _ in range(tries):
        a, b = rng.exponential(size=5), 0.7 + rng.exponential(size=4)
        found = difference(a.tolist(), b.tolist())
        hits += found.low <= 0.7 <= found.high
        level = found.level
    sd = (level * (1 - level) / tries) ** 0.5
    assert abs(hits / tries - level) < 4 * sd


@given(repeats, repeats)
def test_exchanging_the_arms_mirrors_the_interval(before: list[float], after: list[float]):
    one, other = difference(before, after), difference(after, before)
    assert (one.low, one.high) == (-other.high, -other.low)
    assert one.low <= one.high


def test_one_repeat_is_refused():
    with pytest.raises(BadInput, match="two repeats"):
        difference([1.0], [1.0, 2.0])
