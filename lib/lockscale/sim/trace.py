# SPDX-License-Identifier: MIT
"""Who holds, who spins, who sleeps: the spans of each thread and the holds of each lock in a window.

The trace is of a run's first replication, from the end of its warm-up on; so where a thread is at
the window's start is known. At both edges of the window spans and holds count with their part inside.
"""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lockscale.errors import BadInput
from lockscale.sim.delays import PS_PER_US
from lockscale.sim.engine.layout import DONE, ENTER, FIND_SLOT, LOCK, READ, READ_UNLOCK, RMW, STATES
from lockscale.sim.holds import hold_runs
from lockscale.sim.model import Value, plain
from lockscale.sim.models import AnyModel, load_model
from lockscale.sim.program import Program
from lockscale.sim.replicate import MAX_OPERATIONS, Counts, replicate, warm_up_operations, whole

OPERATIONS = 20_000
"""Those that ``simulate`` counts by default."""
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
    whole("operations", operations, 1, MAX_OPERATIONS)
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
        f"the trace ends {last_ps / PS_PER_US:.0f} us after the warm-up, when {len(counts.events)} events "
        "are recorded, which is all there is room for; ask for an earlier or shorter window"
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
