# SPDX-License-Identifier: MIT
"""Knee, ceiling, saturation and collapse against closed forms, and their intervals against the truth."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from lockscale.errors import BadInput
from lockscale.queueing import MACHINE_REPAIRMAN, RETRY_STORM, USL
from lockscale.queueing.diagnosis import diagnose
from lockscale.queueing.evidence import tell_apart
from lockscale.queueing.fit import fit_model
from lockscale.queueing.laws.usl import AMDAHL_SPILL

THREADS = np.array([1, 2, 4, 8, 16, 24, 32, 48, 64])
TRUTH = {"lambda_per_s": 1e5, "sigma": 0.05, "kappa": 0.001}


def landmarks(model, params, threads=THREADS):
    wobble = np.exp(1e-3 * (-1.0) ** np.arange(len(threads)))
    found = fit_model((threads, model(threads, **params) * wobble), model)
    return {one.name: one for one in diagnose(found)}


def usl_knee(sigma, kappa):
    """d ln X / d ln N = 1/2 by hand: 3 kappa N^2 + (sigma - kappa) N - (1 - sigma) = 0."""
    b = sigma - kappa
    return (-b + np.sqrt(b**2 + 12 * kappa * (1 - sigma))) / (6 * kappa)


def test_landmarks_of_the_usl_are_its_closed_forms():
    found = landmarks(USL, TRUTH)
    peak = np.sqrt((1 - TRUTH["sigma"]) / TRUTH["kappa"])
    top = 1e5 * peak / (1 + 0.05 * (peak - 1) + 0.001 * peak * (peak - 1))
    assert found["knee_threads"].value == pytest.approx(usl_knee(0.05, 0.001), rel=0.01)
    assert found["collapse_threads"].value == pytest.approx(peak, rel=0.01)
    assert found["ceiling_per_s"].value == pytest.approx(top, rel=1e-3)
    first = found["saturation_threads"].value
    assert USL([np.floor(first)], **TRUTH)[0] < 0.95 * top < USL([np.ceil(first)], **TRUTH)[0]


@pytest.mark.parametrize(("sigma", "kappa"), [(0.02, 0.0005), (0.0, 0.01), (0.1, 0.0001), (0.3, 0.002)])
def test_the_saturation_of_a_law_is_where_it_has_95_percent_of_its_peak(sigma: float, kappa: float):
    """X(N) = 0.95 X(peak) is a quadratic in N."""
    law = {"lambda_per_s": 1e4, "sigma": sigma, "kappa": kappa}
    found = fit_model((THREADS, USL(THREADS, **law)), USL)
    first = {one.name: one for one in diagnose(found)}["saturation_threads"].value
    peak = np.sqrt((1 - sigma) / kappa)
    slope = 1 / (0.95 * (peak / (1 + sigma * (peak - 1) + kappa * peak * (peak - 1))))
    lower = np.roots([kappa, sigma - kappa - slope, 1 - sigma]).min()
    assert first == pytest.approx(lower, rel=2e-4)


def test_a_lock_that_saturates_has_a_ceiling_and_no_collapse():
    found = landmarks(MACHINE_REPAIRMAN, {"Z_us": 59.1, "s_us": 2.0})
    assert found["ceiling_per_s"].value == pytest.approx(1e6 / 2.0, rel=1e-3)
    assert found["collapse_threads"].value is None and found["collapse_threads"].status == "none"
    # before N* = (Z + s) / s the rate is nearly N / (Z + s), after it nearly 1 / s
    assert 0.7 * 30.55 < found["knee_threads"].value < 1.1 * 30.55


def test_a_storm_collapses_where_it_begins():
    """A storm needs s > 4 Z / N^2: here N = 28.6, so 28 threads are the last without one."""
    found = landmarks(RETRY_STORM, {"Z_us": 59.1, "s_us": 0.2885}, np.arange(4, 60, 4))
    assert found["collapse_threads"].value == pytest.approx(28.6, abs=1.5)


def test_knee_and_ceiling_of_a_table_before_them_are_open_and_beyond_it():
    rng = np.random.default_rng(0)
    threads = np.array([1, 2, 3, 4])
    table = MACHINE_REPAIRMAN(threads, Z_us=59.1, s_us=0.3) * np.exp(rng.normal(0, 0.03, 4))
    found = {one.name: one for one in diagnose(fit_model((threads, table), MACHINE_REPAIRMAN))}
    for name in ("knee_threads", "ceiling_per_s", "saturation_threads"):
        assert found[name].high is None and found[name].extrapolated
    assert found["knee_threads"].low > 4


def test_the_interval_of_the_ceiling_is_that_of_the_parameter_it_is():
    """Profile likelihood is invariant: the ceiling of a saturated lock is 1 / s, ends and all."""
    rng = np.random.default_rng(1)
    table = MACHINE_REPAIRMAN(THREADS, Z_us=20.0, s_us=2.0) * np.exp(rng.normal(0, 0.03, 9))
    found = fit_model((THREADS, table), MACHINE_REPAIRMAN)
    service = found.parameters[1]
    ceiling = diagnose(found)[1]
    assert (ceiling.low, ceiling.high) == pytest.approx((1e6 / service.high, 1e6 / service.low), rel=2e-3)


@pytest.mark.slow
def test_intervals_cover_the_true_landmarks():
    rng = np.random.default_rng(2)
    truth = {name: one.value for name, one in landmarks(USL, TRUTH).items()}
    held = []
    for _ in range(8):
        table = USL(THREADS, **TRUTH) * np.exp(rng.normal(0, 0.03, 9))
        found = diagnose(fit_model((THREADS, table), USL))
        held.append([one.low <= truth[one.name] <= one.high for one in found if one.status == "identified"])
        assert len(held[-1]) == 4
    for count in np.sum(held, axis=0):
        assert count >= binom.ppf(0.001, 8, 0.95)


def test_calibrated_and_fixed_fits_have_landmarks_without_intervals():
    calibrated = fit_model(([1, 8, 64], USL([1, 8, 64], **TRUTH)), USL)
    fixed = fit_model((THREADS, USL(THREADS, **TRUTH)), USL, fixed=TRUTH)
    for found, status in ((calibrated, "calibrated"), (fixed, "fixed")):
        for one in diagnose(found):
            assert one.value and (one.low, one.high, one.status) == (None, None, status)


@pytest.mark.slow
@settings(max_examples=4)
@given(
    st.sampled_from([USL, MACHINE_REPAIRMAN]),
    st.lists(st.tuples(st.integers(1, 64), st.floats(1e-3, 1e9)), min_size=4, max_size=7),
)
def test_any_fit_has_landmarks_in_order(model, rows):
    threads, values = zip(*rows, strict=True)
    try:
        found = fit_model((threads, values), model)
    except BadInput:
        return
    for one in diagnose(found):
        json.dumps(vars(one), allow_nan=False)
        assert one.value is None or one.low is None or one.low <= one.value
        assert one.value is None or one.high is None or one.value <= one.high


def test_landmarks_as_text_name_unit_and_interval():
    text = "\n".join(map(str, landmarks(USL, TRUTH).values()))
    for word in ("knee", "threads", "ceiling", "1/s", "collapse", "identified"):
        assert word in text


def noisy_fits(models, noise=0.03):
    rng = np.random.default_rng(3)
    threads = np.arange(1, 9)
    table = USL(threads, **TRUTH) * np.exp(rng.normal(0, noise, 8))
    return [fit_model((threads, table), model) for model in models]


def test_models_are_told_apart_where_one_of_them_falls():
    """Before the knee both are lines; far beyond it the USL falls and the repairman stays."""
    rng = np.random.default_rng(3)
    table = USL(THREADS, **TRUTH) * np.exp(rng.normal(0, 0.03, 9))
    found = tell_apart(
        *(fit_model((THREADS, table), model) for model in (USL, MACHINE_REPAIRMAN)), [2, 12, 128, 256]
    )
    assert [one.threads for one in found][:2] == [256, 128]
    assert found[-1].separation < 0.5 < 2 < found[0].separation


def test_separation_is_the_edge_of_the_prediction_interval():
    """At separation 1 the one model's rate lies on the edge of the other's interval for one more run."""
    usl, repairman = noisy_fits([USL, MACHINE_REPAIRMAN])
    for one in tell_apart(usl, repairman, range(10, 200, 10)):
        sides = []
        for mine, theirs in ((usl, one.rates_per_s[1]), (repairman, one.rates_per_s[0])):
            edge = mine.predict([one.threads])
            sides.append(not edge.low[0] <= theirs <= edge.high[0])
        if abs(one.separation - 1) > 0.01:
            assert all(sides) == (one.separation > 1)


def test_less_noise_tells_models_further_apart():
    loud, quiet = (tell_apart(*noisy_fits([USL, MACHINE_REPAIRMAN], n), [64])[0] for n in (0.05, 0.005))
    assert quiet.separation > 3 * loud.separation


def test_a_model_is_never_told_from_itself():
    one, again = noisy_fits([USL, USL])
    assert max(c.separation for c in tell_apart(one, again, [16, 64])) < 1e-3


def test_calibrated_fits_cannot_plan_a_measurement():
    one = fit_model(([1, 8, 64], USL([1, 8, 64], **TRUTH)), USL)
    with pytest.raises(BadInput, match="no estimate of the noise"):
        tell_apart(one, one, [4])


@pytest.mark.parametrize("threads", [[0], [1.5], ["many"], [10**7]])
def test_candidates_are_thread_counts(threads):
    with pytest.raises(BadInput):
        tell_apart(*noisy_fits([USL, MACHINE_REPAIRMAN]), threads)


@pytest.mark.slow
def test_the_kink_of_a_curve_has_an_interval_too():
    """No slope leads along M, where Amdahl's law spills over: a scan of fits with M fixed is the oracle."""
    rng = np.random.default_rng(4)
    truth = {"lambda_per_s": 1e5, "sigma": 0.02, "rho": 0.2, "M_threads": 20.0}
    table = AMDAHL_SPILL(THREADS, **truth) * np.exp(rng.normal(0, 0.06, 9))
    whole = fit_model((THREADS, table), AMDAHL_SPILL)
    (collapse,) = (one for one in diagnose(whole) if one.name == "collapse_threads")
    scan = [fit_model((THREADS, table), AMDAHL_SPILL, fixed={"M_threads": m}) for m in np.arange(12.0, 32)]
    inside = [one.params["M_threads"] for one in scan if one.best.ss < whole.best.ss + whole.noise.limit]
    assert collapse.high - collapse.low > 3
    assert (collapse.low, collapse.high) == pytest.approx((min(inside), max(inside)), abs=1.5)
