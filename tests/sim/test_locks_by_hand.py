# SPDX-License-Identifier: MIT
"""Who gets a lock when, told beforehand to the nanosecond: each thread comes once, at a time of its own."""

from collections.abc import Callable, Sequence

import pytest
from by_hand import Steps, comings, held, left, ran, times

from lockscale.sim.builder import Builder
from lockscale.sim.delays import ns
from lockscale.sim.path import Path
from lockscale.sim.primitives import Lock

Held = tuple[int, float, float]


def takes(path: Path, lock: Lock) -> None:
    path.lock(lock)
    path.unlock(lock)


def takes_long(path: Path, lock: Lock) -> None:
    path.lock(lock)
    path.spend(ns(1000))
    path.unlock(lock)


def reads(path: Path, lock: Lock) -> None:
    path.read_lock(lock)
    path.read_unlock(lock)


def reads_long(path: Path, lock: Lock) -> None:
    path.read_lock(lock)
    path.spend(ns(1000))
    path.read_unlock(lock)


def asks(tries: int, every_ns: int = 100) -> Steps:
    """trylock, and where it is held again after a time, until it waits."""

    def steps(path: Path, lock: Lock) -> None:
        again = path.label("again")
        path.spend(ns(every_ns))
        path.trylock(lock, again, tries=tries)
        path.unlock(lock)

    return steps


def queued(m: Builder) -> Lock:
    return m.queued_lock("lock", hold=ns(1000), handover=ns(10))


def rwsem(m: Builder) -> Lock:
    return m.rwsem("lock", hold=ns(1000), wake=ns(50))


def spinning_rwsem(m: Builder) -> Lock:
    return m.rwsem("lock", hold=ns(1000), wake=ns(50), spin=ns(5000))


def mutex(m: Builder) -> Lock:
    return m.mutex("lock", hold=ns(1000), wake=ns(50))


def slow_to_wake(m: Builder) -> Lock:
    return m.mutex("lock", hold=ns(200), wake=ns(1000))


def patient(m: Builder) -> Lock:
    return m.mutex("lock", hold=ns(1000), wake=ns(50), spin=ns(1500))


def barging(m: Builder) -> Lock:
    return m.sleeping_lock("lock", hold=ns(1000), wake=ns(50))


def in_turn(m: Builder) -> Lock:
    return m.sleeping_lock("lock", hold=ns(1000), wake=ns(50), barging=False)


SCENES: dict[str, tuple[Callable[[Builder], Lock], Sequence[tuple[int, Steps]], list[Held]]] = {
    "a queued lock goes in the order of coming, and each hand-over takes its time": (
        queued, [(0, takes), (200, takes), (100, takes)],
        [(1, 0, 1000), (3, 1000, 2010), (2, 2010, 3020)],
    ),
    "readers share, and a writer waits for the last of them": (
        rwsem, [(0, reads), (500, reads), (600, takes)],
        [(1, 0, 1000), (2, 500, 1500), (3, 1550, 2550)],
    ),
    "a reader that comes behind a waiting writer does not overtake it": (
        rwsem, [(0, reads), (100, takes), (200, reads)],
        [(1, 0, 1000), (2, 1050, 2050), (3, 2050, 3100)],
    ),
    "a reader comes beside others where a writer only spins": (
        spinning_rwsem, [(0, reads), (100, takes), (500, reads)],
        [(1, 0, 1000), (3, 500, 1500), (2, 1500, 2500)],
    ),
    "a reader takes a free rwsem from a writer that is on its way": (
        rwsem, [(0, takes), (100, takes), (1020, reads), (1030, reads)],
        [(1, 0, 1000), (3, 1020, 2020), (2, 2070, 3070), (4, 3070, 4120)],
    ),
    "a sleeper of an rwsem is overtaken again and again at first": (
        rwsem, [(0, takes), (100, takes), (1020, takes), (2040, takes)],
        [(1, 0, 1000), (3, 1020, 2020), (4, 2040, 3040), (2, 3090, 4090)],
    ),
    "readers that sleep are overtaken by writers that spin": (
        spinning_rwsem, [(0, takes), (100, reads), (200, takes), (300, takes)],
        [(1, 0, 1000), (3, 1000, 2000), (4, 2000, 3000), (2, 3000, 4050)],
    ),
    "a trylock of an rwsem fails while somebody waits for it": (
        rwsem, [(0, takes), (100, takes), (920, asks(0))],
        [(1, 0, 1000), (2, 1050, 2050), (3, 2120, 3120)],
    ),
    "all readers that wait get it at once, though a writer waits between them": (
        rwsem, [(0, takes), (100, reads), (200, takes), (300, reads)],
        [(1, 0, 1000), (2, 1000, 2050), (4, 1000, 2050), (3, 2100, 3100)],
    ),
    "a sleeping lock is free until its waiter is awake, and who comes meanwhile has it": (
        barging, [(0, takes), (100, takes), (1020, takes)],
        [(1, 0, 1000), (3, 1020, 2020), (2, 2070, 3070)],
    ),
    "in turn it is the waiter's from the release on": (
        in_turn, [(0, takes), (100, takes), (1020, takes)],
        [(1, 0, 1000), (2, 1000, 2050), (3, 2050, 3100)],
    ),
    "a sleeper of a mutex is overtaken once, keeps its place, and is then next": (
        mutex, [(0, takes), (100, takes), (200, takes), (1020, takes), (2040, takes)],
        [(1, 0, 1000), (4, 1020, 2020), (2, 2020, 3070), (3, 3120, 4120), (5, 4170, 5170)],
    ),
    "who is on its way to a mutex stays the first, and no other is woken meanwhile": (
        slow_to_wake, [(0, takes), (10, takes), (20, takes), (205, takes), (1190, takes_long)],
        [(1, 0, 200), (4, 205, 405), (5, 1190, 2390), (2, 2390, 3590), (3, 4590, 4790)],
    ),
    "a sleeper that a spinner overtakes is woken, spins, and is handed the lock awake": (
        patient, [(0, takes_long), (50, takes), (900, takes), (2100, takes)],
        [(1, 0, 2000), (3, 2000, 3000), (2, 3000, 4000), (4, 4050, 5050)],
    ),
    "trylock takes a free lock and goes on where it is held": (
        queued, [(0, takes), (50, asks(0))],
        [(1, 0, 1000), (2, 1050, 2050)],
    ),
    "trylock of a lock that readers hold fails too": (
        rwsem, [(0, reads_long), (470, asks(0))],
        [(1, 0, 2000), (2, 2070, 3070)],
    ),
    "a trylock waits after so many tries and no more": (
        queued, [(0, takes), (50, asks(3))],
        [(1, 0, 1000), (2, 1000, 2010)],
    ),
    "a trylock takes a free lock though others are on their way to it": (
        barging, [(0, takes), (100, takes), (920, asks(0))],
        [(1, 0, 1000), (3, 1020, 2020), (2, 2070, 3070)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("scene", SCENES)
def test_who_holds_it_when(scene: str) -> None:
    kind, who, expected = SCENES[scene]
    assert held(comings(kind, *who)) == expected


def test_a_thread_that_tries_waits_with_its_third_failure() -> None:
    assert times(comings(queued, (0, takes), (50, asks(3))), 2, "spinning") == [("trylock lock", 350, 1000)]


def test_a_success_starts_the_count_of_tries_anew() -> None:
    """It fails at 130 and 230, gets it at 330; fails at 680 and 780, gets it at 880: it never waits."""

    def twice(path: Path, lock: Lock) -> None:
        with path.repeat(2):
            asks(3)(path, lock)

    program = comings(_short, (0, takes), (30, twice), (600, takes))
    assert times(program, 2, "spinning") == []
    assert held(program) == [(1, 0, 250), (2, 330, 580), (3, 600, 850), (2, 880, 1130)]


def test_who_waits_after_its_tries_goes_on_waiting_where_it_is_overtaken() -> None:
    """It sleeps at 350, is woken at 1050 and finds 3 there, so it sleeps again: that is no further try."""
    program = comings(barging, (0, takes), (50, asks(3)), (1020, takes))
    assert held(program) == [(1, 0, 1000), (3, 1020, 2020), (2, 2070, 3070)]
    lock = ran(program).world.locks[0]
    assert (lock["failed_tries"], lock["requests"]) == (3, 3)


def _short(m: Builder) -> Lock:
    return m.queued_lock("lock", hold=ns(250))


def test_each_failed_try_is_counted_and_each_wait_once() -> None:
    lock = ran(comings(queued, (0, takes), (50, asks(3)), (400, takes))).world.locks[0]
    assert (lock["failed_tries"], lock["requests"], lock["acquisitions"]) == (3, 3, 3)
    assert (lock["handovers"], lock["wait_ps"]) == (2, (650 + 1610) * 1000)


def ticket(m: Builder) -> Lock:
    return m.ticket_lock("lock", hold=ns(1000), handover=ns(10), per_waiter=ns(7))


def two_sockets(m: Builder) -> Lock:
    m.machine(sockets=2)
    return m.queued_lock("lock", hold=ns(1000), handover=ns(10), remote=ns(90))


def test_a_hand_over_of_a_ticket_lock_takes_longer_for_each_that_still_waits() -> None:
    program = comings(ticket, (0, takes), (100, takes), (200, takes), (300, takes))
    assert held(program) == [(1, 0, 1000), (2, 1000, 2024), (3, 2024, 3041), (4, 3041, 4051)]


def test_a_hand_over_to_another_socket_costs_more() -> None:
    """Threads are dealt to the sockets in turn: 1 and 3 are on one, 2 on the other."""
    program = comings(two_sockets, (0, takes), (200, takes), (100, takes))
    assert held(program) == [(1, 0, 1000), (3, 1000, 2010), (2, 2010, 3110)]


def test_waking_costs_who_releases() -> None:
    def costly(m: Builder) -> Lock:
        return m.sleeping_lock("lock", hold=ns(1000), wake=ns(50), wake_cost=ns(30))

    program = comings(costly, (0, takes), (100, takes))
    assert left(program, 1) == 1030 and left(program, 2) == 2050


def test_waking_readers_costs_for_each() -> None:
    def costly(m: Builder) -> Lock:
        return m.rwsem("lock", hold=ns(1000), wake=ns(50), wake_cost=ns(30))

    program = comings(costly, (0, takes), (100, reads), (200, takes), (300, reads), (400, reads))
    assert left(program, 1) == 1090


def test_a_waiter_that_spun_enough_sleeps_and_others_keep_their_places() -> None:
    """The second to come has spun its 300 ns at 400, the third at 500: they sleep in this order."""

    def budget(m: Builder) -> Lock:
        return m.mutex("lock", hold=ns(1000), wake=ns(50), spin=ns(300))

    program = comings(budget, (0, takes), (100, takes), (200, takes))
    assert times(program, 2, "spinning") == [("lock lock", 100, 400)]
    assert times(program, 3, "spinning") == [("lock lock", 200, 500)]
    assert held(program) == [(1, 0, 1000), (2, 1050, 2050), (3, 2100, 3100)]


def test_a_promise_to_a_sleeper_comes_before_who_spins() -> None:
    """2 sleeps, is woken at 1000 and finds 3 there: it is next, though 4 has been spinning since."""

    def budget(m: Builder) -> Lock:
        return m.mutex("lock", hold=ns(1000), wake=ns(50), spin=ns(900))

    program = comings(budget, (0, takes), (50, takes), (1020, takes), (1500, takes))
    assert held(program) == [(1, 0, 1000), (3, 1020, 2020), (2, 2020, 3070), (4, 3120, 4120)]


def test_waking_who_is_overtaken_costs_who_releases() -> None:
    def costly(m: Builder) -> Lock:
        return m.mutex("lock", hold=ns(1000), wake=ns(50), spin=ns(1500), wake_cost=ns(30))

    program = comings(costly, (0, takes_long), (50, takes), (900, takes))
    assert [left(program, thread) for thread in (1, 2, 3)] == [2030, 4000, 3000]


def test_a_reader_sleeps_at_once_though_writers_spin() -> None:
    program = comings(spinning_rwsem, (0, takes), (100, reads), (200, takes))
    assert times(program, 2, "spinning") == [] and times(program, 3, "spinning") == [("lock lock", 200, 1000)]


def test_of_spinners_who_gives_up_is_the_one_whose_time_is_over() -> None:
    """3 comes first to the queue and 2 behind it; 2 is handed the lock while 3 sleeps, which is woken and
    spins once more."""

    def budget(m: Builder) -> Lock:
        return m.mutex("lock", hold=ns(1000), wake=ns(50), spin=ns(300))

    program = comings(budget, (0, takes), (800, takes), (600, takes), (850, takes))
    assert times(program, 3, "spinning") == [("lock lock", 600, 900), ("lock lock", 1050, 1350)]
    assert times(program, 2, "spinning") == [("lock lock", 800, 1000)]
    assert [(who, start) for who, start, _ in held(program)][:2] == [(1, 0), (2, 1000)]
