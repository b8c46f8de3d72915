# SPDX-License-Identifier: MIT
"""All that a run of the engine reads and writes, and the small steps that change a thread's state."""

from typing import Any, NamedTuple

import numpy as np

from lockscale.sim.engine.calendar import set_key
from lockscale.sim.engine.compiled import compiled
from lockscale.sim.engine.layout import BUCKETS, NEVER, READY, SLEEPING

# entries of ``clock``
BITS, SLICE_PS, SWITCH_PS, TRACE_FROM_PS, TRACE_TO_PS, TRACED, RETRIES, TRANSITIONS = range(8)


class World(NamedTuple):
    """Records of ``layout``, and the arrays that go with them.

    Shapes: ops (ops,), locks, lines, bitmaps, slots, gates (records of all shards,), places
    (places,), paths (paths,), threads (threads,), cpus (cpus,) or (0,), tree (see ``calendar``),
    registers (threads, registers), shared (variables,), samples (values,), slot_taken (blocks,
    slots a block), spin_queue and sleep_queue (locks, ring), gate_queue (gates, ring), ready_queue
    (cpus, ring), in_state_ps (threads, 5), histograms (locks by name, 2, 256), marks_ps
    (batches + 1,), events (as many as are to be traced,), clock (8,).
    """

    ops: Any
    locks: Any
    lines: Any
    bitmaps: Any
    slots: Any
    gates: Any
    places: Any
    paths: Any
    threads: Any
    cpus: Any
    tree: Any
    registers: Any
    shared: Any
    samples: Any
    slot_taken: Any
    spin_queue: Any
    sleep_queue: Any
    gate_queue: Any
    ready_queue: Any
    in_state_ps: Any
    histograms: Any
    marks_ps: Any
    events: Any
    clock: Any


@compiled
def bucket(time_ps: Any) -> Any:
    """The histogram bucket of a time: 0 for none, then four an octave from 1 ps."""
    if time_ps <= 0:
        return 0
    return min(BUCKETS - 1, (np.float64(time_ps).view(np.int64) >> 50) - 4091)


@compiled
def at(w: Any, thread: Any, time_ps: Any) -> Any:
    """The thread's next event is at this time; NEVER: there is none. Returns the least key of all."""
    return set_key(w.tree, thread, NEVER if time_ps == NEVER else time_ps << w.clock[BITS] | np.int64(thread))


@compiled
def note(w: Any, thread: Any, now: Any) -> None:
    """One entry of the trace, while there is room and the window is open."""
    clock = w.clock
    if clock[TRACE_FROM_PS] <= now < clock[TRACE_TO_PS] and clock[TRACED] < len(w.events):
        th = w.threads[thread]
        op = w.ops[th.at - 1]
        event = w.events[clock[TRACED]]
        event.time_ps = now
        event.thread = thread
        event.state = th.state
        event.held = th.held
        event.op = th.at - 1
        event.operand = op.operand + w.registers[thread, op.place]
        clock[TRACED] += 1


@compiled
def enter(w: Any, thread: Any, state: Any, now: Any) -> None:
    """The thread is in this state from now on, or from when it has a CPU again."""
    th = w.threads[thread]
    if th.state == READY:
        th.resume = state
    else:
        w.in_state_ps[thread, np.uintp(th.state)] += now - th.state_since_ps
        th.state = state
        th.state_since_ps = now


@compiled
def sleep_until(w: Any, thread: Any, time_ps: Any, now: Any) -> None:
    """The thread sleeps; NEVER: until somebody wakes it."""
    if w.threads[thread].state != SLEEPING:
        enter(w, thread, SLEEPING, now)
    w.threads[thread].due_ps = time_ps
    at(w, thread, time_ps)
