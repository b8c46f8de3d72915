# SPDX-License-Identifier: MIT
"""Batches, hashed locks, lockrefs, CNA and spinning on an owner: by hand to the picosecond, or by theory."""

from typing import Any

import pytest
from by_hand import held
from oracles import mean_value_analysis
from test_exact_theory import near, rates_per_us, runs

from lockscale import paths
from lockscale.sim import simulate
from lockscale.sim.builder import Builder
from lockscale.sim.delays import PS_PER_S, exponential, ms, ns, us
from lockscale.sim.engine.layout import HOLDING, READY, RUNNING, SLEEPING, SPINNING
from lockscale.sim.replicate import replicate

PS_PER_NS = 1000
MODELS = paths.ROOT / "docs/models"


def window_ns(m: Builder, operations: int, warm_up: int) -> float:
    counts = replicate(m.compile(), seed=1, replication=0, operations=operations, warm_up=warm_up)
    return counts.window_ps / PS_PER_NS


@pytest.mark.parametrize("batch", [1, 4, 7])
def test_every_nth_add_pays_for_the_fold(batch: int) -> None:
    m = Builder(1)
    add = m.path("add")
    add.spend(ns(100))
    with add.every(batch, m.counter("used")):
        add.spend(ns(1000), "fold")
    assert window_ns(m, 28 * 10, 28) == 28 * 10 * 100 + 28 * 10 / batch * 1000


def folds(threads: int, shards: int) -> int:
    m = Builder(threads)
    cpu, used = m.place("cpu", shards=shards), m.counter("used", shards=shards)
    add = m.path("add")
    add.pick_cpu(cpu)
    add.spend(exponential(ns(100)))
    with add.every(8, used, cpu):
        add.spend(ns(1), "fold")
    counts = replicate(m.compile(), seed=1, replication=0, operations=8000, warm_up=0)
    return int(counts.world.ops["visits"][m.compile().steps.index("fold")])


def test_a_shared_counter_counts_all_and_a_sharded_one_each_cpu() -> None:
    """8 threads, 8000 adds: 1000 folds of one counter; each of eight is some adds short of its last."""
    assert folds(8, 1) == 1000
    assert 1000 - 8 < folds(8, 8) <= 1000


@pytest.mark.parametrize(("objects", "locks"), [(64, 1), (64, 4), (6, 3)])
def test_a_hash_of_locks_is_the_product_form_network(objects: int, locks: int) -> None:
    """Objects are chosen alike, so each lock is a station with 1 / locks of the demand (BCMP)."""
    m = Builder(12)
    chosen, bucket = m.place("object", shards=objects), m.place("bucket", shards=locks)
    lock = m.queued_lock("lr_lock", hold=exponential(us(1)), shards=locks)
    match = m.path("match")
    match.spend(exponential(us(4)))
    match.pick_random(chosen)
    match.pick_hash(bucket, chosen)
    match.lock(lock, bucket)
    match.unlock(lock, bucket)
    rates, _ = mean_value_analysis([12], [4.0], [[1 / locks] * locks])
    near(rates_per_us(runs(m.compile(), 60_000)), float(rates[0]))


OWN, SOCKET = 8, 60


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_references_to_a_free_dentry_take_one_atomic_each(threads: int) -> None:
    """Alone own + own; more are bound by the line: one transfer a reference."""
    m = Builder(threads)
    walk = m.path("walk")
    walk.get_ref(m.lockref("dentry", hold=ns(500), own=ns(OWN), socket=ns(SOCKET)))
    rounds = 50
    each = OWN + OWN if threads == 1 else SOCKET
    found = window_ns(m, rounds * threads, 20 * threads)
    if threads == 1:
        assert found == rounds * each
    else:
        assert found == pytest.approx(rounds * threads * each, rel=0.03)


def test_a_reference_waits_for_who_holds_the_lock_in_the_word() -> None:
    """Renames hold d_lock for ever, one after another: a walk is a turn in that queue.

    Of a walker and a renamer each cycle is the renamer's hold, then the walker's hold and its atomic under
    the lock; the read before it falls into the renamer's hold.
    """
    m = Builder(1)
    dentry = m.lockref("dentry", hold=ns(100), own=ns(OWN), socket=ns(OWN))
    m.path("walk").get_ref(dentry)
    rename = m.path("rename", threads=1, counted=False)
    rename.lock(dentry.lock)
    rename.spend(ns(1000), "__d_move")
    rename.unlock(dentry.lock)
    assert window_ns(m, 50, 10) == 50 * (100 + 1000 + 100 + OWN)


@pytest.mark.parametrize("in_a_row", [0, 1, 2, 3, 10])
def test_cna_crosses_the_sockets_once_in_so_many_hand_overs(in_a_row: int) -> None:
    """Six threads of two sockets always wait: in_a_row hand-overs near, then one to the first of the queue.

    That one is of the other socket, whose threads have waited longest; without any in a row the queue is a
    FIFO, whose neighbours are of different sockets.
    """
    hold, remote, rounds = 1000, 300, 66 * 20
    m = Builder(6)
    m.machine(sockets=2)
    lock = m.cna_lock("ns_lock", hold=ns(hold), remote=ns(remote), in_a_row=in_a_row)
    path = m.path("path")
    path.lock(lock)
    path.unlock(lock)
    counts = replicate(m.compile(), seed=1, replication=0, operations=rounds, warm_up=660)
    crossed = rounds // (in_a_row + 1)
    assert counts.world.locks[0]["remote_handovers"] == crossed
    assert counts.window_ps / PS_PER_NS == rounds * hold + crossed * remote


def sleeps_with_it(m: Builder, lock: Any) -> None:
    """An owner that sleeps for 20 us while it holds the lock, and comes back late."""
    owner = m.path("owner", counted=False)
    owner.lock(lock)
    owner.sleep(us(20), "reads the disk")
    owner.unlock(lock)
    owner.sleep(us(100))


def sleeping_owner(kind: str, owner_runs: bool) -> Any:
    """One holds the lock for 1 us of work and 20 us of sleep, the other takes it for 1 us, 5 us after."""
    m = Builder(1)
    lock = getattr(m, kind)("i_rwsem", hold=ns(1000), wake=ns(3000), spin=us(100), owner_runs=owner_runs)
    sleeps_with_it(m, lock)
    other = m.path("other", threads=1, start=us(5))
    other.lock(lock)
    other.unlock(lock)
    other.sleep(us(100))
    counts = replicate(m.compile(), seed=1, replication=0, operations=1, warm_up=0)
    return counts.world.in_state_ps[1] / PS_PER_NS, counts.window_ps / PS_PER_NS


@pytest.mark.parametrize("kind", ["mutex", "rwsem"])
def test_who_waits_for_an_owner_that_sleeps_does_not_spin(kind: str) -> None:
    """From 5 to 21 us the lock is taken: 16 us of spinning, or of sleep and 3 us more to wake up."""
    spun, spinning_ns = sleeping_owner(kind, owner_runs=False)
    slept, sleeping_ns = sleeping_owner(kind, owner_runs=True)
    assert spun[SPINNING] == 16_000 and slept[SPINNING] == 0
    assert sleeping_ns - spinning_ns == 3000
    assert slept[SLEEPING] - spun[SLEEPING] == 19_000


def test_an_owner_that_goes_to_sleep_sends_its_spinners_to_sleep() -> None:
    """The other comes 0.5 us after the owner and spins while that works, to 1 us."""
    m = Builder(1)
    lock = m.mutex("lock", hold=ns(1000), wake=ns(3000), spin=us(100), owner_runs=True)
    sleeps_with_it(m, lock)
    other = m.path("other", threads=1, start=ns(500))
    other.lock(lock)
    other.unlock(lock)
    counts = replicate(m.compile(), seed=1, replication=0, operations=1, warm_up=0)
    assert counts.world.in_state_ps[1][SPINNING] == 500 * PS_PER_NS


@pytest.mark.parametrize("threads", [24, 48])
def test_a_mutex_that_is_always_waited_for_is_handed_to_those_awake(threads: int) -> None:
    """Some have spun enough and sleep, but no holder is waited for until it is awake: one hold each 1 us."""
    m = Builder(threads)
    lock = m.mutex("lock", hold=us(1), wake=us(5), spin=us(10))
    path = m.path("path")
    path.spend(exponential(us(5)))
    path.lock(lock)
    path.unlock(lock)
    counts = replicate(m.compile(), seed=1, replication=0, operations=5000)
    assert counts.window_ps / PS_PER_NS == pytest.approx(5000 * 1000, rel=0.01)
    assert counts.world.locks[0]["wakes"] > 500


@pytest.mark.parametrize(("kind", "got_it_us"), [("mutex", 2001), ("rwsem", 6005)])
def test_a_sleeper_of_an_rwsem_lets_others_overtake_it_for_4_ms(kind: str, got_it_us: int) -> None:
    """Another holds it for 1 ms, again and again, 1 us apart; who comes at 0.5 ms needs 50 us to wake up.

    So it is awake in vain at 1.05, 2.051, ... ms, first after 4 ms at 5.054 ms, and has it at 6.005 ms.
    """
    m = Builder(1)
    lock = getattr(m, kind)("lock", hold=ms(1), wake=us(50))
    waiter = m.path("waiter", start=us(500))
    waiter.lock(lock)
    waiter.unlock(lock)
    other = m.path("other", threads=1, counted=False)
    other.lock(lock)
    other.unlock(lock)
    other.spend(us(1))
    counts = replicate(m.compile(), seed=1, replication=0, operations=1, warm_up=0)
    assert counts.window_ps / PS_PER_NS == (got_it_us + 50 + 1000) * 1000


def test_an_owner_that_sleeps_at_a_gate_is_not_spun_for() -> None:
    """At 1 us the owner enters a transaction that closes until 9 us; the other spins from 0.5 to 1 us."""
    m = Builder(1)
    lock = m.mutex("lock", hold=us(1), wake=us(3), spin=us(100), owner_runs=True)
    gate = m.commit_gate("journal", commit=us(5), entries=1)
    other = m.path("other", start=ns(500))
    other.lock(lock)
    other.unlock(lock)
    handle = m.path("handle", threads=1, counted=False)
    handle.enter(gate)
    handle.spend(us(4))
    handle.leave(gate)
    handle.sleep(us(900))
    owner = m.path("owner", threads=1, counted=False)
    owner.lock(lock)
    owner.enter(gate)
    owner.leave(gate)
    owner.unlock(lock)
    owner.sleep(us(900))
    counts = replicate(m.compile(), seed=1, replication=0, operations=1, warm_up=0)
    assert counts.world.in_state_ps[0][SPINNING] == 500 * PS_PER_NS
    assert counts.window_ps == (9000 + 3000 + 1000) * PS_PER_NS


def test_a_spinner_that_was_preempted_sleeps_once_it_runs_again() -> None:
    """The owner, on CPU 0, sleeps from 1.5 to 21.5 us. Slices are 1 us; on CPU 1 somebody computes as well.

    The waiter spins from 0.1 to 1.1 us, is preempted, runs again at 2.1 us and goes to sleep at once. Woken
    at 24.5 us it holds the lock for 1.5 us, with another slice of the other's in between, and sleeps 100 us.
    """
    m = Builder(1)
    m.machine(sockets=1, cpus=2, time_slice=us(1))
    lock = m.mutex("lock", hold=ns(1500), wake=ns(3000), spin=us(100), owner_runs=True)
    sleeps_with_it(m, lock)
    waiter = m.path("waiter", threads=1, start=ns(100))
    waiter.lock(lock)
    waiter.unlock(lock)
    waiter.sleep(us(100))
    m.path("idle", counted=False, threads=1).sleep(us(900))
    m.path("computes", counted=False, threads=1, start=ns(150)).spend(us(900))
    counts = replicate(m.compile(), seed=1, replication=0, operations=1, warm_up=0)
    found = dict(enumerate(counts.world.in_state_ps[1] / PS_PER_NS))
    assert found == {
        RUNNING: 0, HOLDING: 1500, SPINNING: 1000, READY: 2000, SLEEPING: 100 + 22_400 + 100_000,
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["unfair_lock", "test_and_set_lock"])
@pytest.mark.parametrize("threads", [5, 8])
def test_an_unfair_lock_goes_to_a_spinner_that_has_a_cpu(kind: str, threads: int) -> None:
    """That is what virt_spin_lock() is for. Holders are still preempted, with 4 CPUs for 5 threads or 8."""

    def per_second(kind: str, threads: int) -> float:
        m = Builder(threads)
        m.machine(cpus=4, time_slice=ms(3))
        lock = getattr(m, kind)("lock", hold=us(1))
        path = m.path("path")
        path.spend(exponential(us(20)))
        path.lock(lock)
        path.unlock(lock)
        counts = replicate(m.compile(), seed=1, replication=0, operations=20_000)
        return counts.operations * PS_PER_S / counts.window_ps

    enough = per_second(kind, 4)
    assert per_second(kind, threads) > 0.8 * enough > 50 * per_second("queued_lock", threads)


def test_a_lock_whose_spinners_have_no_cpu_is_free_for_who_runs_first() -> None:
    """1 holds it on CPU 1 until 2500. 2 spins on CPU 0 from 1000 to 2000, and has it again at 3000.

    If 3 comes to CPU 1 at 2600 it finds the lock free, and 2 has it after 3; if not, 2 has it at 3000.
    """
    taken = [(1, 0, 2500), (3, 2600, 3200), (2, 3200, 3800)]
    assert on_two_cpus((0, 1900), (100, 0), (2600, 0)) == taken
    assert on_two_cpus((0, 1900), (100, 0)) == [(1, 0, 2500), (2, 3000, 3600)]


def on_two_cpus(*who: tuple[int, int]) -> list[tuple[int, float, float]]:
    """Threads 1, 2, ... start at a time and hold an unfair lock for 600 ns and more; thread 0 computes."""
    m = Builder(1)
    m.machine(cpus=2, time_slice=ns(1000))
    lock = m.unfair_lock("lock", hold=ns(600))
    m.path("computes").spend(us(900))
    for start_ns, more_ns in who:
        path = m.path(f"from {start_ns}", threads=1, counted=False, start=ns(start_ns))
        path.lock(lock)
        path.spend(ns(more_ns))
        path.unlock(lock)
        path.sleep(us(900))
    return held(m.compile())


def rate(name: str, threads: int, **given: float) -> float:
    return simulate(
        str(MODELS / f"{name}.py"), threads, given, operations=20_000, replications=4, seed=1
    ).rate_per_s


def test_the_example_of_xfs_ends_at_what_its_push_stops() -> None:
    """A push of 40 us stops all: of 100 commits a push never more than 100 / 40 us; alone none is felt."""
    assert rate("xfs_cil", 1) == pytest.approx(1e6 / (20.0 + 0.02 + 0.9), rel=0.03)
    often = rate("xfs_cil", 96, push_commits=100)
    assert often < 100 / 40e-6 and rate("xfs_cil", 96) > 2 * often


def test_the_example_of_lustre_ends_at_its_lru_lock_and_a_batch_or_cna_helps() -> None:
    """150 ns of hold and 70 of hand-over, and 180 more for half of those that come."""
    plain = rate("ldlm_lru", 64)
    assert plain == pytest.approx(1e9 / (150 + 70 + 180 / 2), rel=0.05)
    assert rate("ldlm_lru", 64, nearest=True) == pytest.approx(1e9 / (150 + 70), rel=0.05)
    assert rate("ldlm_lru", 64, touch_matches=32) > 2 * plain


def test_the_example_of_the_dcache_walks_slower_beside_renames_that_hold_the_dentry() -> None:
    """12 walkers, alone and beside 36 that rename; who sleeps under its mutex leaves the dentry alone."""
    walked = rate("dcache_rename", 12, renames_pct=0)
    beside = rate("dcache_rename", 48, renames_pct=75, move_ns=3000)
    assert beside < 0.75 * walked
    assert rate("dcache_rename", 48, renames_pct=75, move_ns=3000, disk_us=50) > 1.3 * beside
