# SPDX-License-Identifier: MIT
"""What sockets and a tracer cost, in fixed times that add up by hand.

Threads are dealt to two sockets in turn, so of three threads that follow one another the second and
the third come from the other socket and the first does not.
"""

import pytest

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns
from lockscale.sim.replicate import Counts, replicate

HOLD, PASS, REMOTE, PER_WAITER = 1000, 70, 300, 11
OWN, SOCKET, FAR = 5, 40, 130
ROUNDS = 40


def run(m: Builder, rounds: int = ROUNDS) -> Counts:
    """Whole rounds of all threads, from a time at which they have long followed one another."""
    return replicate(
        m.compile(), seed=1, replication=0, operations=rounds * m.threads, warm_up=10 * m.threads
    )


def queue(threads: int, sockets: int, kind: str = "queued_lock", **costs: int) -> Counts:
    """All wait for one lock, all the time."""
    m = Builder(threads)
    m.machine(sockets=sockets)
    times = {name: ns(value) for name, value in costs.items()}
    lock = getattr(m, kind)("lock", hold=ns(HOLD), handover=ns(PASS), **times)
    path = m.path("path")
    path.lock(lock)
    path.unlock(lock)
    return run(m)


@pytest.mark.parametrize(("sockets", "remote_a_round"), [(1, 0), (2, 2), (3, 3)])
def test_a_hand_over_to_another_socket_costs_more(sockets: int, remote_a_round: int) -> None:
    counts = queue(3, sockets, remote=REMOTE)
    a_round_ns = 3 * (HOLD + PASS) + remote_a_round * REMOTE
    assert counts.window_ps == ROUNDS * a_round_ns * 1000
    (lock,) = counts.world.locks
    assert lock["handovers"] == 3 * ROUNDS and lock["remote_handovers"] == remote_a_round * ROUNDS
    assert lock["hold_area_ps"] == counts.window_ps, "hand-over time is hold time"


def test_a_ticket_lock_pays_for_its_waiters_and_for_the_socket() -> None:
    """At each hand-over two of four wait on: the heir no longer, the last holder not yet."""
    counts = queue(4, 2, "ticket_lock", remote=REMOTE, per_waiter=PER_WAITER)
    waiting = counts.window_ps / (4 * ROUNDS * 1000) - HOLD - PASS - REMOTE
    assert waiting == pytest.approx(2 * PER_WAITER)


def test_a_lock_that_nobody_waits_for_costs_no_hand_over() -> None:
    """Two threads of two sockets that never meet: the second begins half a cycle after the first."""
    m = Builder(1)
    m.machine(sockets=2)
    lock = m.queued_lock("lock", hold=ns(HOLD), handover=ns(PASS), remote=ns(REMOTE))
    for added, start in ((None, 0), (1, 5 * HOLD)):
        path = m.path(f"from {start}", threads=added, start=ns(start))
        path.lock(lock)
        path.unlock(lock)
        path.spend(ns(9 * HOLD))
    counts = replicate(m.compile(), seed=1, replication=0, operations=2 * ROUNDS, warm_up=2)
    assert counts.window_ps == ROUNDS * 10 * HOLD * 1000
    assert counts.world.locks["handovers"][0] == 0


def line(threads: int, sockets: int, own: int, socket: int, remote: int) -> Counts:
    """All modify one cache line, all the time."""
    m = Builder(threads)
    m.machine(sockets=sockets)
    path = m.path("path")
    path.atomic(m.cache_line("line", own=ns(own), socket=ns(socket), remote=ns(remote)))
    return run(m)


@pytest.mark.parametrize(
    ("threads", "sockets", "of_a_round"),
    [(1, 1, (1, 0, 0)), (3, 1, (0, 3, 0)), (3, 2, (0, 1, 2)), (3, 3, (0, 0, 3)), (4, 2, (0, 0, 4))],
)
def test_a_cache_line_costs_by_where_it_is(
    threads: int, sockets: int, of_a_round: tuple[int, int, int]
) -> None:
    counts = line(threads, sockets, OWN, SOCKET, FAR)
    a_round_ns = sum(n * cost for n, cost in zip(of_a_round, (OWN, SOCKET, FAR), strict=True))
    assert counts.window_ps == ROUNDS * a_round_ns * 1000
    (found,) = counts.world.lines
    columns = ("from_own", "from_socket", "from_remote")
    assert tuple(found[c] / ROUNDS for c in columns) == of_a_round


def test_a_cost_that_is_not_given_is_the_nearer_ones() -> None:
    assert line(3, 2, OWN, SOCKET, 0).window_ps == ROUNDS * 3 * SOCKET * 1000
    assert line(3, 2, OWN, 0, 0).window_ps == ROUNDS * 3 * OWN * 1000


def traced(functions: list[str], threads: int = 1) -> Counts:
    m = Builder(threads)
    m.tracer(ns(30), functions)
    lock = m.queued_lock("group", hold=ns(HOLD))
    path = m.path("path")
    path.spend(ns(100), "search")
    path.spend(ns(50), "access")
    path.lock(lock)
    path.spend(ns(10), "set bit")
    path.unlock(lock)
    return run(m)


@pytest.mark.parametrize(
    ("functions", "steps"),
    [([], 0), (["access"], 1), (["access", "search"], 2), (["lock group"], 1)],
)
def test_a_tracer_costs_at_each_step_of_that_name(functions: list[str], steps: int) -> None:
    assert traced(functions).window_ps == ROUNDS * (100 + 50 + HOLD + 10 + 30 * steps) * 1000


def test_a_tracer_before_a_lock_is_not_in_its_hold_and_one_inside_is() -> None:
    """So with many threads the first is hidden by the queue and the second slows all."""
    before, inside = traced(["lock group"], threads=8), traced(["set bit"], threads=8)
    plain = traced([], threads=8)
    assert before.window_ps == plain.window_ps
    assert inside.window_ps - plain.window_ps == 8 * ROUNDS * 30 * 1000


def test_a_tracers_cost_may_vary() -> None:
    m = Builder(1)
    m.tracer(exponential(ns(30)), ["search"])
    m.path("path").spend(ns(100), "search")
    mean_ns = run(m, 40_000).window_ps / 40_000 / 1000
    assert mean_ns == pytest.approx(130, abs=4 * 30 / 200)
