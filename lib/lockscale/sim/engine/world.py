# SPDX-License-Identifier: MIT
"""All that a run of the engine reads and writes, and the small steps that change a thread's state."""

from typing import Any, NamedTuple

import numpy as np

from lockscale.sim.engine.compiled import apart, compiled
from lockscale.sim.engine.layout import BUCKETS, NEVER, NOBODY, READY, SLEEPING

ONE, TWO, THREE = np.uintp(1), np.uintp(2), np.uintp(3)


def tree_size(threads: int) -> int:
    """The length of the tree's array: twice the least power of four that has a leaf for each thread."""
    levels = ((threads - 1).bit_length() + 1) // 2
    return 1 << (2 * levels + 1)


@compiled
def set_key(tree: Any, thread: Any, key: Any) -> Any:
    """The thread's next event; NEVER takes it out. Returns the least key of all, of the next event."""
    node = np.uintp(len(tree) >> 1) + np.uintp(thread)
    tree[node] = key
    while node > ONE:
        least, second, third = tree[node ^ ONE], tree[node ^ TWO], tree[node ^ THREE]
        least = second if second < least else least
        least = third if third < least else least
        key = least if least < key else key
        node >>= TWO
        tree[node] = key
    return key


# entries of ``clock``
BITS, SLICE_PS, SWITCH_PS, TRACE_FROM_PS, TRACE_TO_PS, TRACED, RETRIES, TRANSITIONS = range(8)


class World(NamedTuple):
    """Records of ``layout``, and the arrays that go with them.

    Shapes: ops (ops,), locks, lines, bitmaps, slots, gates (records of all shards,), places
    (places,), paths (paths,), threads (threads,), cpus (cpus,) or (0,), tree (see ``tree_size``),
    registers (threads, registers), shared (variables,), samples (values,), slot_taken (blocks,
    slots a block), spin_queue and sleep_queue (locks, ring), gate_queue (gates, ring), ready_queue
    (cpus, ring), histograms (locks by name, 2, 256), marks_ps
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
    histograms: Any
    marks_ps: Any
    events: Any
    clock: Any

    @property
    def in_state_ps(self) -> Any:
        """How long each thread was in each state: (threads, 5), ps."""
        return self.threads["in_state_ps"]


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
def after(w: Any, thread: Any, work_ps: Any, now: Any) -> Any:
    """The thread's next event comes when so much work is done, as ``at``; NEVER: none comes."""
    due = (now + work_ps) << w.clock[BITS] | np.int64(thread)
    return set_key(w.tree, thread, NEVER if work_ps == NEVER else due)


@compiled
def note(w: Any, thread: Any, now: Any) -> None:
    """One entry of the trace, while there is room and the window is open."""
    if len(w.events) == 0:
        return
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
        th.in_state_ps[np.uintp(th.state)] += now - th.state_since_ps
        th.state = state
        th.state_since_ps = now


@compiled
def sleep_until(w: Any, thread: Any, time_ps: Any, now: Any) -> None:
    """The thread sleeps; NEVER: until somebody wakes it."""
    if w.threads[thread].state != SLEEPING:
        enter(w, thread, SLEEPING, now)
    w.threads[thread].due_ps = time_ps
    at(w, thread, time_ps)


@apart
def open_window(w: Any, now: Any) -> None:
    """End of the warm-up: forget what was counted, cut what is in progress at ``now``."""
    w.histograms[:] = 0
    w.clock[RETRIES] = 0
    w.clock[TRACE_FROM_PS] += now
    w.clock[TRACE_TO_PS] += now
    for op in w.ops:
        op.visits = 0
    for path in w.paths:
        path.done = 0
    for th in w.threads:
        th.since_ps = now
        th.state_since_ps = now
        th.in_state_ps[:] = 0
    for lock in w.locks:
        lock.requests = lock.failed_tries = lock.acquisitions = 0
        lock.handovers = lock.remote_handovers = lock.wakes = 0
        lock.wait_ps, lock.taken_ps = 0, now
        lock.hold_area_ps = -now * (lock.readers + (lock.owner != NOBODY))
        lock.wait_area_ps = -now * lock.waiting
        lock.waiting_before = lock.waiting
    for bitmap in w.bitmaps:
        bitmap.searches = bitmap.claims = bitmap.lost = 0
    for block in w.slots:
        block.searches = block.scanned = block.taken = block.lost = block.full = 0
    for gate in w.gates:
        gate.requests = gate.entered = gate.commits = gate.wait_ps = 0
        gate.wait_area_ps = -now * gate.waiting_now
        gate.waiting_before = gate.waiting_now
    for line in w.lines:
        line.requests = line.from_own = line.from_socket = line.from_remote = line.lost = 0
        line.wait_ps = line.hold_ps = 0
    cut_lines(w, now, 1)
    w.clock[TRACED] = 0
    for thread in range(len(w.threads)):
        note(w, thread, now)


@apart
def close_window(w: Any, now: Any) -> None:
    """End of the run: what is in progress counts up to ``now``."""
    for lock in w.locks:
        lock.waiting_after = lock.waiting
        lock.wait_area_ps += now * lock.waiting
        lock.hold_area_ps += now * (lock.readers + (lock.owner != NOBODY))
    for gate in w.gates:
        gate.waiting_after = gate.waiting_now
        gate.wait_area_ps += now * gate.waiting_now
    for thread in range(len(w.threads)):
        th = w.threads[thread]
        th.in_state_ps[th.state] += now - th.state_since_ps
        if th.lock != NOBODY:
            w.locks[th.lock].wait_ps += now - th.since_ps
        if th.gate != NOBODY:
            w.gates[th.gate].wait_ps += now - th.since_ps
    cut_lines(w, now, -1)


@compiled
def cut_lines(w: Any, now: Any, sign: Any) -> None:
    """Add (1) or take off (-1) what atomic operations under way still have before them."""
    for th in w.threads:
        if th.line != NOBODY and th.line_to_ps > now:
            line = w.lines[th.line]
            line.wait_ps += sign * max(0, th.line_from_ps - now)
            line.hold_ps += sign * (th.line_to_ps - max(th.line_from_ps, now))
