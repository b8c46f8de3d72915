# SPDX-License-Identifier: MIT
"""One event loop for any op table.

An event is a thread whose delay is over. Events lie in a binary heap of ``time << bits | thread``:
equal times go by thread id, whatever the order in which they were scheduled. The thread then runs
its steps until one takes time or waits. One transition = one step of one thread; a lock that is
waited for counts once.
"""

import numpy as np
from numpy.typing import NDArray

from lockscale.sim.compiled import compiled
from lockscale.sim.path import CLAIM, FIND_ZERO, LOCK, RETRY_IF_LOST, SPEND, UNLOCK
from lockscale.sim.primitives import EXPONENTIAL, RANDOM_ORDER
from lockscale.sim.rng import draw, exponential_ps, stream_key

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

FINISHED, DEADLOCK, TOO_LATE, NO_TIME_PASSES = range(4)
# totals
OPERATIONS, RETRIES, WINDOW_PS, TRANSITIONS = range(4)
# a row of the lock statistics
REQUESTS, ACQUISITIONS, WAIT_PS, HOLD_PS, QUEUE_AREA_PS, WAITING_BEFORE, WAITING_AFTER = range(7)
# a row of the lock state; a queue is a ring of thread ids
OWNER, TAKEN_PS, FIRST, WAITERS = range(4)
# a row of the thread state
STEP, LOST, SINCE_PS = range(3)
# columns of the lock table, from Lock.row()
ORDER, HOLD, HOLD_KIND, HANDOVER = range(4)

STANDSTILL = 10_000_000


@compiled
def sift_up(heap: Ints, at: int, key: int) -> None:
    """Put ``key`` at the free place ``at`` and move it towards the root."""
    while at > 0:
        parent = (at - 1) >> 1
        if heap[parent] <= key:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = key


@compiled
def sift_down(heap: Ints, size: int, key: int) -> None:
    """Put ``key`` at the root, whose entry is spent, and move it towards the leaves."""
    at, child = 0, 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if key <= heap[child]:
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = key


@compiled
def delay_ps(mean_ps: np.int64, kind: np.int64, keys: Words, counters: Words, thread: np.int64) -> np.int64:
    """One delay of the thread, drawn from its own stream if it is random."""
    if kind == EXPONENTIAL:
        counters[thread] += np.uint64(1)
        return exponential_ps(mean_ps, draw(keys[thread], counters[thread]))
    return mean_ps


@compiled
def enqueue(state: Ints, queue: Ints, stats: Ints, thread: np.int64, now: np.int64) -> None:
    """The thread waits at the end of the lock's queue."""
    tail = state[FIRST] + state[WAITERS]
    queue[tail if tail < len(queue) else tail - len(queue)] = thread
    state[WAITERS] += 1
    stats[QUEUE_AREA_PS] -= now


@compiled
def pass_on(
    state: Ints, queue: Ints, stats: Ints, place: np.int64, now: np.int64, thread_state: Ints
) -> np.int64:
    """Take the waiter at ``place`` (0 = the first) out of the queue; it gets the lock."""
    head = state[FIRST]
    chosen = head + place
    chosen = chosen if chosen < len(queue) else chosen - len(queue)
    heir: np.int64 = queue[chosen]
    queue[chosen] = queue[head]
    state[FIRST] = head + 1 if head + 1 < len(queue) else 0
    state[WAITERS] -= 1
    stats[QUEUE_AREA_PS] += now
    stats[WAIT_PS] += now - thread_state[heir, SINCE_PS]
    return heir


@compiled
def own(state: Ints, stats: Ints, thread: np.int64, now: np.int64) -> None:
    """The lock belongs to the thread from now on."""
    state[OWNER] = thread
    state[TAKEN_PS] = now
    stats[ACQUISITIONS] += 1


@compiled
def open_window(state: Ints, stats: Ints, thread_state: Ints, now: np.int64) -> None:
    """End of the warm-up: forget what was counted, cut waits and holds in progress at ``now``."""
    stats[:, :] = 0
    state[:, TAKEN_PS] = now
    thread_state[:, SINCE_PS] = now
    for k in range(len(state)):
        stats[k, QUEUE_AREA_PS] = -now * state[k, WAITERS]
        stats[k, WAITING_BEFORE] = state[k, WAITERS]


@compiled
def close_window(state: Ints, queue: Ints, stats: Ints, thread_state: Ints, now: np.int64) -> None:
    """End of the run: count the waits and holds in progress up to ``now``."""
    for k in range(len(state)):
        stats[k, WAITING_AFTER] = state[k, WAITERS]
        stats[k, QUEUE_AREA_PS] += now * state[k, WAITERS]
        if state[k, OWNER] >= 0:
            stats[k, HOLD_PS] += now - state[k, TAKEN_PS]
        for place in range(state[k, FIRST], state[k, FIRST] + state[k, WAITERS]):
            waiter = queue[k, place % queue.shape[1]]
            stats[k, WAIT_PS] += now - thread_state[waiter, SINCE_PS]


@compiled
def run(
    ops: Ints,
    locks: Ints,
    bitmaps: Ints,
    start_ps: Ints,
    seed: int,
    replication: int,
    warm_up: int,
    operations: int,
    totals: Ints,
    stats: Ints,
) -> tuple[int, int, int]:
    """Simulate ``warm_up`` operations, then count ``operations`` more.

    One long function, because split up the loop's state would have to live in arrays.

    Tables as in ``Program``; ``start_ps`` (threads,) is when each thread begins. Fills ``totals``
    (4,) and ``stats`` (locks, 7). Returns (status, thread, op at which it stopped).
    """
    threads = len(start_ps)
    bits = 0
    while (1 << bits) < threads:
        bits += 1
    last_ps = 1 << (61 - bits)
    keys = np.empty(threads, np.uint64)
    counters = np.zeros(threads, np.uint64)
    thread_state = np.zeros((threads, 3), np.int64)
    state = np.zeros((len(locks), 4), np.int64)
    state[:, OWNER] = -1
    queue = np.empty((len(locks), threads), np.int64)
    next_zero = np.zeros((len(bitmaps), threads), np.int64)
    found = np.zeros((len(bitmaps), threads), np.int64)
    heap = np.empty(threads, np.int64)
    for thread in range(threads):
        keys[thread] = stream_key(np.uint64(seed), np.uint64(replication), np.uint64(thread))
        sift_up(heap, thread, start_ps[thread] << bits | thread)
    size = threads
    done = -warm_up
    window_start = 0
    transitions = 0
    moved_ps, moved_at = 0, 0

    while size > 0:
        now = heap[0] >> bits
        thread = heap[0] & ((1 << bits) - 1)
        at = thread_state[thread, STEP]
        if now > last_ps:
            return TOO_LATE, thread, at
        if now > moved_ps:
            moved_ps, moved_at = now, transitions
        due = np.int64(-1)
        while True:
            code, which, argument = ops[at, 0], ops[at, 1], ops[at, 2]
            at += 1
            transitions += 1
            if transitions - moved_at > STANDSTILL:
                return NO_TIME_PASSES, thread, at - 1
            if code == SPEND:
                due = now + delay_ps(which, argument, keys, counters, thread)
                break
            elif code == LOCK:
                stats[which, REQUESTS] += 1
                if state[which, OWNER] >= 0:
                    thread_state[thread, SINCE_PS] = now
                    enqueue(state[which], queue[which], stats[which], thread, now)
                else:
                    own(state[which], stats[which], thread, now)
                    due = now + delay_ps(locks[which, HOLD], locks[which, HOLD_KIND], keys, counters, thread)
                break
            elif code == UNLOCK:
                stats[which, HOLD_PS] += now - state[which, TAKEN_PS]
                if state[which, WAITERS] == 0:
                    state[which, OWNER] = -1
                else:
                    place = np.int64(0)
                    if locks[which, ORDER] == RANDOM_ORDER:
                        counters[thread] += np.uint64(1)
                        waiters = np.uint64(state[which, WAITERS])
                        place = np.int64(draw(keys[thread], counters[thread]) % waiters)
                    heir = pass_on(state[which], queue[which], stats[which], place, now, thread_state)
                    own(state[which], stats[which], heir, now)
                    hold = delay_ps(locks[which, HOLD], locks[which, HOLD_KIND], keys, counters, heir)
                    sift_up(heap, size, (now + locks[which, HANDOVER] + hold) << bits | heir)
                    size += 1
            elif code == FIND_ZERO:
                found[which, thread] = next_zero[which, 0 if bitmaps[which, 0] else thread]
            elif code == CLAIM:
                part = 0 if bitmaps[which, 0] else thread
                won = argument or found[which, thread] == next_zero[which, part]
                next_zero[which, part] += won
                thread_state[thread, LOST] = not won
            elif code == RETRY_IF_LOST:
                if thread_state[thread, LOST]:
                    totals[RETRIES] += 1
                    at = which
            else:
                at = 0
                done += 1
                if done == 0:
                    window_start = now
                    totals[RETRIES] = 0
                    open_window(state, stats, thread_state, now)
                elif done == operations:
                    close_window(state, queue, stats, thread_state, now)
                    totals[OPERATIONS] = done
                    totals[WINDOW_PS] = now - window_start
                    totals[TRANSITIONS] = transitions
                    return FINISHED, thread, at
        thread_state[thread, STEP] = at
        if due >= 0:
            sift_down(heap, size, due << bits | thread)
        else:
            size -= 1
            if size > 0:
                sift_down(heap, size, heap[size])
    return DEADLOCK, 0, thread_state[0, STEP] - 1
