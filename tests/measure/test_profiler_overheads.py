# SPDX-License-Identifier: MIT
"""What profilers cost: pairs of rates of one boot, by hand and against scipy's signed rank test."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from lockscale.errors import BadInput
from lockscale.measure.profiling import UNDER_PROFILER, _below, overhead, overheads

POINT = {
    "arm": "steal-retry",
    "cpus": 4,
    "threads": 8,
    "test": "create",
    "statistic": "total",
    "origin": "qemu",
}


def test_three_equal_pairs_by_hand():
    found = overhead([100, 200, 400], [90, 180, 360])
    assert (found["overhead_pct"], found["low"], found["high"]) == pytest.approx((10, 10, 10))
    assert (found["pairs"], found["level_pct"]) == (3, 75)  # 2 of 2^3 orders lie outside


def test_the_interval_of_two_pairs_is_their_range_and_covers_half():
    found = overhead([100, 100], [90, 80])
    assert (found["low"], found["high"], found["level_pct"]) == pytest.approx((10, 20, 50))


def test_a_profiler_that_costs_nothing_may_seem_to_help():
    assert overhead([100] * 6, [101, 99, 102, 98, 100, 100])["low"] < 0


@pytest.mark.parametrize("n", range(2, 12))
def test_the_coverage_is_that_of_the_signed_rank_test(n):
    """P(T < c) from scipy's exact one-sided p-value of data whose statistic is c - 1."""
    below = _below(n)
    for c in range(1, len(below) + 1):
        ranks, left, signs = list(range(n, 0, -1)), c - 1, {}
        for rank in ranks:  # ranks that add up to c - 1
            signs[rank] = 1 if rank <= left else -1
            left -= rank if rank <= left else 0
        data = [sign * rank for rank, sign in signs.items()]
        exact = wilcoxon(data, alternative="less", method="exact").pvalue
        assert below[c - 1] == pytest.approx(exact)


@settings(max_examples=50)
@given(st.integers(6, 12), st.integers(0, 10**6))
def test_six_pairs_or_more_cover_95_percent_with_the_truth_between_their_ends(n, seed):
    draw = np.random.default_rng(seed)
    without = draw.uniform(100, 200, n)
    found = overhead(without, without * draw.uniform(0.8, 1.0, n))
    assert found["level_pct"] >= 95
    assert 0 <= found["low"] <= found["overhead_pct"] <= found["high"] <= 20


def test_the_interval_holds_the_truth_as_often_as_it_says():
    draw = np.random.default_rng(7)
    inside = 0
    for _ in range(2000):
        ratios = np.exp(np.log(0.9) + draw.laplace(0, 0.1, 7))
        found = overhead(np.full(7, 100.0), 100 * ratios)
        inside += found["low"] <= 10 <= found["high"]
    level = overhead(np.full(7, 100.0), np.linspace(80, 90, 7))["level_pct"] / 100
    assert abs(inside / 2000 - level) < 4 * np.sqrt(level * (1 - level) / 2000)


@pytest.mark.parametrize(
    "pair", [([1], [1]), ([1, 2], [1]), ([0, 1], [1, 1]), ([1, 1], [np.nan, 1]), ([1, 1], [-1, 1])]
)
def test_no_pairs_or_no_rates_are_refused(pair):
    with pytest.raises(BadInput):
        overhead(*pair)


def rows(*pairs, tool="perf_lock"):
    found = []
    for block, (without, with_it) in enumerate(pairs):
        boot = {**POINT, "pair": "ab", "block": block, "iteration": block}
        found.append({**boot, "tool": "fsload", "metric": "rate", "value": without, "profiled": False})
        found.append({**boot, "tool": tool, "metric": UNDER_PROFILER, "value": with_it, "profiled": True})
    return pd.DataFrame(found)


def test_pairs_are_those_of_one_boot():
    (one,) = overheads(rows((1000, 900), (2000, 1800), (500, 450))).to_dict("records")
    assert one["overhead_pct"] == pytest.approx(10)
    assert (one["low"], one["high"]) == pytest.approx((10, 10))
    assert (one["tool"], one["arm"], one["cpus"], one["threads"]) == ("perf_lock", "steal-retry", 4, 8)
    assert (one["pairs"], one["level_pct"], one["origin"]) == (3, 75, "qemu")


def test_each_profiler_has_its_own():
    both = pd.concat(
        [rows((100, 90), (100, 90)), rows((100, 50), (100, 50), tool="ftrace_cost").query("profiled")]
    )
    found = overheads(both).set_index("tool").overhead_pct
    assert found["perf_lock"] == pytest.approx(10) and found["ftrace_cost"] == pytest.approx(50)


def test_rates_of_ranks_and_of_removal_are_not_taken():
    more = rows((100, 90), (100, 90))
    other = pd.DataFrame(
        [
            {**row, **change}
            for row in more.to_dict("records")
            for change in ({"test": "remove"}, {"statistic": "slowest_rank"})
        ]
    ).assign(value=1.0)
    (one,) = overheads(pd.concat([more, other])).to_dict("records")
    assert one["overhead_pct"] == pytest.approx(10)


def test_a_run_without_such_rates_is_refused():
    with pytest.raises(BadInput, match="no rate with a profiler on"):
        overheads(rows((100, 90)).query("not profiled"))
