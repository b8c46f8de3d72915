# SPDX-License-Identifier: MIT
"""Traces: every thread is always in one state, a lock has one holder, and the engine counts the same."""

import inspect
from collections import Counter
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_paths import programs, unnested_spin_locks

from lockscale.errors import BadInput
from lockscale.sim import simulate
from lockscale.sim.builder import Builder
from lockscale.sim.delays import PS_PER_US, ns, us
from lockscale.sim.engine.layout import STATES
from lockscale.sim.models import load_model
from lockscale.sim.program import Program
from lockscale.sim.replicate import Counts, replicate
from lockscale.sim.trace import (
    OPERATIONS,
    Hold,
    Span,
    Trace,
    events_of,
    record,
    recorded_until,
    trace,
    window,
)

anything = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
cuts = st.lists(st.integers(0, 100), min_size=2, max_size=2, unique=True)
STORM = ("inode_claim", 48)


ROOM = 200_000


def traced_run(
    program: Program, seed: int, warm_up: int = 20
) -> tuple[Counts, tuple[Span, ...], tuple[Hold, ...]]:
    """A short run with the trace of all that is counted, as far as there is room."""
    settings = {"seed": seed, "replication": 0, "operations": 60, "warm_up": warm_up}
    counts = replicate(program, **settings, trace_events=ROOM, trace_ps=(0, 2**55))
    return counts, *window(program, events_of(counts), 0, counts.window_ps)


def whole_run(program: Program, seed: int) -> tuple[Counts, tuple[Span, ...], tuple[Hold, ...]]:
    """The same of a program whose trace has room."""
    counts, *found = traced_run(program, seed)
    assume(len(counts.events) < ROOM)
    return counts, *found


def time_by(spans: tuple[Span, ...], key: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for span in spans:
        total[getattr(span, key)] += span.end_ps - span.start_ps
    return total


# What holds in any run


@pytest.mark.slow
@anything
@given(program=programs(), seed=st.integers(0, 2**63 - 1), cut=cuts)
def test_a_window_is_tiled_for_every_thread(program: Program, seed: int, cut: list[int]) -> None:
    counts, everything, _ = whole_run(program, seed)
    start, end = (counts.window_ps * hundredths // 100 for hundredths in sorted(cut))
    spans, holds = window(program, events_of(counts), start, end)
    assume(start < end)
    by_thread = {thread: list(mine) for thread, mine in groupby(spans, key=lambda s: s.thread)}
    assert list(by_thread) == list(range(len(program.classes())))
    for mine in by_thread.values():
        assert mine[0].start_ps == start and mine[-1].end_ps == end
        assert all(one.end_ps == other.start_ps for one, other in pairwise(mine))
    assert all(one.start_ps < one.end_ps for one in (*spans, *holds))
    whole = {(s.thread, s.end_ps): s for s in everything}
    assert all(s == whole[s.thread, s.end_ps] for s in spans if start < s.start_ps and s.end_ps < end)


@pytest.mark.slow
@anything
@given(program=programs(), seed=st.integers(0, 2**63 - 1))
def test_the_engine_counts_the_same_time_in_each_state(program: Program, seed: int) -> None:
    counts, spans, _ = whole_run(program, seed)
    found = np.zeros_like(counts.world.in_state_ps)
    for span in spans:
        found[span.thread, STATES.index(span.state)] += span.end_ps - span.start_ps
    assert np.array_equal(found, counts.world.in_state_ps)


def test_a_spinner_that_sleeps_because_the_owner_sleeps_is_seen_to_sleep():
    """Its state is changed by the owner's step, not by one of its own."""
    m = Builder(3)
    lock = m.mutex("lock", hold=ns(100), wake=ns(100), spin=us(100), owner_runs=True)
    path = m.path("path")
    path.lock(lock)
    path.sleep(ns(1000))
    path.unlock(lock)
    counts, spans, _ = traced_run(m.compile(), seed=1, warm_up=0)
    slept = time_by(spans, "state")["sleeping"]
    assert slept == counts.world.in_state_ps[:, STATES.index("sleeping")].sum() > counts.window_ps


@pytest.mark.slow
@anything
@given(program=programs(), seed=st.integers(0, 2**63 - 1))
def test_a_lock_has_one_holder_or_readers_only(program: Program, seed: int) -> None:
    _, _, holds = whole_run(program, seed)
    for lock, of_lock in groupby(holds, key=lambda hold: hold.lock):
        if "?" in lock:
            continue
        busy_until = read_until = 0
        for hold in of_lock:
            assert hold.start_ps >= (busy_until if hold.read else max(busy_until, read_until)), hold
            busy_until = busy_until if hold.read else hold.end_ps
            read_until = max(read_until, hold.end_ps) if hold.read else read_until


@pytest.mark.slow
@anything
@given(program=programs(), seed=st.integers(0, 2**63 - 1))
def test_locks_are_held_for_as_long_as_the_engine_counts(program: Program, seed: int) -> None:
    counts, _, holds = whole_run(program, seed)
    held: Counter[str] = Counter()
    for hold in holds:
        held[hold.lock.partition("[")[0]] += hold.end_ps - hold.start_ps
    for lock in program.names["lock"]:
        rows = counts.world.locks[lock.first : lock.first + lock.shards]
        assert held[lock.name] == rows["hold_area_ps"].sum()


@anything
@given(program=unnested_spin_locks(), seed=st.integers(0, 2**63 - 1))
def test_of_spin_locks_the_engine_counts_the_same_holds_and_waits(program: Program, seed: int) -> None:
    counts, spans, holds = whole_run(program, seed)
    waits = time_by(tuple(s for s in spans if s.state == "spinning"), "primitive")
    held: Counter[str] = Counter()
    for hold in holds:
        held[hold.lock] += hold.end_ps - hold.start_ps
    for record_, lock in enumerate(counts.world.locks):
        name = program.primitive_at("lock", record_)
        assert held[name] == lock["hold_area_ps"] and waits[name] == lock["wait_area_ps"]
    of_spans = time_by(tuple(s for s in spans if s.holds), "holds")
    assert of_spans == +held


# Which run, and how much of it


@pytest.fixture(scope="module")
def storm() -> Trace:
    return trace(*STORM, for_us=3000)


def test_it_is_a_window_of_the_run_that_simulate_makes(storm: Trace) -> None:
    assert inspect.signature(simulate).parameters["operations"].default == OPERATIONS
    program = load_model("inode_claim").program({}, 48)
    counts = record(program, 3_000 * PS_PER_US, seed=1)
    rate_per_s = OPERATIONS / counts.window_ps * 1e12
    assert simulate(*STORM).rates_per_s[0] == pytest.approx(rate_per_s, rel=1e-12)
    assert window(program, events_of(counts), 0, storm.to_ps)[0] == storm.spans


def test_a_later_window_is_the_same_part_of_the_same_run(storm: Trace) -> None:
    later = trace(*STORM, from_us=1000, for_us=100)
    start, end = later.from_ps, later.to_ps
    assert (start, end) == (1000 * PS_PER_US, 1100 * PS_PER_US)
    inside = [s for s in storm.spans if start < s.start_ps and s.end_ps < end]
    assert [s for s in later.spans if start < s.start_ps and s.end_ps < end] == inside
    assert len(inside) > 900


def test_the_run_goes_on_for_a_window_that_is_longer() -> None:
    """A thread alone repairs every 11 us: 20 000 times in 0.22 s, so 0.5 s needs more."""
    longer = trace("machine_repairman", 1, from_us=499_000, for_us=1000)
    assert not longer.cut and longer.spans[-1].end_ps == 500_000 * PS_PER_US


def test_the_same_seed_gives_the_same_trace_and_another_does_not() -> None:
    first, again, other = (trace(*STORM, for_us=50, seed=seed) for seed in (1, 1, 2))
    assert first == again and first.spans != other.spans


def test_a_thread_that_has_not_started_is_said_to_be_so() -> None:
    m = Builder(1)
    path = m.path("path")
    path.spend(us(1), "work")
    m.path("late", threads=1, counted=False, start=ns(10**9)).spend(us(1))
    program = m.compile()
    spans, _ = window(program, events_of(record(program, 3 * PS_PER_US, seed=1)), 0, 3 * PS_PER_US)
    assert [(s.thread, s.state, s.step) for s in spans][-1] == (1, "sleeping", "not started")
    assert [s.step for s in spans if s.thread == 0] == ["work"] * 3


def test_a_full_trace_ends_where_it_is_whole_and_says_so() -> None:
    program = load_model("inode_claim").program({}, 48)
    wanted_ps = 1000 * PS_PER_US
    full, whole = record(program, wanted_ps, seed=1, room=1000), record(program, wanted_ps, seed=1)
    until_ps, why = recorded_until(full, wanted_ps)
    assert 0 < until_ps < wanted_ps and recorded_until(whole, wanted_ps) == (wanted_ps, "")
    assert "full with 1000 events" in why and why.endswith("give an earlier or shorter window")
    parts = [
        window(program, events_of(counts)[:size], 0, until_ps)
        for counts, size in ((full, None), (whole, None))
    ]
    assert parts[0] == parts[1]


def test_a_window_that_is_too_late_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        BadInput, match=r"^nothing is recorded from 1e\+09 us on: the trace ends \d+ us after"
    ):
        trace("machine_repairman", 4, from_us=1e9)


@pytest.mark.parametrize("from_us", [-1, float("nan"), float("inf"), 2e9])
def test_a_start_out_of_range_is_refused(from_us: float) -> None:
    with pytest.raises(BadInput, match=r"the trace starts .* us after the warm-up: give 0 to"):
        trace(*STORM, from_us=from_us)


@pytest.mark.parametrize("for_us", [0, -1, float("nan"), float("inf"), 1e-9])
def test_a_length_out_of_range_is_refused(for_us: float) -> None:
    with pytest.raises(BadInput, match=r"the trace lasts .* us: give 1e-06 \(1 ps\) to 1e\+09 us"):
        trace(*STORM, for_us=for_us)


def test_an_unknown_model_or_parameter_is_refused() -> None:
    with pytest.raises(BadInput, match="no model"):
        trace("inode_clam", 2)
    with pytest.raises(BadInput, match="no parameter"):
        trace("inode_claim", 2, {"hold": 1})
    with pytest.raises(BadInput, match=r"threads is 2\.5: give a whole number"):
        trace("inode_claim", 2.5)  # type: ignore[arg-type]
