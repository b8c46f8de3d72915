# SPDX-License-Identifier: MIT
"""Lines, bitmaps, slots, gates, CPUs and jumps: what happens when is told beforehand to the nanosecond."""

from typing import Any

import pytest
from by_hand import Steps, comings, held, left, ran, times

from lockscale.errors import BadInput
from lockscale.sim.builder import Builder
from lockscale.sim.delays import ns
from lockscale.sim.path import Path
from lockscale.sim.primitives import Bitmap, Gate, Line, Slots


def line_of_two_sockets(m: Builder) -> Line:
    m.machine(sockets=2)
    return m.cache_line("line", own=ns(10), socket=ns(40), remote=ns(100))


def atomic(path: Path, line: Line) -> None:
    path.atomic(line)


def twice(path: Path, line: Line) -> None:
    path.atomic(line)
    path.atomic(line)


def reads(path: Path, line: Line) -> None:
    path.read(line)


def test_a_line_costs_by_where_it_was_last() -> None:
    """Threads 1 and 3 are on one socket, 2 on the other."""
    program = comings(line_of_two_sockets, (0, twice), (1000, atomic), (2000, atomic), (3000, atomic))
    assert times(program, 1) == [("atomic line", 0, 10), ("atomic line", 10, 20)]
    assert [left(program, thread) for thread in (2, 3, 4)] == [1100, 2100, 3100]
    line = ran(comings(line_of_two_sockets, (0, twice), (500, reads), (1000, atomic), (1500, atomic))).world
    found = line.lines[0]
    assert (found["from_own"], found["from_socket"], found["from_remote"]) == (2, 1, 1)


def test_the_same_socket_is_nearer_than_the_other() -> None:
    program = comings(line_of_two_sockets, (0, atomic), (9000, reads), (1000, atomic))
    assert left(program, 3) == 1040 and left(program, 2) == 9100


def test_atomic_operations_follow_one_another() -> None:
    program = comings(line_of_two_sockets, (0, twice), (5, atomic), (6, atomic))
    assert left(program, 2) == 110  # the first of 1 is over at 10; then the line comes from another socket
    assert left(program, 3) == 210 and left(program, 1) == 250


def swaps(path: Path, line: Line) -> None:
    again = path.label("again")
    path.read(line)
    path.spend(ns(50))
    path.cmpxchg(line)
    path.retry_if_lost(again)


def plain_line(m: Builder) -> Line:
    return m.cache_line("line", own=ns(10))


def test_a_cmpxchg_is_lost_where_another_changed_the_line_since() -> None:
    program = comings(plain_line, (0, swaps), (30, swaps), (500, swaps))
    assert [left(program, thread) for thread in (1, 2, 3)] == [70, 170, 570]
    world = ran(program).world
    assert (world.lines[0]["lost"], world.clock[6]) == (1, 1)


def test_a_cmpxchg_that_is_lost_changes_nothing() -> None:
    """1 wins at 70; 2 loses at 100, which does not make 3 lose, who read at 95: 2 loses to it once more."""
    program = comings(plain_line, (0, swaps), (30, swaps), (85, swaps))
    assert [left(program, thread) for thread in (1, 3, 2)] == [70, 155, 240]


def bitmap(m: Builder) -> Bitmap:
    return m.bitmap("bits")


def claims(path: Path, bits: Bitmap) -> None:
    again = path.label("again")
    path.find_zero(bits)
    path.spend(ns(100))
    path.claim(bits)
    path.retry_if_lost(again)


def test_a_bit_is_claimed_once_and_who_lost_it_searches_again() -> None:
    """3 begins at 40, when the bit of 1 and 2 is still zero: two of three lose, and then one of two."""
    program = comings(bitmap, (0, claims), (20, claims), (40, claims))
    assert [left(program, thread) for thread in (1, 2, 3)] == [100, 220, 340]
    world = ran(program).world
    found = world.bitmaps[0]
    assert (found["searches"], found["claims"], found["lost"], found["next_zero"]) == (6, 6, 3, 3)
    assert world.clock[6] == 3


def test_each_lost_claim_is_counted_once() -> None:
    found = ran(comings(bitmap, (0, claims), (20, claims))).world.bitmaps[0]
    assert (found["claims"], found["lost"]) == (3, 1)


def slots(m: Builder) -> Slots:
    return m.slots("slots", per_block=2)


def takes(path: Path, block: Slots) -> None:
    path.reserve(block)
    path.find_slot(block, ns(10))
    path.spend(ns(5))
    path.take_slot(block)


def takes_and_frees(path: Path, block: Slots) -> None:
    takes(path, block)
    path.spend(ns(100))
    path.free_slot(block)


def only_reserves(path: Path, block: Slots) -> None:
    path.reserve(block)
    with path.if_lost():
        path.spend(ns(1), "full")


def test_a_slot_is_found_behind_those_that_are_taken_and_a_full_block_is_told() -> None:
    program = comings(slots, (0, takes), (20, takes), (60, only_reserves))
    assert [left(program, thread) for thread in (1, 2)] == [15, 45]
    assert times(program, 3) == [("full", 60, 61)]
    found = ran(program).world.slots[0]
    assert (found["free"], found["full"], found["scanned"], found["taken"]) == (0, 1, 3, 2)


def test_a_slot_that_another_took_since_it_was_found_is_lost() -> None:
    found = ran(comings(slots, (0, takes), (2, takes))).world.slots[0]
    assert (found["taken"], found["lost"]) == (1, 1)


def test_a_freed_slot_is_found_again() -> None:
    found = ran(comings(slots, (0, takes_and_frees), (300, takes_and_frees), (600, takes))).world.slots[0]
    assert (found["taken"], found["scanned"], found["free"]) == (3, 3, 1)


def frees_what_it_has_not(path: Path, block: Slots) -> None:
    path.find_slot(block, ns(10))
    path.free_slot(block)


def test_a_slot_that_nobody_took_cannot_be_freed() -> None:
    with pytest.raises(BadInput, match="frees a slot that is not taken"):
        ran(comings(slots, (0, frees_what_it_has_not)))


def gate_of_two(m: Builder) -> Gate:
    return m.commit_gate("gate", commit=ns(1000), entries=2)


def joins(path: Path, gate: Gate) -> None:
    path.enter(gate)
    path.spend(ns(100))
    path.leave(gate)


def test_a_gate_closes_with_its_last_entry_and_opens_after_the_commit() -> None:
    """2 closes it at 50; 1 leaves at 100 and 2 at 150, when the commit begins; 3 waits until 1150."""
    program = comings(gate_of_two, (0, joins), (50, joins), (120, joins), (400, joins))
    assert [left(program, thread) for thread in (1, 2, 3, 4)] == [100, 150, 1250, 1250]
    found = ran(program).world.gates[0]
    assert (found["commits"], found["entered"], found["wait_ps"]) == (2, 4, (1030 + 750) * 1000)


def gate_of_time(m: Builder) -> Gate:
    return m.commit_gate("gate", commit=ns(1000), interval=ns(500))


def test_a_gate_closes_with_the_first_entry_after_its_interval_since_it_opened() -> None:
    """At 600, so it opens at 1700; 1800 is within the next interval, 2300 is not."""
    program = comings(gate_of_time, (0, joins), (600, joins), (1800, joins), (2000, joins), (2300, joins))
    assert [left(program, thread) for thread in (1, 2, 3, 4, 5)] == [100, 700, 1900, 2100, 2400]
    assert ran(program).world.gates[0]["commits"] == 2


def test_threads_of_one_cpu_have_it_in_turn_a_slice_each() -> None:
    m = Builder(1)
    m.machine(cpus=1, time_slice=ns(100))
    m.path("sleeps").sleep(ns(1_000_000))
    for number in (1, 2, 3):
        path = m.path(f"path {number}", threads=1, counted=False, start=ns(number))
        path.spend(ns(150), "works")
        path.sleep(ns(900_000), "gone")
    program = m.compile()
    runs = [(thread, *one[1:]) for thread in (1, 2, 3) for one in times(program, thread, "running")]
    assert sorted(runs, key=lambda one: one[1]) == [
        (1, 1, 101), (2, 101, 201), (3, 201, 301), (1, 301, 351), (2, 351, 401), (3, 401, 451)
    ]  # fmt: skip


def repeats(path: Path, _: Any) -> None:
    with path.repeat(3):
        path.spend(ns(10), "turn")


def test_a_loop_is_done_as_often_as_it_says() -> None:
    program = comings(lambda m: None, (0, repeats))
    assert [step for step, *_ in times(program, 1)] == ["turn"] * 3 and left(program, 1) == 30


def test_next_goes_round_all_shards() -> None:
    m = Builder(1)
    lock, place = m.queued_lock("lock", hold=ns(10), shards=3), m.place("place", shards=3)
    path = m.path("path")
    with path.repeat(4):
        path.lock(lock, place)
        path.unlock(lock, place)
        path.pick_next(place)
    path.spend(ns(1_000_000))
    assert [thread for thread, *_ in held(m.compile())] == [0] * 4
    assert [one["acquisitions"] for one in ran(m.compile()).world.locks] == [2, 1, 1]


def crossing(first: str) -> Steps:
    def steps(path: Path, locks: dict[str, Any]) -> None:
        one, other = (locks[name] for name in (first, {"a": "b", "b": "a"}[first]))
        path.lock(one)
        path.lock(other)
        path.unlock(other)
        path.unlock(one)

    return steps


def test_two_locks_that_are_taken_crosswise_are_told() -> None:

    def two(m: Builder) -> dict[str, Any]:
        return {name: m.queued_lock(name, hold=ns(100)) for name in "ab"}

    with pytest.raises(BadInput, match="waits for lock 'a', whose holder waits for a lock of this thread"):
        ran(comings(two, (0, crossing("a")), (10, crossing("b"))))


def test_a_holder_that_loses_its_cpu_holds_on() -> None:
    """1 holds from 1 on and has 50 left at 101; 2 spins its slice away, and has lock and CPU at 251."""
    m = Builder(1)
    m.machine(cpus=1, time_slice=ns(100))
    lock = m.queued_lock("lock", hold=ns(150))
    m.path("sleeps").sleep(ns(1_000_000))
    for number in (1, 2):
        path = m.path(f"path {number}", threads=1, counted=False, start=ns(number))
        path.lock(lock)
        path.unlock(lock)
        path.sleep(ns(900_000), "gone")
    program = m.compile()
    assert held(program) == [(1, 1, 251), (2, 251, 401)]
    assert times(program, 2, "spinning") == [("lock lock", 101, 201)]


def test_what_is_done_sometimes_is_done_with_its_chance() -> None:
    def some(path: Path, _: Any) -> None:
        for share, what in ((1.0, "always"), (0.0, "never")):
            with path.sometimes(share):
                path.spend(ns(10), what)

    assert [step for step, *_ in times(comings(lambda m: None, (0, some)), 1)] == ["always"]
