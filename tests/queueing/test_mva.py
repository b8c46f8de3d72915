# SPDX-License-Identifier: MIT
"""Closed networks against their Markov chain, against LINE, against the simulator, within their bounds."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from ctmc import closed_network
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.queueing.networks.bounds import asymptotic, balanced_job
from lockscale.queueing.networks.mva import exact
from lockscale.queueing.networks.mva_approximate import approximate
from lockscale.queueing.networks.mva_load_dependent import load_dependent
from lockscale.sim import simulate
from lockscale.sim.delays import exponential, us
from lockscale.sim.model import model

LINE = json.loads(Path(__file__).with_name("line_solver.json").read_text())
TIMES_US = st.floats(1e-2, 1e2)
NETWORKS = st.tuples(st.floats(0, 1e3), st.lists(TIMES_US, min_size=1, max_size=5))


def queue(demand):
    return lambda _: 1 / demand


@pytest.mark.parametrize("threads", [1, 2, 5, 12])
def test_three_queues_are_their_markov_chain(threads):
    demands = [2.0, 1.5, 0.3]
    rate, number = closed_network(threads, 9.0, [queue(d) for d in demands])
    found = exact([threads], 9.0, demands)
    assert found.rate_per_s[0] == pytest.approx(1e6 * rate, rel=1e-9)
    assert found.queue[0] == pytest.approx(number, rel=1e-9)


@pytest.mark.parametrize("threads", [1, 2, 5, 12])
def test_load_dependent_stations_are_their_markov_chain(threads):
    """Two servers, a lock that collapses, and a queue."""
    k = np.arange(1, 13)
    speeds = np.array([np.minimum(k, 2), 1 / (1 + 0.3 * (k - 1)), np.ones(12)])
    demands = [4.0, 0.7, 1.1]
    stations = [
        lambda k: min(k, 2) / 4.0,
        lambda k: 1 / (0.7 * (1 + 0.3 * (k - 1))),
        lambda k: 1 / 1.1,
    ]
    rate, number = closed_network(threads, 6.0, stations)
    found = load_dependent([threads], 6.0, demands, speeds)
    assert found.rate_per_s[0] == pytest.approx(1e6 * rate, rel=1e-9)
    assert found.queue[0] == pytest.approx(number, rel=1e-9)


def test_load_dependent_stays_exact_where_mean_value_analysis_cancels():
    """400 threads far above the knee: utilisation is 1 to the last bit."""
    n = [1, 60, 400]
    plain = exact(n, 10.0, [1.0, 0.5])
    found = load_dependent(n, 10.0, [1.0, 0.5], np.ones((2, 400)))
    assert found.rate_per_s == pytest.approx(plain.rate_per_s, rel=1e-10)
    assert found.queue == pytest.approx(plain.queue, rel=1e-9)


def test_a_station_as_fast_as_it_has_threads_is_a_delay():
    n = np.arange(1, 21)
    station = load_dependent(n, 3.0, [5.0, 1.0], [np.arange(1, 21), np.ones(20)])
    assert station.rate_per_s == pytest.approx(exact(n, 8.0, [1.0]).rate_per_s, rel=1e-11)


@pytest.mark.parametrize("network", LINE["networks"], ids=lambda one: one["network"])
def test_line_solver_agrees(network):
    think_us, demands_us = network["think_us"], network["demands_us"]
    for point in network["points"]:
        n = [point["threads"]]
        if "speeds" in network:
            found = load_dependent(n, think_us, demands_us, network["speeds"])
        else:
            found = exact(n, think_us, demands_us)
        assert found.rate_per_s[0] == pytest.approx(1e6 * point["rate_per_us"], rel=1e-9)
        assert found.queue[0] == pytest.approx(point["queue"], rel=1e-8)


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
    expected = exact([threads], 20.0, [1.0, 2.0, 0.5]).rate_per_s[0]
    assert error < 0.005 * expected, "a larger standard error could hide a fault"
    assert abs(mean - expected) < 3 * error


@given(NETWORKS, st.lists(st.integers(1, 400), min_size=1, max_size=5))
@settings(max_examples=60)
def test_bounds_enclose_the_exact_rate(network, threads):
    think_us, demands_us = network
    rate = exact(threads, think_us, demands_us).rate_per_s
    wide, close = (bound(threads, think_us, demands_us) for bound in (asymptotic, balanced_job))
    hair = 1e-9 * rate
    assert np.all(wide.low_per_s <= close.low_per_s + hair)
    assert np.all(close.low_per_s <= rate + hair)
    assert np.all(rate <= close.high_per_s + hair)
    assert np.all(close.high_per_s <= wide.high_per_s + hair)


def test_bounds_by_hand():
    # N = 4, Z = 10, D = 1 + 3: worst 4 / (10 + 16); best min(4/14, 1/3)
    wide = asymptotic([4], 10, [1, 3])
    assert (wide.low_per_s[0], wide.high_per_s[0]) == pytest.approx((4e6 / 26, 4e6 / 14))
    # waits: 3 x 3 / (1 + 10/16) and 3 x 2 / (1 + 10/4)
    close = balanced_job([4], 10, [1, 3])
    assert close.low_per_s[0] == pytest.approx(4e6 / (14 + 9 / 1.625))
    assert close.high_per_s[0] == pytest.approx(4e6 / (14 + 6 / 3.5))


def test_balanced_job_bounds_meet_in_a_balanced_network_without_think_time():
    bound = balanced_job([1, 5, 50], 0.0, [2.0, 2.0, 2.0])
    assert bound.low_per_s == pytest.approx(bound.high_per_s)
    assert bound.low_per_s == pytest.approx(exact([1, 5, 50], 0.0, [2.0, 2.0, 2.0]).rate_per_s)


@given(NETWORKS, st.integers(1, 1500))
@settings(max_examples=40)
def test_the_approximation_keeps_its_stated_error(network, threads):
    rate = exact([threads], *network).rate_per_s[0]
    assert approximate([threads], *network).rate_per_s[0] == pytest.approx(rate, rel=0.002)


@pytest.mark.parametrize("threads", [100, 493, 3000])
@pytest.mark.parametrize("demands", [[1.0], [1.0, 0.2], [0.99, 0.07, 1.0], [1.0] * 40])
@pytest.mark.parametrize("above", [0.85, 0.95, 1.0, 1.05])
def test_the_approximation_keeps_its_stated_error_at_the_knee(threads, demands, above):
    think_us = max(above * threads * max(demands) - sum(demands), 0.0)
    rate = exact([threads], think_us, demands).rate_per_s[0]
    assert approximate([threads], think_us, demands).rate_per_s[0] == pytest.approx(rate, rel=0.002)


def test_up_to_64_threads_the_approximation_is_exact():
    n = np.arange(1, 65)
    found, oracle = approximate(n, 50.0, [1.0, 0.7]), exact(n, 50.0, [1.0, 0.7])
    assert found.rate_per_s == pytest.approx(oracle.rate_per_s, rel=1e-12)
    assert found.queue == pytest.approx(oracle.queue, rel=1e-12)


def test_without_think_time_or_without_queues():
    assert approximate([1, 70, 500], 0.0, [2.0]).rate_per_s == pytest.approx([5e5] * 3)
    assert approximate([1, 70, 500], 4.0, [0.0]).rate_per_s == pytest.approx([2.5e5, 1.75e7, 1.25e8])
    assert exact([3], 4.0, [0.0]).rate_per_s == pytest.approx([7.5e5])


@pytest.mark.parametrize("solve", [exact, approximate, asymptotic, balanced_job])
@pytest.mark.parametrize(
    ("threads", "think_us", "demands_us"),
    [
        ([0], 1, [1]),
        ([2.5], 1, [1]),
        ([2], -1, [1]),
        ([2], 1, [1, -1]),
        ([2], 1, [float("nan")]),
        ([2], 1, []),
        ([2], 0, [0, 0]),
        ([2], "x", [1]),
        ([2], 1, ["x"]),
        ([2], 1e16, [1]),
        ([2], 1, [[1, 2]]),
    ],
)
def test_what_is_no_network_is_refused_in_one_sentence(solve, threads, think_us, demands_us):
    with pytest.raises(BadInput) as refused:
        solve(threads, think_us, demands_us)
    assert str(refused.value).endswith(".") and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "speeds", [[1, 1], [[1, 1, 1]] * 2, [[1, 1, 0]], [[1, 1, float("nan")]], [["a"] * 3], [[1], [1, 2]]]
)
def test_speeds_that_do_not_fit_the_network_are_refused(speeds):
    with pytest.raises(BadInput):
        load_dependent([3], 1.0, [1.0], speeds)


def test_too_many_threads_for_a_load_dependent_network_are_refused():
    with pytest.raises(BadInput, match="up to 1000"):
        load_dependent([1001], 1.0, [1.0], np.ones((1, 1001)))
    with pytest.raises(BadInput, match="never queues"):
        balanced_job([3], 1.0, [0.0])
