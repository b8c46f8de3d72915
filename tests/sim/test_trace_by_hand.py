# SPDX-License-Identifier: MIT
"""Traces that can be told beforehand: small cycles by hand, preemption, shards, and the storm."""

from collections import Counter
from itertools import pairwise

import pytest

from lockscale.sim import simulate
from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns
from lockscale.sim.program import Program
from lockscale.sim.trace import (
    Hold,
    Span,
    Trace,
    events_of,
    record,
    trace,
    window,
)

STORM = ("inode_claim", 48)


def time_by(spans: tuple[Span, ...], key: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for span in spans:
        total[getattr(span, key)] += span.end_ps - span.start_ps
    return total


# By hand


def cycle(threads: int, elsewhere_ns: float, **machine: object) -> Program:
    m = Builder(threads)
    if machine:
        m.machine(**machine)  # type: ignore[arg-type]
    lock = m.queued_lock("lock", hold=ns(1000))
    path = m.path("path")
    path.spend(ns(elsewhere_ns), "elsewhere")
    path.lock(lock)
    path.unlock(lock)
    return m.compile()


def test_one_thread_alone_runs_and_holds_in_turn() -> None:
    program = cycle(1, 3000)
    spans, holds = window(program, events_of(record(program, 10_000_000, seed=1)), 0, 10_000_000)
    us_of = [(s.state, s.step, s.holds, s.start_ps / 1e6, s.end_ps / 1e6) for s in spans]
    assert us_of == [
        ("running", "elsewhere", "", 0, 3),
        ("holding", "lock lock", "lock", 3, 4),
        ("running", "elsewhere", "", 4, 7),
        ("holding", "lock lock", "lock", 7, 8),
        ("running", "elsewhere", "", 8, 10),
    ]
    assert [(h.thread, h.start_ps / 1e6, h.end_ps / 1e6) for h in holds] == [(0, 3, 4), (0, 7, 8)]


def test_two_threads_at_a_saturated_lock_spin_for_what_the_other_holds_longer() -> None:
    """1 us of holding each makes a turn of 2 us; of it each spends 0.3 us elsewhere, 0.7 us spinning."""
    program = cycle(2, 300)
    spans, holds = window(program, events_of(record(program, 20_000_000, seed=1)), 0, 20_000_000)
    for thread in (0, 1):
        mine = tuple(s for s in spans if s.thread == thread)
        total = {state: ps / 1e6 for state, ps in time_by(mine, "state").items()}
        assert total == {"running": pytest.approx(3), "spinning": pytest.approx(7), "holding": 10}
    assert all(one.end_ps == other.start_ps and one.thread != other.thread for one, other in pairwise(holds))


def test_a_holder_that_loses_its_cpu_holds_on() -> None:
    """Lock-holder preemption: in its slices of 0.4 us the other runs, then spins in vain."""
    program = cycle(2, 300, cpus=1, time_slice=ns(400))
    spans, holds = window(program, events_of(record(program, 50_000_000, seed=1)), 0, 50_000_000)
    ready = [s for s in spans if s.state == "ready" and s.holds == "lock"]
    assert ready
    for one in ready:
        assert any(h.start_ps <= one.start_ps and one.end_ps <= h.end_ps for h in holds)
        other = [s for s in spans if s.thread != one.thread and one.start_ps <= s.start_ps < one.end_ps]
        assert other and {s.state for s in other} <= {"running", "spinning"}
    assert max(h.end_ps - h.start_ps for h in holds) > 1_400_000


def test_a_shard_is_named_and_different_shards_are_held_at_once() -> None:
    m = Builder(4)
    group = m.queued_lock("group", hold=ns(100), shards=4)
    goal = m.place("goal", shards=4)
    path = m.path("path")
    path.lock(group, goal)
    path.spend(ns(900))
    path.unlock(group, goal)
    path.spend(exponential(ns(500)))
    program = m.compile()
    spans, holds = window(program, events_of(record(program, 5_000_000, seed=1)), 2_000_000, 5_000_000)
    assert {(h.lock, h.thread) for h in holds} == {(f"group[{n}]", n) for n in range(4)}
    assert {s.holds for s in spans if s.state == "holding"} == {f"group[{n}]" for n in range(4)}
    assert any(a.lock != b.lock and b.start_ps < a.end_ps <= b.end_ps for a in holds for b in holds)


def test_where_a_waiter_sleeps_the_trace_says_so() -> None:
    found = trace("write_access", 48, for_us=300)
    asleep = [s for s in found.spans if s.state == "sleeping"]
    assert asleep and {s.primitive for s in asleep} == {"lock_buffer"}


# The storm


@pytest.fixture(scope="module")
def storm() -> Trace:
    return trace(*STORM, for_us=3000)


def test_in_the_storm_nearly_all_threads_spin(storm: Trace) -> None:
    """Of W attempts at a time one holds and X W access share write access before it; the rest spin."""
    run = simulate(*STORM)
    before = run.rate_per_s * run.attempts_per_op * 250e-9
    spinning = time_by(storm.spans, "state")["spinning"] / (storm.to_ps - storm.from_ps)
    assert spinning == pytest.approx(run.attempts_per_op - 1 - before, rel=0.05)
    assert spinning > 0.8 * 48


def test_its_lock_is_never_free_and_never_twice_in_a_row_with_one_thread(storm: Trace) -> None:
    assert {h.lock for h in storm.holds} == {"group lock"}
    assert all(one.end_ps == other.start_ps for one, other in pairwise(storm.holds))
    assert all(one.thread != other.thread for one, other in pairwise(storm.holds))


def test_the_cure_lets_them_run() -> None:
    cured = trace(*STORM, {"search_locked": True}, for_us=500)
    total = time_by(cured.spans, "state")
    assert total["spinning"] < 0.01 * total["running"]


def arrivals(spans: tuple[Span, ...], holds: tuple[Hold, ...]) -> list[int]:
    """When those who get the lock after spinning began to spin, in the order in which they get it."""
    began = {(s.thread, s.end_ps): s.start_ps for s in spans if s.state == "spinning" and s.start_ps > 0}
    return [began[h.thread, h.start_ps] for h in holds if (h.thread, h.start_ps) in began]


def test_spinners_get_a_queued_lock_in_the_order_of_arrival(storm: Trace) -> None:
    waits = arrivals(storm.spans, storm.holds)
    assert len(waits) > 5000 and waits == sorted(waits)


def test_they_do_not_get_an_unfair_lock_so() -> None:
    m = Builder(8)
    lock = m.unfair_lock("lock", hold=ns(100))
    path = m.path("path")
    path.spend(exponential(ns(100)))
    path.lock(lock)
    path.unlock(lock)
    program = m.compile()
    waits = arrivals(*window(program, events_of(record(program, 100_000_000, seed=1)), 0, 100_000_000))
    assert len(waits) > 100 and waits != sorted(waits)
