# SPDX-License-Identifier: MIT
"""What the intervals say of tables that tell little, and of models that are wrong (see test_calibration)."""

import numpy as np
import pytest
from scipy.stats import binom, t

from lockscale.errors import BadInput
from lockscale.queueing import AMDAHL_SPILL, MACHINE_REPAIRMAN, RETRY_STORM, TWO_QUEUE, USL
from lockscale.queueing.evidence import coverage_pct
from lockscale.queueing.fit import fit_model
from lockscale.queueing.interval import noise
from lockscale.queueing.points import points

THREADS = np.array([1, 2, 4, 8, 16, 32, 64])
USL_TRUTH = {"lambda_per_s": 1e5, "sigma": 0.05, "kappa": 0.0008}
REPAIRMAN_TRUTH = {"Z_us": 59.1, "s_us": 2.0}
STORM_TRUTH = {"Z_us": 59.1, "s_us": 0.2885}


def noisy(model, truth, threads, rng, noise=0.05):
    return model(threads, **truth) * np.exp(rng.normal(0, noise, len(threads)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "truth"),
    [(USL, USL_TRUTH), (MACHINE_REPAIRMAN, REPAIRMAN_TRUTH), (RETRY_STORM, STORM_TRUTH)],
    ids=["usl", "machine_repairman", "retry_storm"],
)
def test_predictions_cover_a_new_run_beyond_the_table(model, truth):
    rng = np.random.default_rng(20)
    tables, hits = 40, 0
    for _ in range(tables):
        found = fit_model((THREADS, noisy(model, truth, THREADS, rng)), model)
        new_run = noisy(model, truth, [96], rng)[0]
        predicted = found.predict([96])
        hits += predicted.low[0] <= new_run <= predicted.high[0]
    low, high = binom.ppf([0.001, 0.999], tables, 0.95)
    assert low <= hits <= high


@pytest.mark.parametrize("seed", range(5))
def test_data_before_the_knee_cannot_identify_crosstalk(seed):
    rng = np.random.default_rng(seed)
    threads = [1, 2, 3, 4, 6, 8]
    found = fit_model((threads, noisy(USL, USL_TRUTH, threads, rng)), USL)
    kappa = found.parameters[2]
    assert kappa.status in ("open-low", "open-high", "at-bound")
    assert kappa.low == 0


def test_data_before_the_knee_cannot_identify_the_lock():
    rng = np.random.default_rng(1)
    threads = [1, 2, 3, 4]
    table = noisy(MACHINE_REPAIRMAN, {"Z_us": 59.1, "s_us": 0.3}, threads, rng, noise=0.03)
    think, service = fit_model((threads, table), MACHINE_REPAIRMAN).parameters
    assert think.status == "identified"
    assert service.status in ("open-low", "at-bound")


def test_saturated_data_alone_cannot_identify_the_think_time():
    rng = np.random.default_rng(2)
    threads = [64, 96, 128, 160]
    table = noisy(MACHINE_REPAIRMAN, REPAIRMAN_TRUTH, threads, rng, noise=0.01)
    think, service = fit_model((threads, table), MACHINE_REPAIRMAN).parameters
    assert think.status in ("open-low", "at-bound")
    assert service.status == "identified"


def test_a_curve_that_never_falls_has_crosstalk_at_its_bound():
    found = fit_model((THREADS, 1000 * THREADS**1.02), USL)
    assert [p.status for p in found.parameters[1:]] == ["at-bound", "at-bound"]
    assert (found.params["sigma"], found.params["kappa"]) == (0, 0)


def test_no_degree_of_freedom_gives_no_interval():
    found = fit_model(([1, 8, 64], USL([1, 8, 64], **USL_TRUTH)), USL)
    assert found.calibrated and found.loo_pct is None
    assert all((p.low, p.high, p.status) == (None, None, "calibrated") for p in found.parameters)
    assert np.isnan(found.predict([32]).low).all()


def test_two_queues_that_may_change_places_are_not_identified_as_one_order():
    """Without collapse the data cannot say which of the two is the longer: both orders are inside."""
    rng = np.random.default_rng(3)
    truth = {"Z_us": 50.0, "s_us": 4.0, "c_us": 0.0, "j_us": 10.0}
    threads = np.array([1, 2, 4, 8, 16, 32, 64, 128])
    table = noisy(TWO_QUEUE, truth, np.repeat(threads, 4), rng, noise=0.02)
    first, second = (
        p for p in fit_model((np.repeat(threads, 4), table), TWO_QUEUE).parameters if p.name in "s_us j_us"
    )
    for p in (first, second):
        assert p.low < 4.4 and p.high > 9.6


def test_a_bound_is_not_excluded_when_another_parameter_can_take_over():
    """No kink: Amdahl's slope may be sigma, or rho from M = 1 on with sigma 0."""
    rng = np.random.default_rng(4)
    truth = {"lambda_per_s": 1e5, "sigma": 0.2, "rho": 0.0, "M_threads": 10.0}
    threads = np.array([1, 2, 4, 8, 16, 32, 64, 128])
    found = fit_model((threads, noisy(AMDAHL_SPILL, truth, threads, rng)), AMDAHL_SPILL)
    status = {p.name: p.status for p in found.parameters}
    assert status["lambda_per_s"] == "identified"
    assert "identified" not in (status["sigma"], status["rho"], status["M_threads"])


def test_a_bound_above_zero_holds():
    found = fit_model((THREADS, 1000 * THREADS / (1 + 0.1 * (THREADS - 1))), AMDAHL_SPILL)
    assert all(p.low is None or p.low >= 1 for p in found.parameters if p.name == "M_threads")
    assert found.params["M_threads"] >= 1


@pytest.mark.parametrize("most", [32, 64])
def test_a_bound_above_zero_is_told_however_long_the_table_is(most):
    """All of this table is beyond M: the digits of its logarithm depend on the most threads."""
    threads = np.array([n for n in THREADS if n <= most])
    rates = 1e5 * threads / (1 + 0.2 * (threads - 0.5))
    found = fit_model((threads, rates), AMDAHL_SPILL, fixed={"lambda_per_s": 1e5, "sigma": 0})
    assert {p.name: p.status for p in found.parameters}["M_threads"] == "at-bound"


def test_repeats_narrow_the_interval():
    rng = np.random.default_rng(5)

    def mean_width(repeats):
        threads = np.repeat(THREADS, repeats)
        found = [fit_model((threads, noisy(USL, USL_TRUTH, threads, rng)), USL) for _ in range(8)]
        return np.mean([f.parameters[1].high - f.parameters[1].low for f in found])

    # theory: sqrt(8) from the mean, 2.78 / 2.01 from Student's t
    assert 2.5 < mean_width(1) / mean_width(8) < 6


def test_repeats_do_not_hide_that_the_model_is_wrong():
    """A storm fitted with a model that cannot fall: the misfit sets the width, not the repeats."""
    rng = np.random.default_rng(6)
    many = np.repeat(THREADS, 8)
    found = fit_model((many, noisy(RETRY_STORM, STORM_TRUTH, many, rng, noise=0.01)), MACHINE_REPAIRMAN)
    predicted = found.predict([32])
    worst = np.exp(np.abs(found.residuals_pct).max() / 100)
    assert predicted.high[0] / predicted.low[0] > worst**2


def test_a_prediction_inside_the_table_is_tighter_than_far_outside():
    rng = np.random.default_rng(7)
    predicted = fit_model((THREADS, noisy(USL, USL_TRUTH, THREADS, rng)), USL).predict([16, 512])
    width = np.log(predicted.high / predicted.low)
    assert width[1] > 2 * width[0]


def test_prediction_of_one_constant_is_the_textbook_interval():
    """lambda alone is a linear model of ln X: mean +- t s sqrt(1 + 1/n), exactly."""
    logs = np.array([0.02, -0.03, 0.05, 0.0, -0.04])
    threads = np.array([1, 2, 3, 4, 5])
    found = fit_model((threads, threads * 1000 * np.exp(logs)), USL, fixed={"sigma": 0, "kappa": 0})
    half = 2.776445 * logs.std(ddof=1) * np.sqrt(1 + 1 / 5)
    predicted = found.predict([10])
    assert np.log(predicted.low / 10_000) == pytest.approx([logs.mean() - half], abs=1e-4)
    assert np.log(predicted.high / 10_000) == pytest.approx([logs.mean() + half], abs=1e-4)


CONSTANT = {"sigma": 0, "kappa": 0}


def repeated(means, spread):
    """Three runs at each of some thread counts, of which all do 1000 a thread: their ln(rate / threads)."""
    return np.add.outer(np.asarray(means), spread * np.array([-1.0, 0.0, 1.0]))


def fitted_constant(logs):
    threads = np.repeat(np.arange(1, len(logs) + 1), 3)
    return fit_model((threads, threads * 1000 * np.exp(logs.ravel())), USL, fixed=CONSTANT)


@pytest.mark.parametrize("runs", [1, 3, 12])
def test_prediction_of_a_mean_is_the_textbook_interval_too(runs):
    """mean +- t s sqrt(1/m + 1/n): m runs more, n so far."""
    logs = repeated([0.02, -0.03, 0.01, 0.0, -0.02], 0.03)
    half = t.ppf(0.975, logs.size - 1) * logs.std(ddof=1) * np.sqrt(1 / runs + 1 / logs.size)
    predicted = fitted_constant(logs).predict([10, 20], runs=[runs, runs])
    for ends, at in ((predicted.low, logs.mean() - half), (predicted.high, logs.mean() + half)):
        assert np.log(ends / [10_000, 20_000]) == pytest.approx([at, at], abs=1e-4)


@pytest.mark.parametrize("runs", [0, -1, [1, 2, 3], [1, float("nan")], "many"])
def test_a_number_of_runs_that_is_none_is_refused(runs):
    found = fitted_constant(repeated([0.02, -0.03, 0.01], 0.03))
    with pytest.raises(BadInput, match="runs "):
        found.predict([10, 20], runs=runs)


def test_where_the_model_is_wrong_a_mean_of_as_many_runs_varies_as_the_points_do():
    """Analysis of variance: between points and within; no number of repeats takes away what is between."""
    logs = repeated([0.2, -0.3, 0.1, 0.0, -0.2], 0.01)
    means = logs.mean(axis=1)
    between, within = means.var(ddof=1), logs.var(axis=1, ddof=1).mean()
    found = fitted_constant(logs).noise
    assert found.of_mean(3) == pytest.approx(between) and found.dof == 4
    assert found.of_mean(1) == found.row == pytest.approx(between - within / 3 + within)
    assert found.of_mean(1e9) == pytest.approx(between - within / 3)


def test_coverage_is_of_the_means_that_the_points_are():
    """By hand for a constant: the point at 5 threads is inside the interval of one run, not that of three."""
    logs = repeated([0.01, -0.01, 0.005, -0.005, 0.06, 0.0], 0.05)
    held = []
    for k, at in enumerate(logs.mean(axis=1)):
        rest = np.delete(logs, k, axis=0)
        squares = rest.var() * rest.size + logs[k].var() * 3  # the noise of repeats is known from all of them
        freedom = rest.size - 1 + 2
        far = abs(at - rest.mean()) / np.sqrt(squares / freedom)
        held.append([far <= t.ppf(0.975, freedom) * np.sqrt(1 / m + 1 / rest.size) for m in (1, 3)])
    of_one_run, of_three = np.mean(held, axis=0)
    assert (of_one_run, of_three) == (1, pytest.approx(5 / 6))
    assert coverage_pct(fitted_constant(logs)) == pytest.approx(100 * of_three)


def test_without_repeats_a_point_of_several_runs_weighs_as_much_as_they_do():
    """Weights alone: a variance of 1/4 of a run's, so a prediction of four runs is half as far off."""
    table = points([1, 2, 3, 4], 1000 * np.exp([0.02, -0.01, 0.0, -0.01]), weights=[4, 4, 4, 4])
    found = noise(table, 8e-4, 1)
    assert found.of_mean(4) == pytest.approx(found.row / 4)
