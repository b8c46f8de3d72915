# SPDX-License-Identifier: MIT
import json

import numpy as np
import pytest

from lockscale.errors import BadInput
from lockscale.queueing import MACHINE_REPAIRMAN, MODELS, RETRY_STORM, USL
from lockscale.queueing.compare import compare_models
from lockscale.queueing.fit import fit_model
from lockscale.queueing.points import points

THREADS = [1, 2, 4, 8, 16, 32, 64]
TRUTH = {"lambda_per_s": 1e5, "sigma": 0.05, "kappa": 0.0008}
WOBBLE = np.array([1.02, 0.97, 1.01, 1.03, 0.98, 0.99, 1.01])
RATES = USL(THREADS, **TRUTH) * WOBBLE


def test_json_has_the_shape_scripts_rely_on():
    shape = json.loads(json.dumps(fit_model((THREADS, RATES), USL).to_json("s4", "vanilla"), allow_nan=False))
    assert shape["table"] == "s4" and shape["column"] == "vanilla" and shape["model"] == "usl"
    keys = {"name", "unit", "value", "low", "high", "status"}
    assert all(set(p) == keys for p in shape["parameters"])
    assert [p["name"] for p in shape["parameters"]] == list(TRUTH)
    assert 0 < shape["mape_pct"] < shape["loo_pct"]


def test_mape_is_the_mean_of_the_residuals_by_hand():
    found = fit_model(([1, 2], [100.0, 210.0]), USL, fixed={"lambda_per_s": 100, "sigma": 0, "kappa": 0})
    assert found.residuals_pct == pytest.approx([0, 100 * 10 / 210])
    assert found.mape_pct == pytest.approx(50 * 10 / 210)


def test_leave_one_out_equals_fitting_the_rest_of_the_table():
    found = fit_model((THREADS, RATES), USL)
    errors = []
    for j, n in enumerate(THREADS):
        rest = fit_model((np.delete(THREADS, j), np.delete(RATES, j)), USL)
        errors.append(abs(rest.predict([n]).value[0] / RATES[j] - 1))
    assert found.loo_pct == pytest.approx(100 * np.mean(errors), rel=1e-5)


def test_a_repeated_row_is_a_row_of_twice_the_weight():
    repeated = fit_model(([*THREADS, 8], [*RATES, RATES[3]]), USL)
    weighted = fit_model(points(THREADS, RATES, weights=[1, 1, 1, 2, 1, 1, 1]), USL)
    assert repeated.params == pytest.approx(weighted.params, rel=1e-6)


def test_a_fit_is_the_same_every_time():
    assert fit_model((THREADS, RATES), USL).to_json("a", "b") == fit_model((THREADS, RATES), USL).to_json(
        "a", "b"
    )


def test_a_fixed_parameter_stays_and_is_labelled():
    found = fit_model((THREADS, RATES), USL, fixed={"sigma": 0.05})
    assert found.params["sigma"] == 0.05 and found.free_parameters == 2
    assert [p.status for p in found.parameters][1] == "fixed"


def test_no_start_misses_the_global_optimum():
    """A dense grid over both times finds nothing better than the search did."""
    rates = MACHINE_REPAIRMAN(THREADS, Z_us=59.1, s_us=2.0) * WOBBLE
    found = fit_model((THREADS, rates), MACHINE_REPAIRMAN)
    grid = [
        np.sum(np.log(MACHINE_REPAIRMAN(THREADS, Z_us=z, s_us=s) / rates) ** 2)
        for z in np.linspace(40, 80, 41)
        for s in np.linspace(1, 3, 41)
    ]
    assert found.best.ss <= min(grid)


def test_repr_shows_parameters_intervals_and_both_errors():
    text = repr(fit_model((THREADS, RATES), USL))
    for word in ("usl", "lambda_per_s", "1/s", "identified", "in sample", "leave-one-out"):
        assert word in text


@pytest.mark.slow
def test_compare_does_not_exclude_the_model_that_made_the_table():
    storm = RETRY_STORM(THREADS, Z_us=59.1, s_us=0.2885) * WOBBLE
    ranked = compare_models((THREADS, storm), MODELS.values())
    assert "retry_storm" in ranked.not_told_apart[:3] and "amdahl" not in ranked.not_told_apart
    errors = [one.loo_pct for one in ranked.fits]
    assert errors == sorted(errors)
    rows = json.loads(json.dumps(ranked.to_json("t", "c"), allow_nan=False))
    assert [row["rank"] for row in rows] == list(range(1, len(MODELS) + 1))
    assert "retry_storm" in repr(ranked)


def test_compare_leaves_out_what_the_table_cannot_carry():
    ranked = compare_models(([1, 48], [1e4, 8e4]), MODELS.values())
    assert "usl" in ranked.left_out
    assert set(ranked.left_out) == {name for name, one in MODELS.items() if len(one.parameters) > 2}


@pytest.mark.parametrize(
    "options",
    [
        {"fixed": {"kapa": 0.1}},
        {"fixed": {"sigma": 2}},
        {"fixed": {"sigma": "0.1"}},
        {"fixed": {"lambda_per_s": 0}},
        {"fixed": {"lambda_per_s": 10**400}},
    ],
)
def test_a_value_outside_the_model_is_refused(options):
    with pytest.raises(BadInput):
        fit_model((THREADS, RATES), USL, **options)


@pytest.mark.parametrize("weights", [[1, 1, 1, 0, 1, 1, 1], [1, 1]])
def test_weights_are_positive_and_one_a_row(weights):
    with pytest.raises(BadInput):
        points(THREADS, RATES, weights=weights)


def test_a_model_fixed_where_it_has_no_rate_is_refused():
    with pytest.raises(BadInput, match="gives no rate"):
        fit_model((THREADS, RATES), MACHINE_REPAIRMAN, fixed={"Z_us": 0, "s_us": 0})
