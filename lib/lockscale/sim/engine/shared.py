# SPDX-License-Identifier: MIT
"""Cache lines, slot arrays and commit gates: what threads share without holding a lock."""

from typing import Any

from lockscale.sim.engine.compiled import compiled
from lockscale.sim.engine.cpus import leave_cpu
from lockscale.sim.engine.layout import ANYWHERE, NEVER, NOBODY
from lockscale.sim.engine.lock_queues import leave_alone
from lockscale.sim.engine.random import delay_ps
from lockscale.sim.engine.world import sleep_until


@compiled
def transfer_ps(line: Any, th: Any) -> Any:
    """What the line costs this thread: it is its CPU's own, of its socket, or of another."""
    if line.cpu == th.cpu or line.cpu == ANYWHERE:
        return line.own_ps
    return line.socket_ps if line.socket == th.socket else line.remote_ps


@compiled
def modify(w: Any, which: Any, thread: Any, changes: Any, now: Any) -> Any:
    """An atomic operation: behind all that are under way, then the line's cost; returns both, ps."""
    line, th = w.lines[which], w.threads[thread]
    start = max(now, line.free_at_ps)
    cost = transfer_ps(line, th)
    if line.cpu == th.cpu or line.cpu == ANYWHERE:
        line.from_own += 1
    elif line.socket == th.socket:
        line.from_socket += 1
    else:
        line.from_remote += 1
    line.cpu, line.socket = th.cpu, th.socket
    line.free_at_ps = start + cost
    line.version += changes
    line.requests += 1
    line.wait_ps += start - now
    line.hold_ps += cost
    th.line, th.line_from_ps, th.line_to_ps = which, start, start + cost
    return start + cost - now


@compiled
def find_slot(w: Any, block: Any) -> Any:
    """The first free slot of the block, or -1."""
    for slot in range(w.slots[block].per_block):
        if w.slot_taken[block, slot] == 0:
            return slot
    return -1


@compiled
def take_slot(w: Any, block: Any, slot: Any) -> bool:
    """cmpxchg of the slot found before: False if another thread has taken it since."""
    if slot < 0 or w.slot_taken[block, slot] != 0:
        w.slots[block].lost += 1
        return False
    w.slot_taken[block, slot] = 1
    w.slots[block].taken += 1
    return True


@compiled
def ask_to_enter(w: Any, which: Any, thread: Any, now: Any) -> bool:
    """Whether the gate is open; else the thread sleeps until it is."""
    gate, th = w.gates[which], w.threads[thread]
    gate.requests += 1
    gate.waiting_now += 1
    gate.wait_area_ps -= now
    th.since_ps, th.gate = now, which
    if not gate.closing and now >= gate.open_at_ps:
        count_in(gate, now)
        return True
    th.left_ps = 0
    if th.held > 0:
        leave_alone(w, thread, now)
    if gate.closing:
        ring = w.gate_queue.shape[1] - 1
        w.gate_queue[which, (gate.first + gate.waiters) & ring] = thread
        gate.waiters += 1
        sleep_until(w, thread, NEVER, now)
    else:
        count_in(gate, now)
        sleep_until(w, thread, gate.open_at_ps, now)
    leave_cpu(w, thread, now)
    return False


@compiled
def entered(w: Any, which: Any, thread: Any, now: Any) -> None:
    """The thread has passed the gate: its wait is over."""
    gate, th = w.gates[which], w.threads[thread]
    gate.entered += 1
    gate.waiting_now -= 1
    gate.wait_area_ps += now
    gate.wait_ps += now - th.since_ps
    th.gate = NOBODY


@compiled
def count_in(gate: Any, now: Any) -> None:
    """One more belongs to the running transaction; it may be the one that closes the gate."""
    gate.inside += 1
    gate.since_commit += 1
    due = gate.interval_ps > 0 and now - gate.open_at_ps >= gate.interval_ps
    if gate.since_commit == gate.limit or due:
        gate.closing = 1


@compiled
def leave_gate(w: Any, which: Any, thread: Any, now: Any) -> None:
    """The last one out of a closing gate starts the commit; who waits enters when it is over."""
    gate, th = w.gates[which], w.threads[thread]
    gate.inside -= 1
    if not gate.closing or gate.inside > 0:
        return
    commit = delay_ps(
        th,
        gate.commit_kind,
        gate.commit_ps,
        gate.commit_shape,
        gate.commit_first,
        gate.commit_count,
        w.samples,
    )
    gate.commits += 1
    gate.closing, gate.since_commit, gate.open_at_ps = 0, 0, now + commit
    ring = w.gate_queue.shape[1] - 1
    while gate.waiters > 0 and not gate.closing:
        heir = w.gate_queue[which, gate.first]
        gate.first = (gate.first + 1) & ring
        gate.waiters -= 1
        count_in(gate, gate.open_at_ps)
        sleep_until(w, heir, gate.open_at_ps, now)
