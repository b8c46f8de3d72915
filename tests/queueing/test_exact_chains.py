# SPDX-License-Identifier: MIT
"""Models with a closed form against their Markov chains, solved without it: equal to 1e-9."""

import numpy as np
import pytest
from ctmc import closed_network
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.queueing.closed_chain import in_series_us
from lockscale.queueing.laws.boyd_wickizer import (
    BOYD_WICKIZER,
    REPAIRMAN_SHARING,
    TWO_QUEUE,
    TWO_QUEUE_SHARING,
)
from lockscale.queueing.laws.machine_repairman import (
    HAND_OVER,
    IMPATIENT,
    IMPATIENT_SATURATED,
    MACHINE_REPAIRMAN,
    TWO_STATIONS,
)
from lockscale.queueing.laws.usl import AMDAHL

Z, S, C, J, H, T, MOVED = 30.0, 1.5, 0.4, 2.5, 0.8, 40.0, 12.0


def queue(demand):
    return lambda _: 1 / demand


def ticket(k):
    return 1 / (S + C * (k - 1) / 2)


CASES = {
    **{
        f"machine repairman, {think} and {demand}": (
            MACHINE_REPAIRMAN,
            {"Z_us": think, "s_us": demand},
            think,
            [queue(demand)],
        )
        for think, demand in ((Z, S), (59.1, 0.2885), (59.1, 2.0), (10.0, 10.0), (1.0, 7.0))
    },
    "Boyd-Wickizer": (BOYD_WICKIZER, {"Z_us": Z, "s_us": S, "c_us": C}, Z, [ticket]),
    "hand-over": (
        HAND_OVER,
        {"Z_us": Z, "s_us": S, "h_us": H},
        Z,
        [lambda k: 1 / S if k == 1 else 1 / (S + H)],
    ),
    "impatient": (
        IMPATIENT,
        {"Z_us": Z, "s_us": S, "T_us": T},
        Z,
        [lambda k: 1 / S + (k - 1) / T],
    ),
    "two stations": (TWO_STATIONS, {"Z_us": Z, "s_us": J, "ratio": S / J}, Z, [queue(S), queue(J)]),
    "two queues": (TWO_QUEUE, {"Z_us": Z, "s_us": S, "c_us": C, "j_us": J}, Z, [ticket, queue(J)]),
}


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 24, 31])
@pytest.mark.parametrize("case", CASES)
def test_the_model_is_its_markov_chain(case, threads):
    law, params, think, stations = CASES[case]
    rate_per_us, _ = closed_network(threads, think, stations)
    assert law([threads], **params)[0] == pytest.approx(1e6 * rate_per_us, rel=1e-9)


@pytest.mark.parametrize("threads", [1, 2, 5, 16])
def test_sharing_only_lengthens_the_think_time(threads):
    think = Z + MOVED * (1 - 1 / threads)
    one, _ = closed_network(threads, think, [queue(S)])
    two, _ = closed_network(threads, think, [ticket, queue(J)])
    shared = REPAIRMAN_SHARING([threads], Z_us=Z, s_us=S, moved_us=MOVED)[0]
    assert shared == pytest.approx(1e6 * one, rel=1e-9)
    shared = TWO_QUEUE_SHARING([threads], Z_us=Z, s_us=S, c_us=C, j_us=J, moved_us=MOVED)[0]
    assert shared == pytest.approx(1e6 * two, rel=1e-9)


@pytest.mark.parametrize("threads", [300, 2000])
def test_many_threads_by_the_chain_of_one_station(threads):
    """Where the chain has too many states for two stations, one station still says it."""
    rate_per_us, _ = closed_network(threads, Z, [ticket])
    assert BOYD_WICKIZER([threads], Z_us=Z, s_us=S, c_us=C)[0] == pytest.approx(1e6 * rate_per_us, rel=1e-9)


def test_each_law_falls_back_on_the_one_it_extends():
    n = np.arange(1, 65)
    repairman = MACHINE_REPAIRMAN(n, Z_us=Z, s_us=S)
    same = [
        BOYD_WICKIZER(n, Z_us=Z, s_us=S, c_us=0),
        HAND_OVER(n, Z_us=Z, s_us=S, h_us=0),
        IMPATIENT(n, Z_us=Z, s_us=S, T_us=1e15),
        TWO_STATIONS(n, Z_us=Z, s_us=S, ratio=0),
        TWO_QUEUE(n, Z_us=Z, s_us=S, c_us=0, j_us=0),
        TWO_QUEUE(n, Z_us=Z, s_us=0, c_us=0, j_us=S),
        REPAIRMAN_SHARING(n, Z_us=Z, s_us=S, moved_us=0),
    ]
    for rate in same:
        assert rate == pytest.approx(repairman, rel=1e-11)
    lock = BOYD_WICKIZER(n, Z_us=Z, s_us=S, c_us=C)
    assert TWO_QUEUE(n, Z_us=Z, s_us=S, c_us=C, j_us=0) == pytest.approx(lock, rel=1e-12)


def test_a_ticket_lock_collapses_and_a_queued_lock_does_not():
    n = np.array([8, 64, 512])
    ticket_lock = BOYD_WICKIZER(n, Z_us=10, s_us=1, c_us=0.5)
    # all but one wait: N/X = N (s + c (N - 1)/2), so X goes as 1/N
    assert ticket_lock[2] == pytest.approx(1e6 / (1 + 0.5 * 511 / 2), rel=0.01)
    queued = HAND_OVER(n, Z_us=10, s_us=1, h_us=0.5)
    assert queued[1:] == pytest.approx([1e6 / 1.5] * 2, rel=1e-6)


def test_a_queued_lock_can_have_a_maximum_before_it_is_never_free():
    rate = HAND_OVER(np.arange(1, 40), Z_us=10, s_us=0.2, h_us=2)
    assert rate.max() > 1.2 * rate[-1]
    assert rate[-1] == pytest.approx(1e6 / 2.2, rel=1e-3)


def test_every_further_thread_adds_its_patience_once_the_lock_is_never_idle():
    n = np.array([40, 80, 160])
    limit = IMPATIENT_SATURATED(n, s_us=2, T_us=100)
    assert limit == pytest.approx(1e6 / 2 + (n - 1) * 1e6 / 100)
    assert np.allclose(np.diff(IMPATIENT(n, Z_us=1, s_us=2, T_us=100)) / np.diff(n), 1e4 / 1.01, rtol=0.01)
    assert IMPATIENT(n, Z_us=0, s_us=2, T_us=100) == pytest.approx(limit, rel=1e-12)


def test_amdahl_is_the_repairman_at_its_worst():
    n = np.arange(1, 65)
    synchronous = AMDAHL(n, lambda_per_s=1e6 / (Z + S), sigma=S / (Z + S))
    assert np.all(synchronous <= MACHINE_REPAIRMAN(n, Z_us=Z, s_us=S) * (1 + 1e-12))
    # every thread waits for all the others: N/X = Z + s N
    assert 1e6 * n / synchronous == pytest.approx(Z + S * n)


def test_two_queues_in_series_by_hand():
    # one thread: both times; two threads with f = j = 1: B = 1, 2, 3, so h(2) = 3/2
    assert in_series_us(np.array([1.0, 1.0]), 1.0) == pytest.approx([2, 1.5])
    assert in_series_us(np.array([3.0, 5.0]), 0.0) == pytest.approx([3, 5])
    assert in_series_us(np.zeros(2), 0.0).tolist() == [0, 0]


@pytest.mark.parametrize(("law", "more"), [(MACHINE_REPAIRMAN, {}), (BOYD_WICKIZER, {"c_us": 0.1})])
@given(st.permutations([1, 3, 3, 17, 64]), st.floats(0, 1e4), st.floats(1e-3, 1e4))
@settings(max_examples=50)
def test_order_and_repeats_of_thread_counts_do_not_matter(law, more, threads, think_us, serial_us):
    together = law(threads, Z_us=think_us, s_us=serial_us, **more)
    alone = [law([n], Z_us=think_us, s_us=serial_us, **more)[0] for n in threads]
    assert together.tolist() == pytest.approx(alone, rel=1e-12)


@given(st.floats(1e-3, 1e4), st.floats(1e-3, 1e4), st.integers(2, 300))
def test_the_repairmans_rate_rises_with_threads_below_both_bounds(think_us, service_us, top):
    n = np.arange(1, top + 1)
    rate = MACHINE_REPAIRMAN(n, Z_us=think_us, s_us=service_us)
    bound = np.minimum(1e6 * n / (think_us + service_us), 1e6 / service_us)
    assert np.all(rate > 0) and np.all(np.diff(rate) >= -1e-12 * rate[1:])
    assert np.all(rate <= bound * (1 + 1e-12))


def test_two_threads_and_a_repairman_by_hand():
    # Z = s: Q(1) = 1/2, R(2) = 1.5 s, X(2) = 2 / (1 + 1.5) per s
    assert MACHINE_REPAIRMAN([2], Z_us=1, s_us=1) == pytest.approx([0.8e6])


def test_one_hundred_thousand_threads_are_solved_and_as_many_columns_refused():
    assert BOYD_WICKIZER([100_000], Z_us=10, s_us=1, c_us=0)[0] == pytest.approx(1e6)
    with pytest.raises(BadInput, match="leave out some of the largest thread counts"):
        BOYD_WICKIZER(np.arange(1, 100_001), Z_us=10, s_us=1, c_us=0)
