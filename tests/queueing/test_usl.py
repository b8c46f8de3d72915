# SPDX-License-Identifier: MIT
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from lockscale.queueing.fit import fit_model
from lockscale.queueing.laws.usl import USL

TRUTH = {"lambda_per_s": 14_000.0, "sigma": 0.06, "kappa": 0.0015}
THREADS = np.array([1, 2, 4, 8, 16, 32, 64])


def test_rate_by_hand():
    # 8 * 1000 / (1 + 0.05 * 7 + 0.01 * 56) = 8000 / 1.91
    assert USL([8], lambda_per_s=1000, sigma=0.05, kappa=0.01) == pytest.approx([8000 / 1.91])


def test_fit_agrees_with_curve_fit_on_noisy_data():
    rng = np.random.default_rng(3)
    noisy = USL(THREADS, **TRUTH) * np.exp(rng.normal(0, 0.03, THREADS.size))

    def log_rate(n, log_lambda, sigma, kappa):
        return log_lambda + np.log(n) - np.log(1 + sigma * (n - 1) + kappa * n * (n - 1))

    oracle, covariance = curve_fit(log_rate, THREADS, np.log(noisy), p0=[9.0, 0.1, 0.001])
    found = fit_model((THREADS, noisy), USL)
    assert list(found.params.values()) == pytest.approx([np.exp(oracle[0]), oracle[1], oracle[2]], rel=1e-4)
    # 4 degrees of freedom: Student's t is 2.776; sigma and kappa are close to linear here
    for estimate, k in zip(found.parameters[1:], (1, 2), strict=True):
        width = 2 * 2.776 * np.sqrt(covariance[k, k])
        assert estimate.high - estimate.low == pytest.approx(width, rel=0.15)


def test_linear_least_squares_of_gunther_agrees():
    """N/X is linear in (1, N-1, N(N-1)) / lambda; the weights make its residuals relative."""
    rng = np.random.default_rng(4)
    noisy = USL(THREADS, **TRUTH) * np.exp(rng.normal(0, 0.002, THREADS.size))
    share = noisy / THREADS
    columns = np.column_stack([share, share * (THREADS - 1), share * THREADS * (THREADS - 1)])
    (a, b, c), *_ = np.linalg.lstsq(columns, np.ones(THREADS.size), rcond=None)
    found = fit_model((THREADS, noisy), USL)
    assert list(found.params.values()) == pytest.approx([1 / a, b / a, c / a], rel=2e-3)


@given(
    st.floats(1e-3, 1e9),
    st.floats(0, 1),
    st.floats(0, 1),
    st.lists(st.integers(1, 5000), min_size=1),
)
def test_rate_is_positive_and_never_better_than_linear(lambda_per_s, sigma, kappa, threads):
    rate = USL(threads, lambda_per_s=lambda_per_s, sigma=sigma, kappa=kappa)
    assert np.all(rate > 0)
    assert np.all(rate <= np.array(threads) * lambda_per_s * (1 + 1e-12))


@given(st.floats(0, 0.9), st.floats(1e-5, 0.1))
def test_the_peak_is_where_the_formula_says(sigma, kappa):
    peak = np.sqrt((1 - sigma) / kappa)
    n = np.arange(1, int(peak) + 3)
    best = n[np.argmax(USL(n, lambda_per_s=1, sigma=sigma, kappa=kappa))]
    assert abs(best - peak) <= 1
