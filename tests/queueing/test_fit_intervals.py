# SPDX-License-Identifier: MIT
"""Do the intervals mean what they say? Synthetic tables with known truth."""

import numpy as np
import pytest
from scipy.stats import binom

from lockscale.queueing import MACHINE_REPAIRMAN, RETRY_STORM, USL
from lockscale.queueing.fit import fit

THREADS = np.array([1, 2, 4, 8, 16, 32, 64])
USL_TRUTH = {"lambda_per_s": 1e5, "sigma": 0.05, "kappa": 0.0008}
REPAIRMAN_TRUTH = {"Z_us": 59.1, "s_us": 2.0}
STORM_TRUTH = {"Z_us": 59.1, "s_us": 0.2885}


def noisy(model, truth, threads, rng, noise=0.05):
    return model(threads, **truth) * np.exp(rng.normal(0, noise, len(threads)))


@pytest.mark.parametrize(
    ("model", "truth", "tables"),
    [
        (USL, USL_TRUTH, 100),
        (MACHINE_REPAIRMAN, REPAIRMAN_TRUTH, 40),
        (RETRY_STORM, STORM_TRUTH, 40),
    ],
    ids=["usl", "machine_repairman", "retry_storm"],
)
def test_intervals_of_identified_parameters_cover_the_truth(model, truth, tables):
    rng = np.random.default_rng(20)
    covered = {name: [] for name in truth}
    ahead = []
    for _ in range(tables):
        found = fit(THREADS, noisy(model, truth, THREADS, rng), model)
        for p in found.parameters:
            if p.status == "identified":
                covered[p.name].append(p.low <= truth[p.name] <= p.high)
        new_run = noisy(model, truth, [96], rng)[0]
        predicted = found.predict([96])
        ahead.append(predicted.low[0] <= new_run <= predicted.high[0])
    for hits in [*covered.values(), ahead]:
        assert len(hits) > 0.8 * tables  # else too few are identified to judge coverage
        # seven checks in this file: 0.1% tails keep them honest and quiet
        low, high = binom.ppf([0.001, 0.999], len(hits), 0.95)
        assert low <= sum(hits) <= high


@pytest.mark.parametrize("seed", range(5))
def test_data_before_the_knee_cannot_identify_crosstalk(seed):
    rng = np.random.default_rng(seed)
    threads = [1, 2, 3, 4, 6, 8]
    found = fit(threads, noisy(USL, USL_TRUTH, threads, rng), USL)
    kappa = found.parameters[2]
    assert kappa.status in ("open-low", "open-high", "at-bound")
    assert kappa.low == 0


def test_data_before_the_knee_cannot_identify_the_lock():
    rng = np.random.default_rng(1)
    threads = [1, 2, 3, 4]
    table = noisy(MACHINE_REPAIRMAN, {"Z_us": 59.1, "s_us": 0.3}, threads, rng, noise=0.03)
    think, service = fit(threads, table, MACHINE_REPAIRMAN).parameters
    assert think.status == "identified"
    assert service.status in ("open-low", "at-bound")


def test_saturated_data_alone_cannot_identify_the_think_time():
    rng = np.random.default_rng(2)
    threads = [64, 96, 128, 160]
    table = noisy(MACHINE_REPAIRMAN, REPAIRMAN_TRUTH, threads, rng, noise=0.01)
    think, service = fit(threads, table, MACHINE_REPAIRMAN).parameters
    assert think.status in ("open-low", "at-bound")
    assert service.status == "identified"


def test_a_curve_that_never_falls_has_crosstalk_at_its_bound():
    found = fit(THREADS, 1000 * THREADS**1.02, USL)
    assert [p.status for p in found.parameters[1:]] == ["at-bound", "at-bound"]
    assert (found.params["sigma"], found.params["kappa"]) == (0, 0)


def test_no_degree_of_freedom_gives_no_interval():
    found = fit([1, 8, 64], USL([1, 8, 64], **USL_TRUTH), USL)
    assert found.calibrated and found.loo_pct is None
    assert all((p.low, p.high, p.status) == (None, None, "calibrated") for p in found.parameters)
    assert np.isnan(found.predict([32]).low).all()


def test_repeats_narrow_the_interval():
    rng = np.random.default_rng(5)

    def mean_width(repeats):
        threads = np.repeat(THREADS, repeats)
        found = [fit(threads, noisy(USL, USL_TRUTH, threads, rng), USL) for _ in range(8)]
        return np.mean([f.parameters[1].high - f.parameters[1].low for f in found])

    # theory: sqrt(8) from the mean, 2.78 / 2.01 from Student's t
    assert 2.5 < mean_width(1) / mean_width(8) < 6


def test_repeats_do_not_hide_that_the_model_is_wrong():
    """A storm fitted with a model that cannot fall: the misfit sets the width, not the repeats."""
    rng = np.random.default_rng(6)
    many = np.repeat(THREADS, 8)
    found = fit(many, noisy(RETRY_STORM, STORM_TRUTH, many, rng, noise=0.01), MACHINE_REPAIRMAN)
    predicted = found.predict([32])
    worst = np.exp(np.abs(found.residuals_pct).max() / 100)
    assert predicted.high[0] / predicted.low[0] > worst**2


def test_a_prediction_inside_the_table_is_tighter_than_far_outside():
    rng = np.random.default_rng(7)
    predicted = fit(THREADS, noisy(USL, USL_TRUTH, THREADS, rng), USL).predict([16, 512])
    width = np.log(predicted.high / predicted.low)
    assert width[1] > 2 * width[0]


def test_prediction_of_one_constant_is_the_textbook_interval():
    """lambda alone is a linear model of ln X: mean +- t s sqrt(1 + 1/n), exactly."""
    logs = np.array([0.02, -0.03, 0.05, 0.0, -0.04])
    threads = np.array([1, 2, 3, 4, 5])
    found = fit(threads, threads * 1000 * np.exp(logs), USL, fixed={"sigma": 0, "kappa": 0})
    half = 2.776445 * logs.std(ddof=1) * np.sqrt(1 + 1 / 5)
    predicted = found.predict([10])
    assert np.log(predicted.low / 10_000) == pytest.approx([logs.mean() - half], abs=1e-4)
    assert np.log(predicted.high / 10_000) == pytest.approx([logs.mean() + half], abs=1e-4)
