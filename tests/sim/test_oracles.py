# SPDX-License-Identifier: MIT
"""The oracles of the simulator's exact tests, each against another way to the same number."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles import (
    Phase,
    Service,
    boyd_wickizer,
    deterministic_cycle,
    lock_of_one_class,
    machine_repairman,
    mean_value_analysis,
    pollaczek_khinchine,
    populations_up_to,
    ticket_lock,
    wait_from_departures,
    waits_above,
)
from scipy.integrate import quad
from scipy.linalg import null_space


def one_phase(kind: str, mean: float) -> Service:
    def service(_left: int) -> Sequence[Phase]:
        return [(kind, mean)]

    return service


def stationary(generator: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of a small continuous-time chain, by linear algebra."""
    np.fill_diagonal(generator, -generator.sum(axis=1))
    (p,) = null_space(generator.T).T
    return p / p.sum()


@pytest.mark.parametrize("threads", [*range(1, 33), *populations_up_to(1024)])
def test_mean_value_analysis_is_the_birth_death_chain(threads: int) -> None:
    rates, numbers = mean_value_analysis([threads], [10.0], [[1.0]])
    assert machine_repairman(threads, 10.0, 1.0) == pytest.approx((rates[0], numbers[0]), rel=1e-11)


def test_machine_repairman_is_erlangs_loss_formula() -> None:
    """X = (1 - B(N, Z/s)) / s, with B by its own recursion."""
    loss = 1.0
    for threads in range(1, 1025):
        loss = 10.0 * loss / (threads + 10.0 * loss)
        assert machine_repairman(threads, 10.0, 1.0)[0] == pytest.approx(1 - loss, rel=1e-11)


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 11, 12, 48, pytest.param(300, marks=pytest.mark.slow)])
def test_the_chain_embedded_at_releases_is_the_birth_death_chain(threads: int) -> None:
    rate = lock_of_one_class(threads, 10.0, one_phase("exponential", 1.0))
    assert rate == pytest.approx(machine_repairman(threads, 10.0, 1.0)[0], rel=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "law"), [("fixed", 0.0), ("exponential", 1.0)])
def test_many_rare_thinkers_are_poisson(kind: str, law: float) -> None:
    """300 threads that think 428 times as long as they hold: M/G/1 but for 1/N."""
    threads, busy, service = 300, 0.5, 1.0
    finite = []
    for n in (threads // 2, threads):
        wait = pollaczek_khinchine(busy, service, law)
        think = n / busy - service - wait
        finite.append(lock_of_one_class(n, think, one_phase(kind, service)) / busy - 1)
    assert abs(finite[1]) < 1e-3
    assert finite[0] / finite[1] == pytest.approx(4, rel=0.1), "vanishes as 1/N^2"


def test_arrivals_during_a_fixed_phase_are_those_during_its_parts() -> None:
    whole = lock_of_one_class(9, 5.0, lambda k: [("fixed", 0.3 + 0.1 * k)])
    parts = lock_of_one_class(9, 5.0, lambda k: [("fixed", 0.3), ("fixed", 0.1 * k)])
    assert whole == pytest.approx(parts, rel=1e-12)


def test_two_threads_with_fixed_holds_by_hand() -> None:
    """Each hold D starts with the other thread thinking, so 1/X = D + P(it does not come) Z/2."""
    think, hold = 3.0, 2.0
    nobody_came = np.exp(-hold / think)
    assert lock_of_one_class(2, think, one_phase("fixed", hold)) == pytest.approx(
        1 / (hold + nobody_came * think / 2), rel=1e-12
    )


@pytest.mark.parametrize("threads", [1, 2, 11, 48, 1024])
def test_boyd_wickizer_without_line_transfers_is_the_machine_repairman(threads: int) -> None:
    plain = machine_repairman(threads, 10.0, 0.5)
    assert boyd_wickizer(threads, 10.0, 0.5, 0.0) == pytest.approx(plain, rel=1e-11)
    rate, contenders = boyd_wickizer(threads, 10.0, 0.5, 0.2)
    assert contenders == pytest.approx(threads - 10.0 * rate, rel=1e-11), "flow out is flow in"


def test_boyd_wickizer_collapses() -> None:
    """Few cores: each its own; many: all but the holder wait, and each fetches the line."""
    rates = [boyd_wickizer(n, 10.0, 0.2, 0.05)[0] for n in range(1, 97)]
    assert rates[7] == pytest.approx(8 / 10.2, rel=0.01)
    assert rates[47] < 0.35 * max(rates)
    waiting = 96 - 10.0 * rates[95] - 1
    assert rates[95] == pytest.approx(1 / (0.2 + 0.05 * waiting / 2), rel=1e-3)


@pytest.mark.parametrize("cores", [1, 2, 4, 8, 64, 96])
def test_a_hand_over_fixed_at_the_release_is_near_boyd_wickizer(cores: int) -> None:
    """Their service slows down with each arrival, a hand-over does not; away from the knee it
    matters little."""
    assert ticket_lock(cores, 10.0, 0.2, 0.05) == pytest.approx(
        boyd_wickizer(cores, 10.0, 0.2, 0.05)[0], rel=4e-4
    )


def test_a_hand_over_fixed_at_the_release_departs_from_boyd_wickizer_at_the_knee() -> None:
    gaps = [ticket_lock(n, 10.0, 0.2, 0.05) / boyd_wickizer(n, 10.0, 0.2, 0.05)[0] - 1 for n in range(1, 65)]
    assert 0.012 < max(gaps) < 0.014
    assert min(gaps) > -0.006


def two_classes_by_brute_force(
    counts: tuple[int, int], thinks: tuple[float, float], service: float
) -> list[float]:
    """FIFO queue as the sequence of classes in it: every state of the Markov chain."""
    queues = [
        q
        for length in range(sum(counts) + 1)
        for q in product((0, 1), repeat=length)
        if all(q.count(r) <= counts[r] for r in (0, 1))
    ]
    place = {q: i for i, q in enumerate(queues)}
    generator = np.zeros((len(queues), len(queues)))
    for q, r in product(queues, (0, 1)):
        if q.count(r) < counts[r]:
            generator[place[q], place[(*q, r)]] = (counts[r] - q.count(r)) / thinks[r]
        if q and q[0] == r:
            generator[place[q], place[q[1:]]] = 1 / service
    p = stationary(generator)
    return [sum(p[place[q]] for q in queues if q and q[0] == r) / service for r in (0, 1)]


def test_two_classes_are_the_chain_of_all_queues() -> None:
    rates, _ = mean_value_analysis([3, 2], [4.0, 9.0], [[1.5], [1.5]])
    assert two_classes_by_brute_force((3, 2), (4.0, 9.0), 1.5) == pytest.approx(list(rates), rel=1e-10)


def test_two_equal_classes_are_one() -> None:
    apart, queues = mean_value_analysis([5, 7], [10.0, 10.0], [[1.0, 0.5], [1.0, 0.5]])
    together, queue = mean_value_analysis([12], [10.0], [[1.0, 0.5]])
    assert apart == pytest.approx(together * np.array([5, 7]) / 12, rel=1e-12)
    assert queues == pytest.approx(queue, rel=1e-12)


def test_without_thinking_a_class_is_a_station_of_the_other() -> None:
    """A demand at a station nobody else visits adds to think time only while no one queues there."""
    alone, _ = mean_value_analysis([1, 4], [2.0, 5.0], [[1.0, 3.0], [1.0, 0.0]])
    think, _ = mean_value_analysis([1, 4], [5.0, 5.0], [[1.0], [1.0]])
    assert alone == pytest.approx(think, rel=1e-12)


@pytest.mark.parametrize("variation", [0.0, 0.25, 1.0, 4.0])
@pytest.mark.parametrize("busy", [0.1, 0.5, 0.8])
def test_pollaczek_khinchine_is_the_chain_of_numbers_left_behind(busy: float, variation: float) -> None:
    exact = pollaczek_khinchine(busy / 2.0, 2.0, variation)
    assert wait_from_departures(busy / 2.0, 2.0, variation) == pytest.approx(exact, rel=1e-9)


def test_fixed_service_halves_the_wait() -> None:
    assert pollaczek_khinchine(0.7, 1.0, 0.0) == pytest.approx(0.5 * 0.7 / 0.3)
    assert pollaczek_khinchine(0.7, 1.0, 1.0) == pytest.approx(0.7 / 0.3)


def test_waits_above_a_time_add_up_to_the_mean_wait() -> None:
    mean, _ = quad(waits_above, 0, 200, args=(0.7, 1.0))
    assert mean == pytest.approx(pollaczek_khinchine(0.7, 1.0, 1.0), rel=1e-9)


def test_deterministic_cycle_meets_at_the_knee() -> None:
    assert deterministic_cycle(11, 10, 1) == 1
    assert deterministic_cycle(10, 10, 1) == Fraction(10, 11)
    assert deterministic_cycle(12, 10, 1) == 1
