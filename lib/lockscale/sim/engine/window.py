# SPDX-License-Identifier: MIT
"""The counted window: what is in progress at its edges counts with its part inside.

So Little's law and the flow balances hold as identities of whole numbers, not only in the limit.
"""

from typing import Any

from lockscale.sim.engine.compiled import compiled
from lockscale.sim.engine.layout import NOBODY
from lockscale.sim.engine.world import RETRIES, TRACE_FROM_PS, TRACE_TO_PS, TRACED, note


@compiled
def open_window(w: Any, now: Any) -> None:
    """End of the warm-up: forget what was counted, cut what is in progress at ``now``."""
    w.histograms[:] = 0
    w.in_state_ps[:] = 0
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


@compiled
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
        w.in_state_ps[thread, th.state] += now - th.state_since_ps
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
