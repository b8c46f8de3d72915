# SPDX-License-Identifier: MIT
"""The A/A pair, the bootstrap and Holm's correction, on numbers that are worked out beside the code."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lockscale.errors import BadInput
from lockscale.measure.significance import (
    POINT,
    RESAMPLES,
    Difference,
    aa_pairs,
    change,
    differences,
    holm,
    log_ratios,
    mean_p,
    pair_gaps,
    starred,
)
from lockscale.study.file import load_study

STUDY = load_study("inode-claim")
BEFORE, AFTER = STUDY.unpatched.name, STUDY.patched.name
NOISE = {  # threads -> gap of the arms in each block
    8: [0.10, 0.12, 0.07, 0.11],
    64: [0.30, 0.20, 0.25, 0.35],
}


def values(apart: dict[int, float], gaps: dict[int, list[float]] = NOISE) -> pd.DataFrame:
    """Rates whose log gaps are `gaps`, and an A/A pair of the patched arm that is `apart` at each point."""
    rows = []
    for threads, each in gaps.items():
        for block, gap in enumerate(each, start=1):
            for arm, log in ((BEFORE, 0.1 * block), (AFTER, 0.1 * block + gap)):
                rows.append((4, threads, arm, "ab", block, block, 1000 * np.exp(log)))
        for iteration, log in ((1, 0.0), (2, apart[threads])):
            rows.append((4, threads, AFTER, "aa", 0, iteration, 1000 * np.exp(log)))
    return pd.DataFrame(rows, columns=[*POINT, "arm", "pair", "block", "iteration", "value"])


def by_hand(apart: float, gaps: list[float]) -> float:
    """Two-sided p of a gap beside the standard deviation of `gaps`, which has n - 1 degrees of freedom."""
    return float(2 * stats.t.sf(abs(apart) / np.std(gaps, ddof=1), len(gaps) - 1))


@pytest.mark.parametrize("sign", [1, -1])
def test_the_aa_pair_is_judged_by_both_sides_and_by_the_noise_of_the_blocks(sign: int):
    apart = {8: 0.11, 64: sign * 0.3}
    found = aa_pairs(values(apart), STUDY, POINT, log_ratios).set_index("threads")
    p = {threads: by_hand(apart[threads], gaps) for threads, gaps in NOISE.items()}
    assert found.p.to_dict() == pytest.approx(p)
    assert found.gap.to_dict() == pytest.approx(apart)
    twice = 2 * min(p.values())
    assert found.p_holm.to_dict() == pytest.approx({threads: max(twice, one) for threads, one in p.items()})


def test_a_pair_that_differs_is_told_only_where_it_does_so_over_all_points():
    """0.11 is 5 standard deviations: p is 0.015 alone, and 0.03 beside another point; at 0.08 it is not."""
    assert aa_pairs(values({8: 0.11, 64: 0.0}), STUDY, POINT, log_ratios).alike.tolist() == [False, True]
    p = by_hand(0.085, NOISE[8])
    assert 0.025 < p < 0.05
    assert aa_pairs(values({8: 0.085, 64: 0.0}), STUDY, POINT, log_ratios).alike.tolist() == [True, True]


def test_no_star_stands_where_the_pair_differs():
    rows = values({8: 0.5, 64: 0.0})
    table = pd.DataFrame({"cpus": 4, "threads": [8, 64], "p": [0.001, 0.002]})
    found = starred(table, rows, STUDY, POINT, log_ratios)
    assert found.aa_alike.tolist() == [False, True] and found.significant.tolist() == [False, True]
    assert found.p_holm.tolist() == pytest.approx([0.002, 0.002])
    weak = starred(table.assign(p=[0.03, 0.04]), values({8: 0.0, 64: 0.0}), STUDY, POINT, log_ratios)
    assert weak.p_holm.tolist() == pytest.approx([0.06, 0.06]) and not weak.significant.any()


def test_holms_values_fall_back_to_none_smaller_than_a_more_certain_one():
    assert holm([0.01, 0.02, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert holm([0.04, 0.03, 0.6]) == pytest.approx([0.09, 0.09, 0.6])
    assert holm([0.5, 0.6]) == [1, 1]


def test_counts_have_the_noise_of_one_count_at_least():
    rows = values({8: 0.0, 64: 0.0}).assign(least=0.5)
    exact = aa_pairs(rows.assign(value=np.where(rows.pair == "aa", 3.0, 1.0) + (rows.iteration == 2) * 1.0),
                     STUDY, POINT, differences)  # fmt: skip
    assert exact.p.tolist() == pytest.approx([float(2 * stats.t.sf(1 / 0.5, 3))] * 2)


def test_a_skewed_change_has_an_interval_that_reaches_farther_where_its_tail_is():
    """Student's t of what is skewed to the right is skewed to the left, and the interval inverts it."""
    logs = np.array([0.0, 0.01, 0.02, 0.02, 0.03, 0.05, 0.08, 0.15, 0.40, 0.02, 0.01, 0.6])
    for sign in (1, -1):
        found = change([1.0] * len(logs), np.exp(sign * logs).tolist(), seed=1)
        middle, low, high = (np.log1p(x / 100) for x in (found.change_pct, found.low_pct, found.high_pct))
        longer, shorter = (high - middle, middle - low)[::sign]
        assert found.interval == "bootstrap" and low < middle < high and longer > 1.5 * shorter
        assert middle == pytest.approx(sign * logs.mean())


def test_the_bootstraps_interval_is_that_of_two_and_a_half_percent_at_each_end():
    """Of normal noise it is Student's, within what 2000 resamples of 40 blocks allow."""
    logs = np.random.default_rng(3).normal(0.1, 0.05, 40)
    found = change([1.0] * 40, np.exp(logs).tolist(), seed=1)
    half = float(stats.t.isf(0.025, 39)) * logs.std(ddof=1) / np.sqrt(40)
    assert np.log1p(found.low_pct / 100) == pytest.approx(logs.mean() - half, abs=0.12 * half)
    assert np.log1p(found.high_pct / 100) == pytest.approx(logs.mean() + half, abs=0.12 * half)


@pytest.mark.parametrize(("blocks", "interval"), [(4, "Student"), (5, "bootstrap")])
def test_few_blocks_have_students_interval(blocks: int, interval: str):
    logs = np.linspace(0.1, 0.2, blocks)
    found = change([1.0] * blocks, np.exp(logs).tolist(), seed=1)
    half = float(stats.t.isf(0.025, blocks - 1)) * logs.std(ddof=1) / np.sqrt(blocks)
    assert found.interval == interval
    assert (found.high_pct == pytest.approx(100 * np.expm1(0.15 + half))) == (interval == "Student")
    assert found.p == pytest.approx(stats.ttest_1samp(logs, 0).pvalue)


def test_p_of_a_mean_is_students_for_each_row():
    gaps = np.array([[0.1, 0.3, 0.2], [1.0, -1.0, 0.1], [0.5, 0.5, 0.5], [0.0, 0.0, 0.0]])
    expected = [stats.ttest_1samp(one, 0).pvalue for one in gaps[:2]]
    assert mean_p(gaps).tolist() == pytest.approx([*expected, 0.0, 1.0])
    se = 0.6 / np.sqrt(3)
    assert mean_p(gaps, 0.6)[2] == pytest.approx(2 * stats.t.sf(0.5 / se, 2))


def test_an_arm_with_one_block_of_both_is_compared_with_nothing():
    rows = values({8: 0.0, 64: 0.0})
    here = rows[(rows.threads == 8) & (rows.pair == "ab")]
    assert list(pair_gaps(here, STUDY, log_ratios)) == [AFTER]
    assert pair_gaps(here[(here.arm == BEFORE) | (here.block == 1)], STUDY, log_ratios) == {}


@pytest.mark.parametrize(("before", "after"), [([1.0], [2.0]), ([1.0, 2.0], [1.0])])
def test_one_block_is_no_comparison(before: list[float], after: list[float]):
    with pytest.raises(BadInput, match="needs two blocks"):
        change(before, after, seed=1)


@pytest.mark.parametrize(("before", "after"), [([1.0, 0.0], [1.0, 1.0]), ([1.0, 1.0], [1.0, -1.0])])
def test_a_rate_that_is_none_has_no_ratio(before: list[float], after: list[float]):
    with pytest.raises(BadInput, match="not above 0"):
        log_ratios(before, after)


def test_the_interval_is_that_of_the_studentised_bootstrap_worked_out_resample_by_resample():
    """Efron and Tibshirani, An Introduction to the Bootstrap, 12.5, with n - 1 in every deviation."""
    logs = np.array([0.05, 0.30, 0.12, 0.02, 0.18, 0.09])
    found = change([1.0] * 6, np.exp(logs).tolist(), seed=7)
    t = []
    for drawn in np.random.default_rng(7).integers(0, 6, (RESAMPLES, 6)):
        one = logs[drawn]
        if one.std() > 0:
            t.append((one.mean() - logs.mean()) / (one.std(ddof=1) / np.sqrt(6)))
    se = logs.std(ddof=1) / np.sqrt(6)
    low, high = (logs.mean() - np.quantile(t, end) * se for end in (0.975, 0.025))
    assert found.low_pct == pytest.approx(100 * np.expm1(low))
    assert found.high_pct == pytest.approx(100 * np.expm1(high))


def test_a_difference_is_one_where_its_interval_leaves_out_zero_and_is_sure_enough():
    assert Difference(1, 2, 1, 0.5, 1.5, 0.95).significant
    assert not Difference(1, 2, 1, -0.1, 1.5, 0.95).significant
    assert not Difference(1, 2, 1, 0.5, 1.5, 0.9).significant
    assert Difference(1, 2, 1, 0.5, 1.7, 0.95).turned == Difference(2, 1, -1, -1.7, -0.5, 0.95)
