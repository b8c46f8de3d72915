# SPDX-License-Identifier: MIT
"""Taking and releasing every kind of lock; what kind it is lies in its record's costs and flags.

On release a lock is handed over to a waiter, or left free while one is told to try again, whom others
may overtake (barging).
"""

from typing import Any

import numpy as np

from lockscale.sim.engine.compiled import apart, compiled
from lockscale.sim.engine.cpus import work_for
from lockscale.sim.engine.layout import (
    ALL_OVERTAKEN,
    HOLDING,
    HOLDS,
    NEAREST,
    NO_PROMISE,
    NOBODY,
    RANDOM_ORDER,
    SLEEPING,
    SPINNING,
    TO_SLEEPER,
    TO_SPINNER,
    WAITS,
)
from lockscale.sim.engine.lock_queues import (
    SPUN,
    WOKEN,
    any_on_a_cpu,
    fall_asleep,
    first_sleeper,
    insists,
    leave_alone,
    let_all_try,
    nearest,
    spinner_at,
)
from lockscale.sim.engine.random import delay_ps, next_below
from lockscale.sim.engine.world import bucket, enter, note, sleep_until

TAKEN, SPINS, SLEEPS, CROSSED = range(4)


@compiled
def hold_of(w: Any, lock: Any, th: Any) -> Any:
    """The lock's own hold time, drawn."""
    return delay_ps(
        th, lock.hold_kind, lock.hold_ps, lock.hold_shape, lock.hold_first, lock.hold_count, w.samples
    )


@compiled
def end_wait(lock: Any, th: Any, now: Any) -> Any:
    """The thread waits no longer for the lock; returns how long it did, ps."""
    waited = now - th.since_ps
    lock.waiting -= 1
    lock.wait_area_ps += now
    lock.wait_ps += waited
    th.lock = NOBODY
    if th.nominated:
        th.nominated = 0
    return waited


@compiled
def take(w: Any, which: Any, thread: Any, read: bool, waited: Any, now: Any) -> None:
    """The lock belongs to the thread from now on, which waited so long for it."""
    lock, th = w.locks[which], w.threads[thread]
    w.histograms[np.uintp(lock.histogram), WAITS, np.uintp(bucket(waited))] += 1
    lock.acquisitions += 1
    lock.hold_area_ps -= now
    if read:
        lock.readers += 1
        th.reads += 1
    else:
        lock.owner = thread
        lock.taken_ps = now
    th.held += 1


@compiled
def request(w: Any, which: Any, thread: Any, read: bool, now: Any) -> Any:
    """Take the lock, or wait for it. SPINS: for ``spin_ps``; CROSSED: the wait would never end.

    A reader comes beside others unless somebody sleeps for the lock, and takes a free one from who is on
    its way (rwsem_down_read_slowpath()).
    """
    lock, th = w.locks[which], w.threads[thread]
    if th.lock == NOBODY:
        lock.requests += 1
    if lock.owner == NOBODY and (
        (lock.readers == 0 or lock.waiting == lock.spinners) if read else lock.readers == 0
    ):
        if th.nominated and lock.handoff:
            lock.called = 0
        waited = 0 if th.lock == NOBODY else end_wait(lock, th, now)
        take(w, which, thread, read, waited, now)
        if th.held == 1:
            enter(w, thread, HOLDING, now)
        return TAKEN
    if th.lock == NOBODY:
        th.since_ps = now
        th.lock = which
        if th.reading != read:
            th.reading = read
        lock.waiting += 1
        lock.wait_area_ps -= now
        if th.held > 0 and crossed(w, thread, lock.owner):
            return CROSSED
    return wait(w, which, thread, now)


@compiled
def crossed(w: Any, thread: Any, owner: Any) -> bool:
    """Whether the owner waits, through other locks, for a lock of this thread."""
    for _ in range(len(w.threads)):
        if owner == np.int64(thread):
            return True
        if owner == NOBODY or w.threads[owner].lock == NOBODY:
            return False
        owner = w.locks[w.threads[owner].lock].owner
    return False


@compiled
def wait(w: Any, which: Any, thread: Any, now: Any) -> Any:
    """The thread spins for the lock, for a time or for ever, or goes to sleep for it."""
    lock, th = w.locks[which], w.threads[thread]
    woken = th.nominated == WOKEN
    first = woken and lock.handoff
    if th.nominated:
        th.nominated = 0
    if first:
        lock.called = 0
    away = lock.owner_runs and lock.owner != NOBODY and w.threads[lock.owner].state >= SLEEPING
    in_vain = woken and (not lock.handoff or lock.owner == NOBODY or not insists(lock, th, now))
    if in_vain or th.reading or lock.spin_ps == 0 or away:
        if th.held > 0:
            leave_alone(w, thread, now)
        fall_asleep(w, which, thread, first, now)
        return SLEEPS
    ring = w.spin_queue.shape[1] - 1
    if first:
        lock.spin_first = (lock.spin_first - 1) & ring
        w.spin_queue[which, np.uintp(lock.spin_first)] = thread
        lock.promised = TO_SPINNER
    else:
        w.spin_queue[which, np.uintp((lock.spin_first + lock.spinners) & ring)] = thread
    lock.spinners += 1
    if th.state != SPINNING:
        enter(w, thread, SPINNING, now)
    return SPINS


@compiled
def handover_of(w: Any, lock: Any, heir: Any) -> Any:
    """The time from one holder to the next: base, each other spinner, another socket."""
    th = w.threads[heir]
    mean = lock.handover_ps + lock.per_waiter_ps * lock.spinners
    lock.handovers += 1
    if lock.socket != th.socket:
        lock.remote_handovers += 1
        mean += lock.remote_ps
    return delay_ps(th, lock.handover_kind, mean, 0.0, 0, 0, w.samples)


@compiled
def hand_to_spinner(w: Any, which: Any, heir: Any, now: Any) -> None:
    """The heir holds the lock from now on, and works when the hand-over is over."""
    lock, th = w.locks[which], w.threads[heir]
    work = handover_of(w, lock, heir)
    take(w, which, heir, False, end_wait(lock, th, now), now)
    work += hold_of(w, lock, th)
    enter(w, heir, HOLDING, now)
    note(w, heir, now)
    work_for(w, heir, work, now)


@compiled
def hand_to_sleeper(w: Any, which: Any, heir: Any, now: Any) -> None:
    """The heir holds the lock from now on, and works when it is awake."""
    lock, th = w.locks[which], w.threads[heir]
    work = handover_of(w, lock, heir)
    take(w, which, heir, th.reading != 0, end_wait(lock, th, now), now)
    th.left_ps = work + hold_of(w, lock, th)
    sleep_until(w, heir, now + lock.wake_ps, now)
    note(w, heir, now)


@compiled
def wake_readers(w: Any, which: Any, now: Any) -> None:
    """All waiting readers get it at once (kernel/locking/rwsem.c, rwsem_mark_wake)."""
    lock, ring = w.locks[which], w.sleep_queue.shape[1] - 1
    for _ in range(lock.sleepers):
        thread = first_sleeper(w, which)
        if w.threads[thread].reading:
            hand_to_sleeper(w, which, thread, now)
        else:
            w.sleep_queue[which, (lock.sleep_first + lock.sleepers) & ring] = thread
            lock.sleepers += 1
            lock.wakes -= 1


@compiled
def release(w: Any, which: Any, thread: Any, read: bool, now: Any) -> Any:
    """Give the lock up; returns what waking somebody costs the thread that releases, ps."""
    lock, th = w.locks[which], w.threads[thread]
    lock.hold_area_ps += now
    if lock.socket != th.socket:
        lock.socket = th.socket
    th.held -= 1
    if read:
        lock.readers -= 1
        th.reads -= 1
        if lock.readers > 0:
            return 0
    else:
        w.histograms[np.uintp(lock.histogram), HOLDS, np.uintp(bucket(now - lock.taken_ps))] += 1
        lock.owner = NOBODY
    if lock.spinners > 0 and lock.promised != TO_SLEEPER:
        overtakes = lock.handoff and lock.promised == NO_PROMISE
        if lock.promised:
            lock.promised = NO_PROMISE
        place = 0
        if lock.order == RANDOM_ORDER:
            place = next_below(th, lock.spinners) if len(w.cpus) == 0 else any_on_a_cpu(w, which, th)
            if place < 0:
                let_all_try(w, which)
                return 0
        elif lock.order == NEAREST:
            place = nearest(w, which, th.socket)
        heir = spinner_at(w, which, place)
        if lock.barging == ALL_OVERTAKEN:
            w.threads[heir].nominated = SPUN
            work_for(w, heir, handover_of(w, lock, heir), now)
        else:
            hand_to_spinner(w, which, heir, now)
        if overtakes and lock.sleepers > 0 and not lock.called:
            return overtake(w, which, now)
        return 0
    if lock.sleepers == 0 or lock.called:
        return 0
    woken = lock.wakes
    wake_one(w, which, now)
    return lock.wake_cost_ps * (lock.wakes - woken)


@apart
def overtake(w: Any, which: Any, now: Any) -> Any:
    """A spinner has the lock before the first sleeper, which is woken and asks to be next; what that costs.

    A reader is not woken before it has the lock.
    """
    lock = w.locks[which]
    first = w.sleep_queue[which, lock.sleep_first]
    if w.threads[first].reading:
        if insists(lock, w.threads[first], now):
            lock.promised = TO_SLEEPER
        return 0
    call(w, which, now)
    return lock.wake_cost_ps


@compiled
def call(w: Any, which: Any, now: Any) -> None:
    """Wake the first sleeper to try again."""
    lock = w.locks[which]
    heir = first_sleeper(w, which)
    if lock.handoff:
        lock.called = 1
    w.threads[heir].nominated = WOKEN
    w.threads[heir].left_ps = 0
    sleep_until(w, heir, now + lock.wake_ps, now)


@compiled
def wake_one(w: Any, which: Any, now: Any) -> None:
    """Wake the first sleeper: as the owner, or to try again; of readers all."""
    lock = w.locks[which]
    first = w.sleep_queue[which, lock.sleep_first]
    if w.threads[first].reading:
        lock.promised = NO_PROMISE
        wake_readers(w, which, now)
    elif lock.barging and not lock.promised:
        call(w, which, now)
    else:
        lock.promised = NO_PROMISE
        hand_to_sleeper(w, which, first_sleeper(w, which), now)
