# SPDX-License-Identifier: MIT
"""Flow balance, Little's law and utilisation as identities of whole numbers, in every run."""

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_paths import programs, unnested_spin_locks

from lockscale.sim.builder import Builder
from lockscale.sim.delays import Delay, ns
from lockscale.sim.engine.layout import HOLDING, HOLDS, NOBODY, READY, SLEEPING, SPINNING, WAITS
from lockscale.sim.engine.op_codes import READ_UNLOCK, UNLOCK
from lockscale.sim.program import Program
from lockscale.sim.replicate import Counts, replicate

anything = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])


@anything
@given(program=programs(), seed=st.integers(0, 2**63 - 1), warm_up=st.sampled_from([0, 1, 100]))
def test_laws_that_hold_in_every_run(program: Program, seed: int, warm_up: int) -> None:
    counts = replicate(program, seed=seed, replication=0, operations=200, warm_up=warm_up)
    flow_balance(counts)
    littles_law(counts)
    utilisation(program, counts)
    time_in_state(counts)
    histograms(program, counts)
    if warm_up == 0:
        from_the_first_step_on(program, counts)


def flow_balance(counts: Counts) -> None:
    """What came in is what went out and what is still there."""
    w = counts.world
    assert sum(w.paths["done"][w.paths["counted"] == 1]) == counts.operations
    for table, through in ((w.locks, "acquisitions"), (w.gates, "entered")):
        came_in = table["waiting_before"] + table["requests"]
        assert np.array_equal(came_in, table[through] + table["waiting_after"])
        assert np.all(table["waiting_after"] >= 0)
    of_lines = w.lines["from_own"] + w.lines["from_socket"] + w.lines["from_remote"]
    assert np.array_equal(of_lines, w.lines["requests"])
    assert int(counts.batches_ps.sum()) == counts.window_ps


def littles_law(counts: Counts) -> None:
    """The waits of all threads add up to the time integral of the number that wait."""
    for table in (counts.world.locks, counts.world.gates):
        assert np.array_equal(table["wait_ps"], table["wait_area_ps"])


def utilisation(program: Program, counts: Counts) -> None:
    """An exclusive lock and a cache line are busy at most all the time, each shard for itself."""
    w, window = counts.world, counts.window_ps
    assert np.all(w.lines["hold_ps"] <= window)
    for lock in program.names["lock"]:
        rows = w.locks[lock.first : lock.first + lock.shards]
        most = len(w.threads) if lock.shared else 1
        assert np.all((rows["hold_area_ps"] >= 0) & (rows["hold_area_ps"] <= most * window))


def time_in_state(counts: Counts) -> None:
    """Each thread is always in one state; a wait is spent spinning, asleep or without a CPU."""
    w = counts.world
    assert np.all(w.in_state_ps >= 0)
    assert np.all(w.in_state_ps.sum(axis=1) == counts.window_ps)
    idle = w.in_state_ps[:, [SPINNING, SLEEPING, READY]].sum()
    gates = 0 if len(w.cpus) else w.gates["wait_ps"].sum()  # a gate is passed after the context switch
    assert w.locks["wait_ps"].sum() + gates <= idle


def histograms(program: Program, counts: Counts) -> None:
    """Every acquisition has a wait, every release of an exclusive lock a hold."""
    for k, lock in enumerate(program.names["lock"]):
        rows = counts.world.locks[lock.first : lock.first + lock.shards]
        acquisitions = rows["acquisitions"].sum()
        assert counts.world.histograms[k, WAITS].sum() == acquisitions
        if not lock.shared:
            assert abs(counts.world.histograms[k, HOLDS].sum() - acquisitions) <= lock.shards


def from_the_first_step_on(program: Program, counts: Counts) -> None:
    """Without a warm-up nothing was held before: locks taken are those released and those held."""
    w = counts.world
    assert w.ops["visits"].sum() == counts.transitions
    for lock in program.names["lock"]:
        rows = w.locks[lock.first : lock.first + lock.shards]
        held = rows["readers"].sum() + (rows["owner"] != NOBODY).sum()
        released = np.isin(w.ops["code"], (UNLOCK, READ_UNLOCK)) & (w.ops["operand"] == lock.first)
        assert rows["acquisitions"].sum() == w.ops["visits"][released].sum() + held
    assert w.gates["entered"].sum() <= counts.transitions


@settings(max_examples=50)
@given(program=unnested_spin_locks(), seed=st.integers(0, 2**63 - 1), warm_up=st.sampled_from([0, 100]))
def test_spinning_is_waiting_and_holding_is_holding(program: Program, seed: int, warm_up: int) -> None:
    """With a CPU each and one lock at a time, threads' states and locks' times are the same sums."""
    w = replicate(program, seed=seed, replication=0, operations=200, warm_up=warm_up).world
    assert w.in_state_ps[:, SPINNING].sum() == w.locks["wait_area_ps"].sum()
    assert w.in_state_ps[:, HOLDING].sum() == w.locks["hold_area_ps"].sum()
    assert w.in_state_ps[:, SLEEPING].sum() == 0 or warm_up == 0, "only before the start"


def fixed_cycle(threads: int, think: Delay, hold: Delay) -> Program:
    m = Builder(threads)
    lock = m.queued_lock("lock", hold=hold)
    cycle = m.path("cycle")
    cycle.spend(think)
    cycle.lock(lock)
    cycle.unlock(lock)
    return m.compile()


def test_equal_times_go_by_thread_id() -> None:
    program = fixed_cycle(5, ns(10_000), ns(1_000))
    for operations in range(1, 6):
        counts = replicate(program, seed=1, replication=0, operations=operations, warm_up=0)
        holders: Any = counts.world.locks["owner"]
        assert holders[0] == (operations if operations < 5 else NOBODY)


def test_a_hold_that_the_windows_edge_cuts_counts_with_its_part_inside() -> None:
    """Operations end 0.3 us into somebody else's hold; the lock is busy all the time."""
    m = Builder(4)
    lock = m.queued_lock("lock", hold=ns(1_000))
    path = m.path("path")
    path.lock(lock)
    path.unlock(lock)
    path.spend(ns(300))
    counts = replicate(m.compile(), seed=1, replication=0, operations=10, warm_up=9)
    assert counts.window_ps == 10_000_000
    assert counts.world.locks["hold_area_ps"][0] == counts.window_ps


def test_warm_up_is_cut_and_the_rest_counted_whole() -> None:
    program = fixed_cycle(3, ns(10_000), ns(1_000))
    whole = replicate(program, seed=1, replication=0, operations=300, warm_up=0)
    cut = replicate(program, seed=1, replication=0, operations=200, warm_up=100)
    assert whole.operations == 300 and cut.operations == 200
    for counted in ("acquisitions", "requests", "wait_ps", "hold_area_ps"):
        assert cut.world.locks[counted][0] <= whole.world.locks[counted][0]
    assert cut.window_ps < whole.window_ps
