# SPDX-License-Identifier: MIT
"""Leave-one-out: each fold a fit of its own, of no unit, and no number where a ridge leaves it open."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from lockscale.errors import BadInput
from lockscale.fitting.column import published_columns
from lockscale.queueing import AMDAHL, AMDAHL_SPILL, HAND_OVER, MODELS, USL
from lockscale.queueing.compare import compare_models
from lockscale.queueing.evidence import extrapolation_pct
from lockscale.queueing.fit import fit_model

THREADS = np.array([1.0, 2, 4, 8, 16, 32, 64])


def curve(name):
    (found,) = (c for c in published_columns("s4_stress_orphan") if c.name == name)
    return found.threads, found.rates_per_s


def spilled(n, lam, sigma, rho, last):
    return lam * n / (1 + sigma * (n - 1) + rho * np.maximum(n - last, 0))


def best_spill(n, rates):
    """By hand: every M of a fine grid, from two starts each, the best then with M free."""
    log = np.log(rates)
    found = None
    for last in np.unique(np.concatenate([np.geomspace(1, n.max(), 40), n])):
        for sigma, rho in ((0.3, 0.3), (0.01, 0.7)):
            one = least_squares(
                lambda q, last=last: np.log(spilled(n, *q, last)) - log,
                [rates[0] / n[0], sigma, rho],
                bounds=([1e-9, 0, 0], [np.inf, 1, np.inf]),
                x_scale=[rates[0], 0.3, 0.3],
            )
            if found is None or one.cost < found.cost:
                found = least_squares(
                    lambda q: np.log(spilled(n, *q)) - log,
                    [*one.x, last],
                    bounds=([1e-9, 0, 0, 1], [np.inf, 1, np.inf, np.inf]),
                    x_scale=[rates[0], 0.3, 0.3, 1],
                )
    return found.x


@pytest.mark.slow
def test_every_fold_finds_the_optimum_that_a_fine_scan_finds():
    """The kink in the law gives each fold an optimum between every two thread counts."""
    threads, rates = curve("orphan-off threads / time")
    errors = []
    for out in range(len(threads)):
        kept = np.arange(len(threads)) != out
        ahead = spilled(threads[out], *best_spill(threads[kept], rates[kept]))
        errors.append(100 * abs(1 - ahead / rates[out]))
    assert fit_model((threads, rates), AMDAHL_SPILL).loo_pct == pytest.approx(np.mean(errors), rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("model", [AMDAHL_SPILL, HAND_OVER, MODELS["two_queue"]], ids=lambda m: m.name)
@pytest.mark.parametrize("unit", [1.11, 60, 1e-9])
def test_a_fit_does_not_know_the_unit_of_the_rate(model, unit):
    threads, rates = curve("orphan-off threads / time")
    one, other = fit_model((threads, rates), model), fit_model((threads, unit * rates), model)
    assert other.mape_pct == pytest.approx(one.mape_pct, rel=1e-5)
    assert other.loo_pct == pytest.approx(one.loo_pct, rel=1e-4)
    assert other.predict([24]).value == pytest.approx(unit * one.predict([24]).value, rel=1e-4)
    low, high = (found.predict([24]).low for found in (one, other))
    assert high == pytest.approx(unit * low, rel=1e-2)


@settings(max_examples=10)
@given(st.floats(-8, 8), st.integers(0, 1000))
def test_amdahls_law_scales_with_any_unit(power, seed):
    rates = AMDAHL(THREADS, lambda_per_s=1e4, sigma=0.03) * np.exp(
        np.random.default_rng(seed).normal(0, 0.05, 7)
    )
    one, other = fit_model((THREADS, rates), AMDAHL), fit_model((THREADS, 10**power * rates), AMDAHL)
    assert other.loo_pct == pytest.approx(one.loo_pct, rel=1e-6)
    assert other.params["sigma"] == pytest.approx(one.params["sigma"], rel=1e-6)


def test_a_kink_that_one_point_alone_shows_is_not_determined_without_it():
    """Beyond M is one thread count: without it rho may be anything, without the one before M may."""
    rates = spilled(THREADS, 1e4, 0.05, 0.5, 40.0) * np.array([1.01, 0.99, 1.01, 0.99, 1.01, 0.99, 1])
    found = fit_model((THREADS, rates), AMDAHL_SPILL)
    assert found.not_determined == (32, 64) and found.loo_pct is None and found.held_out_pct is None
    assert "not determined at N = 32, 64" in repr(found)
    ranked = compare_models((THREADS, rates), [AMDAHL_SPILL, AMDAHL])
    assert ranked.best.model == "amdahl"
    assert "Leave-one-out of amdahl_spill: not determined at N = 32, 64" in repr(ranked)
    rows = ranked.to_json("t", "c")
    assert [row["not_determined_threads"] for row in rows] == [[], [32, 64]]


def test_a_fold_without_a_degree_of_freedom_says_nothing():
    rates = USL(THREADS, lambda_per_s=1e4, sigma=0.05, kappa=1e-3)
    assert fit_model((THREADS[:4], rates[:4]), USL).loo_pct is None
    assert fit_model((THREADS[:5], rates[:5]), USL).loo_pct is not None
    assert extrapolation_pct(fit_model((THREADS[:6], rates[:6]), USL)) is None
    assert extrapolation_pct(fit_model((THREADS, rates), USL)) is not None


@pytest.mark.parametrize("name", MODELS)
def test_many_sets_of_parameters_at_once_give_the_same_rates(name):
    model = MODELS[name]
    box = model.search_box(THREADS, USL(THREADS, lambda_per_s=1e4, sigma=0.05, kappa=1e-3))
    draw = np.random.default_rng(0).random((5, len(model.parameters)))
    ends = np.log([box[p.name] for p in model.parameters])
    sets = np.exp(ends[:, 0] + draw * (ends[:, 1] - ends[:, 0]))
    together = model.rate(THREADS, {p.name: sets[:, [k]] for k, p in enumerate(model.parameters)})
    for row, values in zip(together, sets, strict=True):
        alone = model.rate(THREADS, dict(zip([p.name for p in model.parameters], values, strict=True)))
        assert row == pytest.approx(alone, rel=1e-10)


def test_more_states_than_fit_are_refused_not_waited_for():
    with pytest.raises(BadInput, match="leave out some of the largest thread counts"):
        fit_model((np.arange(1, 3000), 1e4 * np.ones(2999)), HAND_OVER)
