# SPDX-License-Identifier: MIT
"""Closed networks by the chain against a Markov chain of all states, against LINE, against the simulator."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from ctmc import closed_network

from lockscale.queueing.closed_chain import at_the_lock, closed_rate_per_us, in_series_us
from lockscale.sim import simulate
from lockscale.sim.delays import exponential, us
from lockscale.sim.model import model

LINE = json.loads(Path(__file__).with_name("line_solver.json").read_text())


def queue(demand):
    return lambda _: 1 / demand


def exact(threads, think_us, demands_us, speeds=None):
    """Departures per us: the queues one behind another, and only the first may change its speed."""
    n = np.array(threads, dtype=float)
    hold_us = demands_us[0] / np.ones_like(at_the_lock(n))
    if speeds is not None:
        assert set(np.ravel(speeds[1:])) == {1}
        hold_us = hold_us / np.array(speeds[0])[: len(hold_us)]
    for demand in demands_us[1:]:
        hold_us = in_series_us(hold_us, demand)
    return closed_rate_per_us(n, think_us, hold_us)


@pytest.mark.parametrize("threads", [1, 2, 5, 12])
def test_three_queues_are_their_markov_chain(threads):
    demands = [2.0, 1.5, 0.3]
    rate, _ = closed_network(threads, 9.0, [queue(d) for d in demands])
    assert exact([threads], 9.0, demands)[0] == pytest.approx(rate, rel=1e-9)


@pytest.mark.parametrize("threads", [1, 2, 5, 12])
@pytest.mark.parametrize("speed", [lambda k: min(k, 2), lambda k: 1 / (1 + 0.3 * (k - 1))])
def test_two_servers_or_a_lock_that_collapses_before_two_queues_are_their_markov_chain(speed, threads):
    speeds = [[speed(k) for k in range(1, 13)], [1] * 12, [1] * 12]
    stations = [lambda k: speed(k) / 4.0, queue(0.7), queue(1.1)]
    rate, _ = closed_network(threads, 6.0, stations)
    assert exact([threads], 6.0, [4.0, 0.7, 1.1], speeds)[0] == pytest.approx(rate, rel=1e-9)


def test_a_station_as_fast_as_it_has_threads_is_a_delay():
    n = np.arange(1, 21)
    station = exact(n, 3.0, [5.0, 1.0], [np.arange(1, 21), np.ones(20)])
    assert station == pytest.approx(exact(n, 8.0, [1.0]), rel=1e-11)


@pytest.mark.parametrize("network", LINE["networks"], ids=lambda one: one["network"])
def test_line_solver_agrees(network):
    for point in network["points"]:
        found = exact([point["threads"]], network["think_us"], network["demands_us"], network.get("speeds"))
        assert found[0] == pytest.approx(point["rate_per_us"], rel=1e-9)


def test_line_solver_was_asked_for_five_networks():
    assert len(LINE["networks"]) == 5 and LINE["version"]


@model(unit="ops/s")
def three_locks(m):
    """Work alone, then through three queued locks."""
    path = m.path("cycle")
    path.spend(exponential(us(20.0)), "alone")
    for hold_us in (1.0, 2.0, 0.5):
        lock = m.queued_lock(f"held for {hold_us} us", hold=exponential(us(hold_us)))
        path.lock(lock)
        path.unlock(lock)


@pytest.mark.parametrize("threads", [2, 8, 12, 30])
def test_the_simulator_agrees_within_three_standard_errors(threads):
    runs = simulate(three_locks, threads, replications=12, operations=20_000, seed=11).rates_per_s
    mean = math.fsum(runs) / len(runs)
    error = math.sqrt(math.fsum((r - mean) ** 2 for r in runs) / (len(runs) - 1) / len(runs))
    expected = 1e6 * exact([threads], 20.0, [1.0, 2.0, 0.5])[0]
    assert error < 0.005 * expected, "a larger standard error could hide a fault"
    assert abs(mean - expected) < 3 * error
