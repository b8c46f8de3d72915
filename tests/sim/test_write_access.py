# SPDX-License-Identifier: MIT
"""S2: one parameter set gives the slow and the fast get_write_access; why the fast one loses."""

import math

import pytest

from lockscale.sim import Result, simulate
from lockscale.studies.write_access import access_calls_of

THREADS = 48
ELSEWHERE_S, HOLD_S = 90e-6, 626e-9
SLOW_PER_S, FAST_PER_S = 119_346, 35_690
CREATES = 2_000_016
SLOW_CALLS, FAST_CALLS = 28_364_899 / CREATES, 103_374_244 / CREATES


def creates(threads: int = THREADS, **given: float | bool) -> Result:
    return simulate("write_access", threads, given, operations=5_000, replications=3)


@pytest.fixture(scope="module")
def slow() -> Result:
    return creates()


@pytest.fixture(scope="module")
def fast() -> Result:
    return creates(fast_access=True)


def test_both_arms_of_s2_from_one_parameter_set(slow: Result, fast: Result) -> None:
    """The published repeats of the slow arm are 14% apart."""
    assert slow.rate_per_s == pytest.approx(SLOW_PER_S, rel=0.14)
    assert fast.rate_per_s == pytest.approx(FAST_PER_S, rel=0.14)
    assert {k for k in slow.parameters if slow.parameters[k] != fast.parameters[k]} == {"fast_access"}
    assert "calibrated" in slow.calibration


def test_calls_of_get_write_access_are_the_cost_tables(slow: Result, fast: Result) -> None:
    assert access_calls_of(slow) == pytest.approx(SLOW_CALLS, rel=0.05)
    assert access_calls_of(fast) == pytest.approx(FAST_CALLS, rel=0.05)
    assert access_calls_of(fast) - fast.attempts_per_op == pytest.approx(7.028)


def test_cheaper_access_makes_slower_creates(slow: Result, fast: Result) -> None:
    assert slow.low is not None and fast.high is not None
    assert slow.low > 2.5 * fast.high


def test_cheap_access_is_a_saturated_storm(fast: Result) -> None:
    """X s W = 1: the group lock never rests; all who are not elsewhere are in the loop."""
    assert fast.rate_per_s * HOLD_S * fast.attempts_per_op == pytest.approx(1, rel=0.02)
    assert fast.attempts_per_op == pytest.approx(THREADS - fast.rate_per_s * ELSEWHERE_S, rel=0.02)


def test_expensive_access_keeps_threads_from_the_group_lock(slow: Result, fast: Result) -> None:
    assert slow.locks["lock_buffer"].waiting_mean > 5 * slow.locks["group lock"].waiting_mean
    assert fast.locks["group lock"].waiting_mean > 40
    assert slow.locks["group lock"].busy < 0.7


def test_paradox_needs_overtaking() -> None:
    """Woken without delay nobody is overtaken: the buffer's queue feeds the storm in order."""
    assert creates(buffer_wake_us=0).attempts_per_op > 40


def test_paradox_needs_a_storm() -> None:
    threads = 16
    assert threads < math.sqrt(4 * ELSEWHERE_S / HOLD_S)
    few_fast, few_slow = creates(threads, fast_access=True), creates(threads)
    assert few_fast.rate_per_s > few_slow.rate_per_s


@pytest.mark.parametrize("fast_access", [False, True])
def test_search_under_the_lock_cures_either_access(fast_access: bool, slow: Result) -> None:
    cured = creates(fast_access=fast_access, search_locked=True)
    assert cured.attempts_per_op == 1
    assert 3 * slow.rate_per_s < cured.rate_per_s < 1.02 * THREADS / (ELSEWHERE_S + HOLD_S)


@pytest.mark.parametrize("backoff_us", [10, 50, 200, 1000])
def test_backoff_helps_but_less_than_the_cure(backoff_us: float, fast: Result) -> None:
    backed_off = creates(fast_access=True, backoff_us=backoff_us)
    cured = creates(fast_access=True, search_locked=True)
    assert fast.high is not None and backed_off.low is not None
    assert fast.high < backed_off.low
    assert backed_off.rate_per_s < 0.8 * cured.rate_per_s
    assert 1 < backed_off.attempts_per_op < fast.attempts_per_op
    assert backed_off.calibration == ""  # its delay is nobody's number


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.8, 1.25])
@pytest.mark.parametrize("name", ["buffer_hold_us", "buffer_wake_us", "elsewhere_us", "hold_ns"])
def test_paradox_does_not_hang_on_a_calibrated_number(name: str, scale: float, slow: Result) -> None:
    value = float(slow.parameters[name]) * scale
    given = {name: value}
    other_slow = simulate("write_access", THREADS, given, operations=5_000)
    other_fast = simulate("write_access", THREADS, {**given, "fast_access": True}, operations=5_000)
    assert other_slow.rate_per_s > 2 * other_fast.rate_per_s
