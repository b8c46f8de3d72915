# SPDX-License-Identifier: MIT
"""Who holds, who spins, who sleeps: the spans of each thread and the holds of each lock in a window.

The trace is of a run's first replication, from the end of its warm-up on; so where a thread is at
the window's start is known. At both edges of the window spans and holds count with their part inside.

Who holds which lock is told by a run's events. Which locks are held at a step is written in the path:
its branches keep the locks that are held (``Path`` refuses others). An event says how many locks its
thread holds, so whether the one that it asks for is among them, and of which shard.
"""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lockscale.errors import BadInput
from lockscale.sim.delays import PS_PER_US
from lockscale.sim.engine.layout import HOLDING, SPINNING, STATES
from lockscale.sim.engine.op_codes import (
    DONE,
    ENTER,
    FIND_SLOT,
    LOCK,
    READ,
    READ_LOCK,
    READ_UNLOCK,
    RMW,
    TRYLOCK,
    UNLOCK,
)
from lockscale.sim.model import Value, plain
from lockscale.sim.models import AnyModel, load_model
from lockscale.sim.primitives import whole_number
from lockscale.sim.program import Program
from lockscale.sim.replicate import (
    MAX_OPERATIONS,
    MAX_THREADS,
    OPERATIONS,
    Counts,
    replicate,
    warm_up_operations,
)


class EventRun(NamedTuple):
    """Events [first, last) of one thread throughout which it holds a lock; ``record``: its shard's.

    -1 where the hold is older than the trace and no event tells the shard.
    """

    lock: str
    record: int
    thread: int
    read: bool
    first: int
    last: int


def hold_runs(program: Program, by_thread: Any) -> list[EventRun]:
    """All holds of a recorded run (``layout.EVENT``, by thread, then time), by lock and thread."""
    table = taken_at(program)
    asks = np.where(np.isin(program.ops["code"], (LOCK, TRYLOCK, READ_LOCK)), _lock_of(program), -1)
    asked = asks[by_thread["op"]]
    new_thread = np.append(True, np.diff(by_thread["thread"]) != 0)
    moved = np.append(True, np.diff(by_thread["op"]) != 0) | new_thread
    got = by_thread["held"] > (table >= 0).sum(axis=1)[by_thread["op"]]
    again = (by_thread["state"] == HOLDING) & (moved | (np.append(0, by_thread["state"][:-1]) < SPINNING))
    runs = []
    for lock, handle in enumerate(program.names["lock"]):
        at = table[by_thread["op"], lock]
        takes = got & (asked == lock)
        has = takes | (at >= 0)
        begins = has & (new_thread | ~np.append(False, has[:-1]) | (takes & again))
        first = np.flatnonzero(begins)
        ends = np.append(np.flatnonzero(begins | ~has | new_thread), len(has))
        last = ends[np.searchsorted(ends, first, "right")]
        op = np.where(takes, by_thread["op"], at)[first]
        record = _records(program, by_thread, new_thread, first, last, op) if handle.shards > 1 else None
        for k, (start, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            which = handle.first if record is None else int(record[k])
            name = f"{handle.name}{NO_SHARD}" if which < 0 else program.primitive_at("lock", which)
            read = program.ops["code"][op[k]] == READ_LOCK
            runs.append(EventRun(name, which, int(by_thread["thread"][start]), bool(read), start, end))
    return runs


def taken_at(program: Program) -> Any:
    """(ops, locks): the op that took each lock which is held after the op, -1 where it is not held.

    Of an op that asks for a lock: what is held before, since it may have to wait.
    """
    table = np.full((len(program.ops), len(program.names["lock"])), -1)
    held: dict[int, int] = {}
    for k, (code, lock) in enumerate(zip(program.ops["code"], _lock_of(program), strict=True)):
        if code in (UNLOCK, READ_UNLOCK):
            del held[lock]
        for other, op in held.items():
            table[k, other] = op
        if code in (LOCK, TRYLOCK, READ_LOCK):
            held[lock] = k
    return table


def _lock_of(program: Program) -> Any:
    """The lock of each op that is about one."""
    first = [handle.first for handle in program.names["lock"]]
    return np.searchsorted(first, program.ops["operand"], "right") - 1


def _records(program: Program, by_thread: Any, new_thread: Any, first: Any, last: Any, op: Any) -> Any:
    """The record of the shard that each run's ``op`` took, or -1.

    The thread's register of the op's place says it; any event at a step with that place tells it.
    """
    events = len(by_thread)
    since = np.maximum.accumulate(np.where(new_thread, np.arange(events), 0))[first]
    offset = by_thread["operand"] - program.ops["operand"][by_thread["op"]]
    at_place, of_event = program.ops["place"][op], program.ops["place"][by_thread["op"]]
    found = np.where(at_place == 0, program.ops["operand"][op], -1)
    for place in set(at_place.tolist()) - {0}:
        tells = np.flatnonzero(of_event == place)
        before = np.append(tells, -1)[np.searchsorted(tells, first, "right") - 1]
        after = np.append(tells, events)[np.searchsorted(tells, first)]
        at = np.where(before >= since, before, after)
        told = (at_place == place) & (at < last)
        found[told] = program.ops["operand"][op[told]] + offset[at[told]]
    return found


NO_SHARD = "[?]"
"""In place of a shard's number: of a hold that began before the trace, in which nothing tells the shard."""
ROOM = 1_000_000
"""Events that are recorded, from the end of the warm-up on."""
MAX_US = 1e9


class Span(NamedTuple):
    """A thread is in one state at one step; times are from the end of the warm-up.

    ``primitive``: what the step is about (the lock, cache line, slots or gate, with its shard);
    ``holds``: the locks that the thread has meanwhile. Both are empty where there is none.
    """

    thread: int
    state: str
    step: str
    primitive: str
    holds: str
    start_ps: int
    end_ps: int


class Hold(NamedTuple):
    """A thread holds a lock (with its shard); ``read``: beside other readers.

    A thread to which it is passed holds it from then on, though it may sleep or have no CPU.
    """

    lock: str
    thread: int
    read: bool
    start_ps: int
    end_ps: int


@dataclass(frozen=True)
class Trace:
    """One window of one simulated run, [from_ps, to_ps) after the warm-up.

    ``spans`` go by thread and time and tile the window for each thread; ``holds`` go by lock and
    time. ``cut`` is empty, or says why the window ends early and what to do. Origin: simulated.
    """

    model: str
    calibration: str
    parameters: Mapping[str, Value]
    threads: int
    seed: int
    from_ps: int
    to_ps: int
    cut: str
    spans: tuple[Span, ...]
    holds: tuple[Hold, ...]


def trace(
    model: AnyModel,
    threads: int,
    parameters: Mapping[str, object] | None = None,
    *,
    from_us: float = 0.0,
    for_us: float = 1000.0,
    seed: int = 1,
    operations: int = OPERATIONS,
    on_size: Callable[[int], None] = lambda spans: None,
) -> Trace:
    """Trace a model: the window starts ``from_us`` after the warm-up and lasts ``for_us``.

    It is a window of the first replication of ``simulate`` with the same arguments. ``on_size`` is
    told how many spans there are before they are built, so that it can refuse too many. Raises
    BadInput for an unknown model or parameter, and for a window out of range or too late to be
    recorded.
    """
    threads, seed, operations = map(plain, (threads, seed, operations))
    whole_number("threads", threads, 1, MAX_THREADS)
    from_ps, to_ps = window_ps(from_us, for_us)
    known = load_model(model)
    values = known.bind(parameters or {})
    program = known.program(values, threads)
    counts = record(program, to_ps, seed=seed, room=ROOM, operations=operations)
    to_ps, cut = recorded_until(counts, to_ps)
    if to_ps <= from_ps:
        raise BadInput(f"nothing is recorded from {from_us:g} us on: {cut}")
    events = events_of(counts)
    _, start, end = _clipped(events, from_ps, to_ps)
    on_size(int(np.sum(start < end)))
    spans, holds = window(program, events, from_ps, to_ps)
    return Trace(
        model=known.name,
        calibration=known.calibration_of(values),
        parameters=values,
        threads=len(program.classes()),
        seed=seed,
        from_ps=from_ps,
        to_ps=to_ps,
        cut=cut,
        spans=spans,
        holds=holds,
    )


def window_ps(from_us: float, for_us: float) -> tuple[int, int]:
    """Start and end in picoseconds; raises BadInput unless 0 <= start < end, within 1000 s."""
    if not 0 <= from_us <= MAX_US:
        raise BadInput(f"the trace starts {from_us} us after the warm-up: give 0 to {MAX_US:g} us")
    if not 1 / PS_PER_US <= for_us <= MAX_US:
        raise BadInput(f"the trace lasts {for_us} us: give {1 / PS_PER_US:g} (1 ps) to {MAX_US:g} us")
    start = round(from_us * PS_PER_US)
    return start, start + round(for_us * PS_PER_US)


def record(
    program: Program, to_ps: int, *, seed: int, room: int = ROOM, operations: int = OPERATIONS
) -> Counts:
    """A run with its events until ``to_ps`` after the warm-up, or as many as there is ``room`` for.

    The warm-up stays that of ``operations``, however many more or fewer the window needs.
    """
    whole_number("operations", operations, 1, MAX_OPERATIONS)
    warm_up = warm_up_operations(program.threads, operations)
    operations = min(operations, OPERATIONS)
    while True:
        counts = replicate(
            program,
            seed=seed,
            replication=0,
            operations=operations,
            warm_up=warm_up,
            trace_events=room,
            trace_ps=(0, to_ps),
        )
        if counts.window_ps >= to_ps or len(counts.events) == room:
            return counts
        missing = min(to_ps / counts.window_ps, room / len(counts.events))
        operations = math.ceil(1.25 * missing * operations)


def recorded_until(counts: Counts, to_ps: int) -> tuple[int, str]:
    """Where the trace ends, and if that is before ``to_ps`` a sentence that says why.

    Of the last instant that found room some events may be missing, so the trace ends before it.
    """
    if len(counts.events) < len(counts.world.events):
        return to_ps, ""
    last_ps = int(events_of(counts)["time_ps"][-1])
    return last_ps, (
        f"the trace ends {last_ps / PS_PER_US:.0f} us after the warm-up, because it is full with "
        f"{len(counts.events)} events: give an earlier or shorter window"
    )


def events_of(counts: Counts) -> Any:
    """What was recorded (``layout.EVENT``), its times from the end of the warm-up."""
    events = counts.events.copy()
    events["time_ps"] -= counts.world.marks_ps[0]
    return events


def window(
    program: Program, events: Any, from_ps: int, to_ps: int
) -> tuple[tuple[Span, ...], tuple[Hold, ...]]:
    """The spans and holds in [from_ps, to_ps) of what was recorded (``layout.EVENT``) before ``to_ps``."""
    by_thread, start, end = _clipped(events, from_ps, to_ps)
    held = np.full(len(by_thread), "", object)
    holds = []
    for run in hold_runs(program, by_thread):
        part = held[run.first : run.last]
        part[:] = [f"{others}, {run.lock}" if others else run.lock for others in part]
        hold = Hold(run.lock, run.thread, run.read, int(start[run.first]), int(end[run.last - 1]))
        if hold.start_ps < hold.end_ps:
            holds.append((run.record, run.lock, hold.start_ps, hold.thread, hold))
    step, primitive = (functools.cache(functools.partial(name, program)) for name in (_step, _primitive))
    inside = start < end
    seen = (by_thread[column][inside].tolist() for column in ("thread", "state", "op", "operand"))
    times = (column[inside].tolist() for column in (held, start, end))
    spans = tuple(
        Span(thread, STATES[state], step(op), primitive(op, record), *rest)
        for thread, state, op, record, *rest in zip(*seen, *times, strict=True)
    )
    return spans, tuple(hold for *_, hold in sorted(holds, key=lambda row: row[:4]))


def _clipped(events: Any, from_ps: int, to_ps: int) -> tuple[Any, Any, Any]:
    """The events by thread, and where the part of each in [from_ps, to_ps) starts and ends."""
    by_thread = events[np.argsort(events["thread"], kind="stable")]
    start = by_thread["time_ps"]
    last = np.append(np.diff(by_thread["thread"]) != 0, True)
    end = np.where(last, to_ps, np.append(start[1:], to_ps))
    return by_thread, np.maximum(start, from_ps), np.minimum(end, to_ps)


def _step(program: Program, op: int) -> str:
    """A thread that has not begun stands before its path's first step, at the DONE of another's."""
    return "not started" if program.ops["code"][op] == DONE else program.steps[op]


def _primitive(program: Program, op: int, record: int) -> str:
    code = program.ops["code"][op]
    if LOCK <= code <= READ_UNLOCK:
        return program.primitive_at("lock", record)
    if code in (RMW, READ):
        return program.primitive_at("line", record)
    if code == FIND_SLOT:
        return program.primitive_at("slots", record)
    return program.primitive_at("gate", record) if code == ENTER else ""
