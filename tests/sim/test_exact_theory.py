# SPDX-License-Identifier: MIT
"""The engine against queueing theory, and against identities that hold in every run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from lockscale.sim import simulate
from lockscale.sim.engine import (
    ACQUISITIONS,
    FINISHED,
    HOLD_PS,
    QUEUE_AREA_PS,
    REQUESTS,
    WAIT_PS,
    WAITING_AFTER,
    WAITING_BEFORE,
    run,
)
from lockscale.sim.path import Builder, Program
from lockscale.sim.primitives import Delay, exponential, ns
from lockscale.sim.simulation import Counts, replicate


def mean_value_analysis(threads: int, think_us: float, service_us: float) -> tuple[float, float]:
    """Rate per second and mean wait in us of M/M/1//N, by the recursion over the population."""
    queue, rate, response = 0.0, 0.0, 0.0
    for n in range(1, threads + 1):
        response = service_us * (1 + queue)
        rate = n / (think_us + response)
        queue = rate * response
    return rate * 1e6, response - service_us


@pytest.mark.parametrize("threads", [1, 2, 5, 11, 16, 48, 300])
def test_machine_repairman_is_mean_value_analysis(threads: int) -> None:
    result = simulate("machine_repairman", threads, replications=20)
    rate_per_s, wait_us = mean_value_analysis(threads, 10.0, 1.0)
    assert result.low is not None and result.high is not None
    standard_error = (result.high - result.low) / 2 / float(student.ppf(0.975, 19))
    assert abs(result.rate_per_s - rate_per_s) < 3 * standard_error
    wait_ns = result.locks["repairman"].wait_ns_mean
    assert wait_ns == pytest.approx(wait_us * 1e3, rel=0.02, abs=1e-9)


def fixed_cycle(think: Delay, hold: Delay, handover: Delay) -> Program:
    m = Builder()
    lock = m.queued_lock("lock", hold=hold, handover=handover)
    cycle = m.path("cycle")
    cycle.spend(think)
    cycle.lock(lock)
    cycle.unlock(lock)
    return m.compile()


def test_fixed_cycle_below_saturation_is_n_over_cycle_time() -> None:
    counts = replicate(
        fixed_cycle(ns(10_000), ns(1_000), ns(500)), 7, seed=1, replication=0, operations=7_000
    )
    assert counts.window_ps == 1_000 * 11_000_000
    assert counts.locks[0, WAIT_PS] == 0
    assert counts.locks[0, HOLD_PS] == 7_000 * 1_000_000


def test_fixed_cycle_in_saturation_is_the_lock_alone() -> None:
    counts = replicate(
        fixed_cycle(ns(10_000), ns(1_000), ns(500)), 30, seed=1, replication=0, operations=9_000
    )
    assert counts.window_ps == 9_000 * 1_500_000
    assert counts.locks[0, HOLD_PS] == counts.window_ps
    # interactive response time law: N = X (Z + wait + hold)
    assert counts.locks[0, WAIT_PS] == 9_000 * (30 * 1_500_000 - 10_000_000 - 1_500_000)


def test_equal_times_go_by_thread_id() -> None:
    program = fixed_cycle(ns(10_000), ns(1_000), ns(0))
    tables = (program.ops, program.locks, program.bitmaps, np.zeros(5, np.int64))
    for operations in range(1, 6):
        totals, stats = np.zeros(4, np.int64), np.zeros((1, 7), np.int64)
        status, last, _ = run(*tables, 1, 0, 0, operations, totals, stats)
        assert (status, last) == (FINISHED, operations - 1)


def test_a_hold_that_the_windows_edge_cuts_counts_with_its_part_inside() -> None:
    """Operations end 0.3 us into somebody else's hold; the lock is busy all the time."""
    m = Builder()
    lock = m.queued_lock("lock", hold=ns(1_000))
    path = m.path("path")
    path.lock(lock)
    path.unlock(lock)
    path.spend(ns(300))
    counts = replicate(m.compile(), 4, seed=1, replication=0, operations=10, warm_up=9)
    assert counts.window_ps == 10_000_000
    assert counts.locks[0, HOLD_PS] == counts.window_ps


@st.composite
def contended_paths(draw: st.DrawFn) -> tuple[Program, int, int, int]:
    """A retry loop with random costs; (program, threads, least cycle, hold), ps."""
    time = st.integers(min_value=0, max_value=5_000)
    think, access, hold = draw(st.integers(1, 50_000)), draw(time), draw(time)
    memoryless = draw(st.booleans())
    m = Builder()
    make_lock = m.queued_lock if draw(st.booleans()) else m.unfair_lock
    lock = make_lock("lock", hold=ns(hold), handover=ns(draw(time)))
    bitmap = m.bitmap("bitmap", shared=draw(st.booleans()))
    path = m.path("path")
    path.spend(exponential(ns(think)) if memoryless else ns(think))
    again = path.label("again")
    path.find_zero(bitmap)
    path.spend(ns(access))
    path.lock(lock)
    path.claim(bitmap, search_again=draw(st.booleans()))
    path.unlock(lock)
    path.retry_if_lost(again)
    cycle = (0 if memoryless else think) + access + hold
    return m.compile(), draw(st.integers(1, 40)), cycle * 1000, hold * 1000


@settings(max_examples=60, deadline=None)
@given(case=contended_paths(), seed=st.integers(0, 2**63 - 1))
def test_laws_that_hold_in_every_run(case: tuple[Program, int, int, int], seed: int) -> None:
    program, threads, cycle_ps, hold_ps = case
    counts = replicate(program, threads, seed=seed, replication=0, operations=500)
    lock = counts.locks[0]
    flow_balance(counts, threads)
    assert lock[WAIT_PS] == lock[QUEUE_AREA_PS], "Little: waits add up to the queue's integral"
    assert lock[HOLD_PS] <= counts.window_ps, "utilisation law: a lock is busy at most always"
    assert (lock[ACQUISITIONS] - 1) * hold_ps <= counts.window_ps
    assert (counts.operations - threads) * cycle_ps <= threads * counts.window_ps


def flow_balance(counts: Counts, threads: int) -> None:
    lock = counts.locks[0]
    assert counts.retries >= 0
    came, went = lock[REQUESTS], lock[ACQUISITIONS]
    assert lock[WAITING_BEFORE] + came == went + lock[WAITING_AFTER]
    assert abs(int(lock[ACQUISITIONS]) - counts.operations - counts.retries) <= threads


def test_warm_up_is_cut_and_the_rest_counted_whole() -> None:
    program = fixed_cycle(ns(10_000), ns(1_000), ns(0))
    whole = replicate(program, 3, seed=1, replication=0, operations=300, warm_up=0)
    cut = replicate(program, 3, seed=1, replication=0, operations=200, warm_up=100)
    assert whole.operations == 300 and cut.operations == 200
    assert np.all(cut.locks[0, :4] <= whole.locks[0, :4])
    assert cut.window_ps < whole.window_ps
