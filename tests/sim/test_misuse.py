# SPDX-License-Identifier: MIT
"""A model that cannot mean what it says is refused where it is written, before any number comes out."""

from collections.abc import Callable

import pytest

from lockscale.errors import BadInput
from lockscale.sim.builder import Builder
from lockscale.sim.delays import empirical, exponential, gamma, jitter, ms, ns, us
from lockscale.sim.path import Path
from lockscale.sim.replicate import Counts, replicate

Write = Callable[[Builder, Path], object]


def run(m: Builder, operations: int = 2_000) -> Counts:
    return replicate(m.compile(), seed=1, replication=0, operations=operations)


def written(write: Write) -> None:
    m = Builder(4)
    path = m.path("create")
    path.spend(ns(5))
    write(m, path)
    m.compile()


STEPS: list[tuple[Write, str]] = [
    (lambda m, p: p.atomic(m.queued_lock("l", hold=ns(1))), "needs a line of this model but has 'l'"),
    (lambda m, p: p.lock(m.bitmap("l")), "needs a lock of this model but has 'l'"),
    (lambda m, p: p.lock(m.commit_gate("l", commit=us(1))), "needs a lock of this model but has 'l'"),
    (lambda m, p: p.lock("l"), "needs a lock of this model but has 'l'"),
    (lambda m, p: p.lock(Builder(4).queued_lock("l", hold=ns(1))), "needs a lock of this model"),
    (lambda m, p: p.enter(m.bitmap("b")), "needs a gate of this model"),
    (lambda m, p: p.leave(m.commit_gate("g", commit=us(1))), "leaves 'g', which the path has not entered"),
    (lambda m, p: p.spend(5.0), "5.0 is not a delay: write us"),
    (lambda m, p: m.queued_lock("l", hold=200), "200 is not a delay"),
    (lambda m, p: p.repeat(3), r"step 2 of path 'create': repeat\(\) has no steps inside"),
    (lambda m, p: p.every(3, m.counter("c")), r"every\(\) has no steps inside"),
    (lambda m, p: p.every(0, m.counter("c")), "times is 0: give a whole number from 1"),
    (
        lambda m, p: p.load(m.place("p", shards=1), m.counter("c")),
        "needs a variable of this model but has 'c'",
    ),
    (lambda m, p: p.get_ref(m.cache_line("l", own=ns(1))), "needs a lockref of this model"),
    (lambda m, p: m.cna_lock("l", hold=ns(1), in_a_row=-1), "in_a_row of 'l' is -1"),
    (lambda m, p: p.sometimes(0.1), r"sometimes\(\) has no steps inside"),
    (lambda m, p: p.retry_if_lost(Path.label(m.path("b"), "top")), "give a label of this path"),
    (lambda m, p: m.queued_lock("l", hold=ns(1), handover=jitter(us(1), us(1))), "neither fixed nor"),
    (lambda m, p: p.find_slot(m.slots("s", per_block=2), exponential(us(1))), "give a fixed time"),
    (lambda m, p: p.spend(exponential(gamma(us(1), 2))), "the mean of a delay is"),
    (lambda m, p: p.spend(gamma(ms(10_000), 0.01)), "has a tail of mean / shape above 10 s"),
    (lambda m, p: m.slots("s", per_block=2.5), "per_block of 's' is 2.5: give a whole number"),
    (lambda m, p: m.place("p", shards=2, stride=2.5), "stride of place 'p' is 2.5"),
    (lambda m, p: m.place("p", shards=2, stride=10**30), "stride of place 'p' is 1000"),
    (lambda m, p: m.machine(cpus=10**9, time_slice=ms(1)), "cpus is 1000000000: give a whole number"),
    (lambda m, p: m.machine(cpus=2), "whose CPUs are shared needs a time slice"),
    (lambda m, p: p.spend(empirical([])), "needs one or more fixed times"),
    (lambda m, p: p.spend(empirical([us(1), exponential(us(1))])), "needs one or more fixed times"),
    (lambda m, p: p.spend(empirical([5])), "needs one or more fixed times"),
    (lambda m, p: p.find_slot(m.slots("s", per_block=2), 5), "5 is not a delay"),
    (lambda m, p: m.machine(cpus=2, time_slice=3), "3 is not a delay"),
    (lambda m, p: m.cache_line("l", own=ns(5), socket=100), "100 is not a delay"),
    (lambda m, p: m.cache_line("l", own=ns(5), remote=100), "100 is not a delay"),
    (lambda m, p: m.machine(cpus=True, time_slice=ms(1)), "cpus is True"),
    (lambda m, p: m.commit_gate("g", commit=us(1), entries=-5), "entries of 'g' is -5"),
    (lambda m, p: m.path("b", threads=2.5), "threads of path 'b' is 2.5"),
    (lambda m, p: m.tracer(ns(1), ["x"]), "has to come before the paths"),
]


@pytest.mark.parametrize(("write", "said"), STEPS)
def test_what_cannot_be_meant_is_refused(write: Write, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        written(write)


@pytest.mark.parametrize(
    ("functions", "said"), [("spend", "takes a list"), (["spnd"], "on 'spnd', but there is no")]
)
def test_a_tracer_on_nothing_is_refused(functions: object, said: str) -> None:
    m = Builder(1)
    with pytest.raises(BadInput, match=said):
        m.tracer(ns(1), functions)  # type: ignore[arg-type]
        m.path("create").spend(ns(5))
        m.compile()


def test_a_model_that_does_not_use_its_threads_is_refused() -> None:
    m = Builder(48)
    m.path("create", threads=3).spend(ns(5))
    with pytest.raises(BadInput, match="no path shares the model's threads"):
        m.compile()


def test_a_shard_number_is_loaded_only_where_there_are_as_many_shards() -> None:
    m = Builder(4)
    cpu, group, goal = m.place("cpu", shards=8), m.place("group", shards=2), m.variable("goal")
    path = m.path("create")
    path.pick_random(cpu)
    path.store(cpu, goal)
    path.load(group, goal)
    path.spend(ns(5))
    with pytest.raises(BadInput, match="stored from 8 shards and loaded into place 'group' of 2"):
        m.compile()


def others_go_on(m: Builder) -> None:
    m.path("other").spend(us(1))


def test_a_deadlock_of_a_lock_and_a_gate_is_found_while_others_go_on() -> None:
    m = Builder(10)
    lock, gate = m.queued_lock("lock", hold=ns(100)), m.commit_gate("gate", commit=us(1), entries=3)
    a, b = m.path("a"), m.path("b")
    a.enter(gate)
    a.spend(us(1))
    a.lock(lock)
    a.unlock(lock)
    a.leave(gate)
    b.lock(lock)
    b.spend(us(1))
    b.enter(gate)
    b.leave(gate)
    b.unlock(lock)
    others_go_on(m)
    with pytest.raises(BadInput, match=r"waits for '(lock|gate)' for ever while others run"):
        run(m)


def test_a_deadlock_of_readers_and_an_owner_is_found_while_others_go_on() -> None:
    m = Builder(9)
    sem, lock = m.rwsem("sem", hold=ns(100), wake=us(1)), m.queued_lock("lock", hold=ns(100))
    a, b = m.path("a"), m.path("b")
    a.read_lock(sem)
    a.spend(us(1))
    a.lock(lock)
    a.unlock(lock)
    a.read_unlock(sem)
    b.lock(lock)
    b.spend(us(1))
    b.lock(sem)
    b.unlock(sem)
    b.unlock(lock)
    others_go_on(m)
    with pytest.raises(BadInput, match=r"waits for '(sem|lock)' for ever while others run"):
        run(m)


def test_blocks_of_slots_keep_their_own_size() -> None:
    """Two slots held for 10 us cap the rate at 2 / 10 us, whatever other blocks there are."""
    m = Builder(8)
    small = m.slots("small", per_block=2)
    m.slots("big", per_block=100)
    path = m.path("add")
    again = path.label("again")
    path.spend(ns(100))
    path.reserve(small)
    path.retry_if_lost(again)
    found = path.label("found")
    path.spend(ns(1))
    path.find_slot(small, ns(0))
    path.take_slot(small)
    path.retry_if_lost(found)
    path.spend(us(10))
    path.free_slot(small)
    counts = run(m)
    assert counts.operations / (counts.window_ps / 1e12) == pytest.approx(2 / 10e-6, rel=0.02)


def test_each_trylock_counts_its_own_failures() -> None:
    m = Builder(8)
    first, second = m.queued_lock("first", hold=us(1)), m.queued_lock("second", hold=us(1))
    path = m.path("create")
    top = path.label("top")
    path.spend(ns(70))
    path.trylock(first, top)
    path.unlock(first)
    again = path.label("again")
    path.spend(ns(30))
    path.trylock(second, again, tries=2)
    path.unlock(second)
    locks = run(m).world.locks
    assert locks["failed_tries"][1] <= 2 * locks["acquisitions"][1]


def test_a_loop_left_by_a_retry_begins_anew() -> None:
    """One thread that loses its second claim in each loop would else end the loop half way."""
    m = Builder(1)
    bits = m.bitmap("bits")
    path = m.path("create")
    top = path.label("top")
    path.find_zero(bits)
    with path.repeat(3):
        path.spend(us(1), "inner")
        path.claim(bits)
        path.retry_if_lost(top)
    with pytest.raises(BadInput, match="no operation is completed"):
        run(m)


def test_a_sleeper_is_not_overtaken_for_ever_by_those_who_spin() -> None:
    """kernel/locking/mutex.c: a waiter that was woken in vain gets the mutex handed off."""
    m = Builder(5)
    mutex = m.mutex("mutex", hold=us(10), wake=us(3), spin=us(15))
    path = m.path("create")
    path.spend(us(1))
    path.lock(mutex)
    path.unlock(mutex)
    counts = run(m)
    slept = counts.world.in_state_ps[:, 3] / counts.world.in_state_ps.sum(axis=1)
    assert slept.max() < 0.9
