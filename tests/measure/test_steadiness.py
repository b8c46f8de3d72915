# SPDX-License-Identifier: MIT
"""A run that drifts or warms up says so; a steady one seldom does."""

import numpy as np
import pytest
from scipy.stats import linregress, ttest_ind
from synthetic_rows import rates, study

from lockscale.measure.compare_arms import compared_rates
from lockscale.measure.steadiness import FAR, LEAST_REPEATS, _told, drift, outliers, steadiness, warm_up


def told(rows):
    return steadiness(rows).set_index("what")


def test_a_planted_drift_is_detected():
    found = told(rates(1, 8, noise=0.01, drift=0.01)).loc["drift"]
    assert found.found and found.effect_pct == pytest.approx(1, abs=0.3)


def test_a_planted_warm_up_is_detected():
    found = told(rates(2, 8, noise=0.01, warm_up=-0.08)).loc["warm-up"]
    assert found.found and found.effect_pct == pytest.approx(-8, abs=1.5)


def test_a_large_change_is_in_percent_and_not_in_logarithms():
    """A first block of a fifth of the others' rate is 80% off, not 161%; half as fast a block is -50%."""
    slow = told(rates(2, 8, noise=0.001, warm_up=np.log(0.2))).loc["warm-up"]
    assert slow.effect_pct == pytest.approx(-80, abs=0.2) and "-80.0" in slow.says
    halved = told(rates(1, 8, noise=0.001, drift=np.log(0.5))).loc["drift"]
    assert halved.effect_pct == pytest.approx(-50, abs=0.2) and halved.says.startswith("-50.0")


@pytest.mark.parametrize("planted", [{"drift": 0.01}, {"warm_up": 0.08}])
def test_what_is_planted_is_found_in_most_runs(planted):
    name = next(iter(planted)).replace("_", "-")
    hits = [told(rates(seed, 8, noise=0.01, **planted)).found[name] for seed in range(12)]
    assert np.mean(hits) >= 0.9


def test_a_steady_run_is_called_otherwise_in_5_of_100_runs():
    rng, tries = np.random.default_rng(3), 2000
    blocks = rng.standard_normal((tries, 7))
    for judge in (drift, warm_up):
        alarms = np.mean([judge(one)[1] < 0.05 for one in blocks])
        assert alarms == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / tries))


def test_p_values_are_those_of_scipy():
    blocks = np.random.default_rng(4).standard_normal(9)
    fit = linregress(np.arange(9), blocks)
    assert drift(blocks) == pytest.approx((fit.slope, fit.pvalue))
    assert warm_up(blocks)[1] == pytest.approx(ttest_ind(blocks[:1], blocks[1:]).pvalue)


def test_three_blocks_are_too_few_to_tell():
    table = told(rates(5, 3, drift=0.5))
    assert not table.found.any() and table.p.isna().all()
    assert table.says.str.contains("it takes 4 blocks").all()


def test_an_outlier_is_shown_and_stays_in_the_comparison():
    rows = rates(6, 10, noise=0.01)
    far = (rows.arm == "steal-retry") & (rows.block == 4) & (rows.threads == 8)
    rows.loc[far, "value"] *= 1.5
    (one,) = outliers(rows).to_dict("records")
    assert (one["arm"], one["block"], one["threads"]) == ("steal-retry", 4, 8) and one["z"] > 3.5
    table = compared_rates(rows, study()).set_index("threads")
    assert table.blocks[8] == 10 and table.unpatched[8] == pytest.approx(
        rows[(rows.arm == "steal-retry") & (rows.threads == 8)].value.mean()
    )


def test_a_repeat_far_below_is_one_as_one_far_above_is():
    rows = rates(1, 8, noise=0.01)
    one = rows[(rows.pair == "ab") & (rows.metric == "rate")].index[3]
    for factor, sign in ((0.5, -1), (2.0, 1)):
        z = outliers(rows.assign(value=rows.value.where(rows.index != one, rows.value * factor))).z
        assert sign * z[z.abs().idxmax()] > 10 * FAR


def test_of_few_repeats_none_is_far():
    few = rates(1, LEAST_REPEATS - 1, noise=0.01)
    one = few[few.pair == "ab"].index[0]
    assert outliers(few.assign(value=few.value.where(few.index != one, few.value * 9))).empty


@pytest.mark.parametrize(("p", "found"), [(0.049, True), (0.051, False), (0.07, False), (None, False)])
def test_what_noise_does_in_more_than_5_of_100_runs_is_not_called_found(p: float | None, found: bool):
    assert _told("drift", 0.1, p, "")["found"] is found


def test_blocks_that_lack_an_arm_are_held_against_that_arms_own_mean():
    rows = rates(3, 6, noise=0.05)
    rows = rows[rows.pair == "ab"]
    lacking = rows.drop(rows[(rows.block == 2)].index[0])
    own: dict[int, list[float]] = {}
    for _, cell in lacking.groupby(["arm", "cpus", "threads"]):
        logs = np.log(cell.value)
        for block, log in zip(cell.block, logs, strict=True):
            own.setdefault(block, []).append(log - logs.mean())
    blocks = np.array([np.mean(own[block]) for block in sorted(own)])
    assert steadiness(lacking).p.tolist() == pytest.approx([drift(blocks)[1], warm_up(blocks)[1]])
