# SPDX-License-Identifier: MIT
"""One event loop for any op table: what each op does.

An event is a thread that has done its work, slept, or spun enough. It then runs its steps until
one takes time or waits. Equal times go by thread id. One transition = one step of one thread; a
lock that is waited for counts once, a woken thread's new try again.
"""

from typing import Any

import numpy as np

from lockscale.sim.engine import op_codes as op
from lockscale.sim.engine.compiled import apart, compiled
from lockscale.sim.engine.cpus import has_cpu, leave_cpu, preempt, work_for
from lockscale.sim.engine.layout import (
    DEADLOCK,
    FINISHED,
    FRUITLESS,
    HOLDING,
    LOCKS_CROSS,
    NEVER,
    NO_PROGRESS,
    NO_TIME_PASSES,
    NOBODY,
    NOT_OWNER,
    RUNNING,
    SLEEPING,
    SPINNING,
    STANDSTILL,
    TOO_LATE,
)
from lockscale.sim.engine.lock_queues import leave_alone, stop_spinning
from lockscale.sim.engine.locks import CROSSED, SPINS, TAKEN, hold_of, release, request
from lockscale.sim.engine.random import delay_ps, fresh_exponential, next_below, next_unit, stream_key
from lockscale.sim.engine.shared import (
    ask_to_enter,
    entered,
    find_slot,
    leave_gate,
    modify,
    take_slot,
    transfer_ps,
)
from lockscale.sim.engine.world import (
    BITS,
    RETRIES,
    TRACED,
    TRANSITIONS,
    after,
    at,
    close_window,
    enter,
    note,
    open_window,
    sleep_until,
)

GO_ON, TRY_AGAIN, PARKED = range(3)


@compiled
def wake_up(w: Any, thread: Any, now: Any) -> int:
    """What a thread does whose event was no end of work: slice over, slept, told to try again."""
    th = w.threads[thread]
    if th.state != SLEEPING and len(w.cpus) > 0 and now < th.due_ps:
        preempt(w, thread, now)
        return PARKED
    if th.state == SLEEPING:
        work = th.left_ps
        if not has_cpu(w, thread, HOLDING if th.held > 0 else RUNNING, work, now):
            return PARKED
        th.left_ps = 0
        if work > 0:
            work_for(w, thread, work, now)
            return PARKED
    if th.lock == NOBODY:
        return GO_ON
    if th.nominated:
        return TRY_AGAIN
    stop_spinning(w, th.lock, thread, now)
    return PARKED


@apart
def start_threads(w: Any, seed: Any, replication: Any, start_ps: Any) -> None:
    """Every thread sleeps until its start, with the streams of this replication."""
    for thread in range(len(w.threads)):
        th = w.threads[thread]
        th.key = stream_key(np.uint64(seed), np.uint64(replication), np.uint64(thread))
        th.counter = 0
        th.ahead = fresh_exponential(th)
        path = w.paths[np.uintp(th.path)]
        delay = delay_ps(
            th,
            path.start_kind,
            path.start_ps,
            path.start_shape,
            path.start_first,
            path.start_count,
            w.samples,
        )
        at(w, thread, start_ps[thread] + delay)


@compiled
def first_of_batch(batch: Any, batches: Any, operations: Any) -> Any:
    """How many counted operations are done when this batch begins: its share of them, rounded up."""
    return (batch * operations + batches - 1) // batches


@compiled
def run(
    w: Any, seed: Any, replication: Any, start_ps: Any, warm_up: Any, operations: Any
) -> tuple[Any, Any, Any, Any]:
    """Simulate ``warm_up`` operations, then count ``operations`` more.

    One long function, because split up the loop's state would have to live in arrays.

    ``w`` is a fresh ``World``, in which all statistics are left; ``start_ps`` (threads,) is when
    each thread begins, before its path's own start delay. Returns (status, thread, op at which it
    stopped, picoseconds of the window).
    """
    start_threads(w, seed, replication, start_ps)
    bits = w.clock[BITS]
    mask = (1 << bits) - 1
    last_ps = 1 << (61 - bits)
    tracing = len(w.events) > 0
    shared_cpus = len(w.cpus) > 0
    batches = len(w.marks_ps) - 1
    done, batch = -warm_up, int(warm_up == 0)
    mark_at = first_of_batch(batch, batches, operations)
    if warm_up > 0:
        w.clock[TRACED] = len(w.events)
    window_from_ps = 0
    transitions, idle = 0, 0
    check_at, checked_ps, checked_done, fruitful_at = STANDSTILL, 0, done, 0

    root = w.tree[1]
    while True:
        if root == NEVER:
            return DEADLOCK, 0, w.threads[0].at - 1, 0
        now = root >> bits
        thread = np.uintp(root & mask)
        th = w.threads[thread]
        if now > last_ps:
            return TOO_LATE, np.int64(thread), th.at, 0
        if th.state >= SPINNING or shared_cpus:
            what = wake_up(w, thread, now)
            if what == PARKED:
                idle += 1
                if idle > FRUITLESS:
                    return NO_PROGRESS, np.int64(thread), th.at - 1, 0
                if tracing:
                    note(w, thread, now)
                root = w.tree[1]
                continue
            if what == TRY_AGAIN:
                th.at -= 1
        work = np.int64(-1)
        pc = th.at
        mine = w.registers[thread]
        while True:
            here = pc
            step = w.ops[np.uintp(pc)]
            pc += 1
            transitions += 1
            step.visits += 1
            code = step.code
            which = np.uintp(step.operand)
            if step.place:  # a branch, because without one every step would wait for this load
                which += np.uintp(mine[np.uintp(step.place)])
            if code == op.SPEND:
                work = delay_ps(th, step.kind, step.mean_ps, step.shape, step.first, step.count, w.samples)
                break
            elif code == op.LOCK or code == op.READ_LOCK:
                got = request(w, which, thread, code == op.READ_LOCK, now)
                if got == TAKEN:
                    work = hold_of(w, w.locks[which], th)
                elif got == SPINS:
                    work = w.locks[which].spin_ps
                elif got == CROSSED:
                    return LOCKS_CROSS, np.int64(thread), here, 0
                break
            elif code == op.UNLOCK or code == op.READ_UNLOCK:
                read = code == op.READ_UNLOCK
                if (th.reads == 0) if read else (w.locks[which].owner != np.int64(thread)):
                    return NOT_OWNER, np.int64(thread), here, 0
                cost = release(w, which, thread, read, now)
                if th.held == 0:
                    enter(w, thread, RUNNING, now)
                if cost > 0:
                    work = cost
                    break
            elif code == op.DONE:
                pc = th.first
                if transitions - check_at > STANDSTILL:
                    return NO_TIME_PASSES, np.int64(thread), here, 0
                w.paths[np.uintp(th.path)].done += 1
                if th.counted:
                    done += 1
                    idle = 0
                    if done == 0:
                        window_from_ps = now
                        open_window(w, now)
                    while done >= mark_at:
                        w.marks_ps[batch] = now
                        batch += 1
                        mark_at = first_of_batch(batch, batches, operations)
                    if done == operations:
                        close_window(w, now)
                        w.clock[TRANSITIONS] = transitions
                        return FINISHED, np.int64(thread), pc, now - window_from_ps
            elif code == op.FIND_ZERO:
                w.bitmaps[which].searches += 1
                mine[np.uintp(step.register)] = w.bitmaps[which].next_zero
            elif code == op.CLAIM:
                bitmap = w.bitmaps[which]
                won = step.argument or mine[np.uintp(step.register)] == bitmap.next_zero
                bitmap.claims += 1
                bitmap.next_zero += won
                bitmap.lost += not won
                th.lost = not won
            elif code == op.RETRY_IF_LOST:
                if th.lost:
                    w.clock[RETRIES] += 1
                    pc = step.target
                    if transitions - check_at > STANDSTILL:
                        return NO_TIME_PASSES, np.int64(thread), here, 0
            elif code == op.TRYLOCK:
                lock = w.locks[which]
                free = lock.owner == NOBODY and lock.readers == 0
                free = free and not (lock.shared and lock.waiting > 0)  # rwsem_write_trylock()
                asks = free or th.lock != NOBODY
                if not asks:
                    lock.failed_tries += 1
                    if step.argument > 0:
                        mine[np.uintp(step.register)] += 1
                        asks = mine[np.uintp(step.register)] >= step.argument
                if asks:
                    if step.argument > 0:
                        mine[np.uintp(step.register)] = 0
                    got = request(w, which, thread, False, now)
                    if got == TAKEN:
                        work = hold_of(w, lock, th)
                    elif got == SPINS:
                        work = lock.spin_ps
                    elif got == CROSSED:
                        return LOCKS_CROSS, np.int64(thread), here, 0
                    break
                pc = step.target
                if transitions - check_at > STANDSTILL:
                    return NO_TIME_PASSES, np.int64(thread), here, 0
            elif code == op.RMW:
                work = modify(w, which, thread, step.argument, now)
                break
            elif code == op.READ:
                work = transfer_ps(w.lines[which], th)
                break
            elif code == op.SNAPSHOT:
                mine[np.uintp(step.register)] = w.lines[which].version
            elif code == op.COMPARE:
                line = w.lines[which]
                won = mine[np.uintp(step.register)] == line.version
                line.version += won
                line.lost += not won
                th.lost = not won
            elif code == op.RESERVE:
                block = w.slots[which]
                th.lost = block.free == 0
                block.full += th.lost
                block.free -= not th.lost
            elif code == op.FIND_SLOT:
                slot = find_slot(w, which)
                mine[np.uintp(step.register)] = slot
                scanned = slot + 1 if slot >= 0 else w.slots[which].per_block
                w.slots[which].searches += 1
                w.slots[which].scanned += scanned
                work = step.mean_ps * scanned
                break
            elif code == op.TAKE_SLOT:
                th.lost = not take_slot(w, which, mine[np.uintp(step.register)])
            elif code == op.FREE_SLOT:
                slot = mine[np.uintp(step.register)]
                if slot < 0 or w.slot_taken[which, slot] == 0:
                    return NOT_OWNER, np.int64(thread), here, 0
                w.slot_taken[which, slot] = 0
                w.slots[which].free += 1
            elif code == op.ENTER:
                if not ask_to_enter(w, which, thread, now):
                    break
            elif code == op.ENTERED:
                entered(w, which, thread, now)
            elif code == op.LEAVE:
                leave_gate(w, which, thread, now)
            elif code == op.SLEEP:
                slept = delay_ps(th, step.kind, step.mean_ps, step.shape, step.first, step.count, w.samples)
                th.left_ps = 0
                if th.held > 0:
                    leave_alone(w, thread, now)
                sleep_until(w, thread, now + slept, now)
                leave_cpu(w, thread, now)
                break
            elif code == op.PICK_OWN:
                place = w.places[step.argument]
                mine[np.uintp(place.register)] = np.int64(thread) * place.stride % place.shards
            elif code == op.PICK_CPU:
                place = w.places[step.argument]
                mine[np.uintp(place.register)] = th.cpu * place.stride % place.shards
            elif code == op.PICK_NEXT:
                place = w.places[step.argument]
                chosen = mine[np.uintp(place.register)] + 1
                mine[np.uintp(place.register)] = chosen if chosen < place.shards else 0
            elif code == op.PICK_RANDOM:
                place = w.places[step.argument]
                mine[np.uintp(place.register)] = next_below(th, place.shards)
            elif code == op.PICK_HASH:
                place = w.places[step.argument]
                mine[np.uintp(place.register)] = mine[np.uintp(step.register)] % place.shards
            elif code == op.LOAD:
                mine[np.uintp(step.register)] = w.shared[which]
            elif code == op.STORE:
                w.shared[which] = mine[np.uintp(step.register)]
            elif code == op.SKIP_IF_WON:
                if not th.lost:
                    pc = step.target
            elif code == op.SKIP_IF_SAME:
                if mine[np.uintp(step.argument)] == mine[np.uintp(step.register)]:
                    pc = step.target
            elif code == op.SKIP_BY_CHANCE:
                if next_unit(th) > step.shape:
                    pc = step.target
            elif code == op.SKIP_UNTIL:
                count = w.shared[which] + 1
                w.shared[which] = count if count < step.argument else 0
                if count < step.argument:
                    pc = step.target
            elif code == op.SKIP_IF_FREE:
                if w.locks[which].owner == NOBODY and w.locks[which].readers == 0:
                    pc = step.target
            elif code == op.JUMP:
                pc = step.target
            elif code == op.RESET:
                mine[np.uintp(step.register)] = 0
            elif code == op.LOOP:
                turn = mine[np.uintp(step.register)] + 1
                mine[np.uintp(step.register)] = turn if turn < step.argument else 0
                if turn < step.argument:
                    pc = step.target
                if transitions - check_at > STANDSTILL:
                    return NO_TIME_PASSES, np.int64(thread), here, 0
        th.at = pc
        if work < 0:
            root = w.tree[1]
        elif shared_cpus:
            work_for(w, thread, work, now)
            root = w.tree[1]
        else:  # the next event is known here, and need not be read back from memory
            root = after(w, thread, work, now)
        if tracing:
            note(w, thread, now)
        if transitions > check_at:  # seldom, so that what is looked at is not kept up at each event
            if now == checked_ps:
                return NO_TIME_PASSES, np.int64(thread), here, 0
            if done > checked_done:
                checked_done, fruitful_at = done, transitions
            elif transitions - fruitful_at > FRUITLESS:
                return NO_PROGRESS, np.int64(thread), here, 0
            check_at, checked_ps = transitions + STANDSTILL, now
