# SPDX-License-Identifier: MIT
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.queueing.fit import fit_model
from lockscale.queueing.laws.machine_repairman import MACHINE_REPAIRMAN

TIMES_US = st.floats(1e-3, 1e4)


def chain_rate_per_s(threads, think_us, service_us):
    """Stationary solution of the Markov chain: state k = threads at the lock."""
    size = threads + 1
    generator = np.zeros((size, size))
    for k in range(size):
        if k < threads:
            generator[k, k + 1] = (threads - k) / think_us
        if k > 0:
            generator[k, k - 1] = 1 / service_us
        generator[k, k] = -generator[k].sum()
    balance = np.vstack([generator.T[1:], np.ones(size)])
    idle = np.linalg.solve(balance, np.eye(size)[-1])[0]
    return 1e6 * (1 - idle) / service_us


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 24, 48])
@pytest.mark.parametrize(("think_us", "service_us"), [(59.1, 0.2885), (59.1, 2.0), (10.0, 10.0), (1.0, 7.0)])
def test_recursion_equals_the_exact_markov_chain(threads, think_us, service_us):
    rate = MACHINE_REPAIRMAN([threads], Z_us=think_us, s_us=service_us)[0]
    assert rate == pytest.approx(chain_rate_per_s(threads, think_us, service_us), rel=1e-9)


def test_one_thread_never_waits():
    assert MACHINE_REPAIRMAN([1], Z_us=60, s_us=40) == pytest.approx([1e6 / 100])


def test_two_threads_by_hand():
    # Z = s: Q(1) = 1/2, R(2) = 1.5 s, X(2) = 2 / (1 + 1.5) per s
    assert MACHINE_REPAIRMAN([2], Z_us=1, s_us=1) == pytest.approx([0.8e6])


@given(TIMES_US, TIMES_US, st.integers(2, 300))
def test_rate_rises_with_threads_below_both_bounds(think_us, service_us, top):
    n = np.arange(1, top + 1)
    rate = MACHINE_REPAIRMAN(n, Z_us=think_us, s_us=service_us)
    bound = np.minimum(1e6 * n / (think_us + service_us), 1e6 / service_us)
    assert np.all(rate > 0)
    assert np.all(np.diff(rate) >= -1e-12 * rate[1:])
    assert np.all(rate <= bound * (1 + 1e-12))


@given(TIMES_US, TIMES_US, st.permutations([1, 3, 3, 17, 64]))
def test_order_and_repeats_of_thread_counts_do_not_matter(think_us, service_us, threads):
    together = MACHINE_REPAIRMAN(threads, Z_us=think_us, s_us=service_us)
    alone = [MACHINE_REPAIRMAN([n], Z_us=think_us, s_us=service_us)[0] for n in threads]
    assert together.tolist() == pytest.approx(alone, rel=1e-12)


def test_fit_recovers_both_times_across_the_knee():
    threads = [1, 4, 16, 24, 32, 48, 64]
    found = fit_model((threads, MACHINE_REPAIRMAN(threads, Z_us=59.1, s_us=2.0)), MACHINE_REPAIRMAN)
    assert found.params == pytest.approx({"Z_us": 59.1, "s_us": 2.0}, rel=1e-6)


@pytest.mark.parametrize("params", [{"Z_us": -1, "s_us": 1}, {"Z_us": 1, "s_us": float("nan")}, {"Z_us": 1}])
def test_impossible_times_are_refused(params):
    with pytest.raises(BadInput):
        MACHINE_REPAIRMAN([4], **params)
