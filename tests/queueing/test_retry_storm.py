# SPDX-License-Identifier: MIT
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.queueing.fit import fit_model
from lockscale.queueing.laws.retry_storm import (
    GOOD_STATE,
    RETRY_STORM,
    attempts_per_create,
    gain_from_attempts,
    threshold_us,
)

S1 = {"Z_us": 59.1, "s_us": 0.2885}
S1_PUBLISHED_BEFORE = [79_033, 81_463, 79_875]
S1_PUBLISHED_AFTER = [810_669, 812_805, 813_965]
TIMES_US = st.floats(1e-3, 1e4)


def cure_gain(threads, think_us, attempt_us):
    """Rate without a storm over rate in it, where an attempt costs the same after the cure."""
    times = {"Z_us": think_us, "s_us": attempt_us}
    return GOOD_STATE(threads, **times) / RETRY_STORM(threads, **times)


def test_s1_rate_and_attempts_by_hand():
    # 4 Z/s = 819.41; sqrt(2304 - 819.41) = 38.530; X = 9.4697 / 118.2 us; W = 86.530 / 2
    rate = RETRY_STORM([48], **S1)[0]
    assert rate == pytest.approx(80_115, rel=1e-4)
    assert attempts_per_create([48], **S1)[0] == pytest.approx(43.265, abs=0.001)


def test_s1_calibration_lies_within_three_percent_of_both_published_rates():
    assert RETRY_STORM([48], **S1)[0] == pytest.approx(np.mean(S1_PUBLISHED_BEFORE), rel=0.03)
    assert GOOD_STATE([48], **S1)[0] == pytest.approx(np.mean(S1_PUBLISHED_AFTER), rel=0.03)


def test_s1_gain_of_the_cure():
    assert cure_gain([48], *S1.values())[0] == pytest.approx(10.14, rel=0.01)
    assert gain_from_attempts(48, 43.265) == pytest.approx(48 / 4.735, rel=1e-9)


@given(st.integers(2, 4096), TIMES_US, TIMES_US)
def test_the_storm_satisfies_its_law(threads, think_us, attempt_us):
    assume(attempt_us > 1.001 * threshold_us(threads, think_us))
    rate_per_us = RETRY_STORM([threads], Z_us=think_us, s_us=attempt_us)[0] / 1e6
    waiters = attempts_per_create([threads], think_us, attempt_us)[0]
    assert rate_per_us * attempt_us * waiters == pytest.approx(1, rel=1e-9)
    assert waiters == pytest.approx(threads - rate_per_us * think_us, rel=1e-9)


@given(st.integers(1, 4096), TIMES_US, TIMES_US)
def test_the_storm_is_never_better_than_the_good_state(threads, think_us, attempt_us):
    rate = RETRY_STORM([threads], Z_us=think_us, s_us=attempt_us)[0]
    good = GOOD_STATE([threads], Z_us=think_us, s_us=attempt_us)[0]
    assert 0 < rate <= good * (1 + 1e-12)
    assert good <= min(threads * 1e6 / (think_us + attempt_us), 1e6 / attempt_us) * (1 + 1e-12)


@given(st.integers(2, 1000), st.floats(1, 1000))
def test_storm_needs_a_lock_time_above_the_threshold(threads, think_us):
    limit = threshold_us(threads, think_us)
    assert attempts_per_create([threads], think_us, 0.999 * limit)[0] == 1
    assert attempts_per_create([threads], think_us, 1.001 * limit)[0] >= threads / 2
    assert cure_gain([threads], think_us, 0.999 * limit)[0] == 1


def test_the_storm_is_a_stable_rest_point_and_a_short_queue_drains():
    """Integrate dW/dt = (N - W)/Z - 1/(s W) from both sides of the unstable point."""
    threads, think_us, attempt_us = 48, 59.1, 0.2885
    unstable = (threads - np.sqrt(threads**2 - 4 * think_us / attempt_us)) / 2

    def settle(waiters):
        for _ in range(20_000):
            waiters += 0.1 * ((threads - waiters) / think_us - 1 / (attempt_us * waiters))
            if waiters < 1:
                return 1.0
        return waiters

    storm = attempts_per_create([threads], think_us, attempt_us)[0]
    assert settle(1.1 * unstable) == pytest.approx(storm, rel=1e-3)
    assert settle(48.0) == pytest.approx(storm, rel=1e-3)
    assert settle(0.9 * unstable) == 1.0


def test_one_thread_has_nobody_to_lose_to():
    assert RETRY_STORM([1], Z_us=1, s_us=100)[0] == pytest.approx(1e6 / 101)
    assert threshold_us(1, 59.1) == np.inf


def test_s_from_three_runs_at_one_thread_count_is_labelled_calibrated():
    found = fit_model(([48] * 3, S1_PUBLISHED_BEFORE), RETRY_STORM, fixed={"Z_us": 59.1})
    think, attempt = found.parameters
    rate_per_us = np.exp(np.mean(np.log(S1_PUBLISHED_BEFORE))) / 1e6
    assert attempt.value == pytest.approx(1 / (rate_per_us * (48 - rate_per_us * 59.1)), rel=1e-6)
    assert attempt.low < attempt.value < attempt.high
    assert (found.calibrated, found.loo_pct, think.status) == (True, None, "fixed")


def test_fit_finds_both_times_from_a_storm_and_its_quiet_side():
    threads = [1, 4, 8, 16, 32, 40, 48]
    found = fit_model((threads, RETRY_STORM(threads, **S1)), RETRY_STORM)
    assert found.params == pytest.approx(S1, rel=1e-4)


@pytest.mark.parametrize("attempts", [48, 50, -1, float("nan")])
def test_a_gain_needs_fewer_attempts_than_threads(attempts):
    with pytest.raises(BadInput):
        gain_from_attempts(48, attempts)
