# SPDX-License-Identifier: MIT
"""Arms compared by blocks: stars where there is something, and where there is nothing almost never."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp
from synthetic_rows import rates, study

from lockscale.errors import BadInput
from lockscale.measure.compare_arms import aa_rates, compared_latencies, compared_rates
from lockscale.measure.significance import change, holm, mean_p

STUDY = study()


def sd_of_a_share(share: float, tries: int) -> float:
    return float(np.sqrt(share * (1 - share) / tries))


def adjusted(p: np.ndarray) -> np.ndarray:
    return np.array([holm(row) for row in p.tolist()])


def test_p_is_that_of_a_paired_t_test():
    ratios = np.random.default_rng(1).normal(0.02, 0.05, (6, 9))
    assert mean_p(ratios) == pytest.approx(ttest_1samp(ratios, 0, axis=1).pvalue)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_the_plain_p_and_bonferroni(p: list[float]):
    for plain, held in zip(p, holm(p), strict=True):
        assert plain <= held <= min(1, len(p) * plain) + 1e-12


@pytest.mark.parametrize("blocks", [3, 6, 12])
@pytest.mark.parametrize("tails", [3.0, np.inf])
def test_two_equal_arms_get_no_star_in_95_of_100_runs(blocks: int, tails: float):
    """Of five points, whichever is starred: normal noise, and noise with outliers (Student's, 3 df)."""
    rng, runs, points = np.random.default_rng(blocks), 2000, 5
    arms = rng.standard_t(tails, (2, runs * points, blocks)) if np.isfinite(tails) else 0
    arms = arms if np.isfinite(tails) else rng.standard_normal((2, runs * points, blocks))
    stars = adjusted(mean_p(arms[1] - arms[0]).reshape(runs, points)) < 0.05
    assert stars.mean() <= 0.05 / 2
    assert stars.any(axis=1).mean() <= 0.05 + 3 * sd_of_a_share(0.05, runs)


@pytest.mark.slow
def test_rows_of_two_equal_arms_get_no_star_in_95_of_100_runs():
    stars = [compared_rates(rates(seed, 5), STUDY).significant.any() for seed in range(25)]
    assert np.mean(stars) <= 0.05 + 2 * sd_of_a_share(0.05, 25)


def test_a_change_of_all_points_is_starred_with_its_size():
    table = compared_rates(rates(3, 12, effect=np.log(1.2)), STUDY)
    assert list(table.arm.unique()) == ["search-locked"] and list(table.threads) == [1, 4, 8]
    assert table.significant.all() and (table.p_holm >= table.p).all()
    assert ((table.low_pct < 20) & (table.high_pct > 20) & (table.low_pct > 10)).all()
    assert set(table.blocks) == {12} and set(table.origin) == {"hardware"}


def test_a_drift_that_both_arms_share_is_in_no_comparison():
    steady = compared_rates(rates(4, 8, noise=0.01), STUDY)
    drifting = compared_rates(rates(4, 8, noise=0.01, drift=-0.1), STUDY)
    assert drifting.change_pct.tolist() == pytest.approx(steady.change_pct.tolist())
    assert drifting.p.tolist() == pytest.approx(steady.p.tolist())


@pytest.mark.parametrize(("blocks", "least"), [(3, 0.93), (6, 0.90), (12, 0.92)])
def test_the_interval_covers_the_true_change(blocks: int, least: float):
    rng, hits, tries = np.random.default_rng(blocks), 0, 400
    for seed in range(tries):
        a, b = np.exp(rng.normal(0, 0.03, (2, blocks)))
        told = change(a.tolist(), (1.1 * b).tolist(), seed)
        hits += told.low_pct <= 10 <= told.high_pct
    assert hits / tries >= least


def test_the_same_seed_gives_the_same_interval():
    a, b = [1.0, 1.1, 0.9, 1.0, 1.2], [1.3, 1.1, 1.2, 1.4, 1.1]
    assert change(a, b, 7) == change(a, b, 7) != change(a, b, 8)


def test_an_aa_pair_that_differs_takes_the_star_away():
    rows = rates(5, 8, noise=0.01, effect=0.1)
    assert compared_rates(rows, STUDY).significant.all() and aa_rates(rows, STUDY).alike.all()
    second = (rows.pair == "aa") & (rows.iteration == 2) & (rows.threads == 4)
    rows.loc[second, "value"] *= 1.3
    assert aa_rates(rows, STUDY).set_index("threads").alike.to_dict() == {1: True, 4: False, 8: True}
    assert compared_rates(rows, STUDY).set_index("threads").significant.to_dict() == {
        1: True,
        4: False,
        8: True,
    }


def test_warm_up_blocks_change_nothing():
    rows = rates(6, 6, effect=0.02)
    more = rows[rows.pair == "ab"].assign(pair="warm-up", value=1.0)
    pd.testing.assert_frame_equal(compared_rates(pd.concat([more, rows]), STUDY), compared_rates(rows, STUDY))


def test_latency_percentiles_are_compared_where_there_are_any():
    assert compared_latencies(rates(7, 6), STUDY).empty
    timed = pd.concat(
        rates(7 + k, 8, effect=effect).assign(metric="latency", unit="ns", statistic=f"total_{name}")
        for k, (name, effect) in enumerate({"p50": 0.0, "p99": 0.5}.items())
    )
    table = compared_latencies(timed, STUDY).set_index(["statistic", "threads"])
    assert table.significant["total_p99"].all() and not table.significant["total_p50"].any()
    assert table.change_pct["total_p99"].mean() == pytest.approx(100 * np.expm1(0.5), rel=0.1)


def test_one_block_or_one_arm_is_refused():
    with pytest.raises(BadInput, match="two blocks"):
        compared_rates(rates(8, 1), STUDY)
    rows = rates(8, 4)
    with pytest.raises(BadInput, match="only one arm"):
        compared_rates(rows[rows.arm == "search-locked"], STUDY)


def test_a_rate_of_zero_is_one_sentence():
    with pytest.raises(BadInput, match="not above 0"):
        change([1.0, 0.0], [1.0, 1.0], 1)
