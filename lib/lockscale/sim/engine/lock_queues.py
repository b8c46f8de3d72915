# SPDX-License-Identifier: MIT
"""Who waits for a lock, in which order: spinners (FIFO, at random or the nearest), and sleepers (FIFO)."""

from typing import Any

import numpy as np

from lockscale.sim.engine.compiled import apart, compiled
from lockscale.sim.engine.cpus import leave_cpu
from lockscale.sim.engine.layout import (
    NEVER,
    RANDOM_ORDER,
    READY,
    TO_SLEEPER,
    TO_SPINNER,
)
from lockscale.sim.engine.random import next_below
from lockscale.sim.engine.world import note, sleep_until

# why a waiter that has left the queue tries again
SPUN, WOKEN = 1, 2


@compiled
def spinner_at(w: Any, which: Any, place: Any) -> Any:
    """Take the spinner at ``place`` (0 = the first) out; FIFO: those before it keep their order."""
    lock = w.locks[which]
    queue, ring = w.spin_queue[which], w.spin_queue.shape[1] - 1
    thread = queue[np.uintp((lock.spin_first + place) & ring)]
    if lock.order == RANDOM_ORDER:
        queue[np.uintp((lock.spin_first + place) & ring)] = queue[np.uintp(lock.spin_first)]
        place = 0
    while place > 0:
        queue[np.uintp((lock.spin_first + place) & ring)] = queue[
            np.uintp((lock.spin_first + place - 1) & ring)
        ]
        place -= 1
    lock.spin_first = (lock.spin_first + 1) & ring
    lock.spinners -= 1
    return thread


@apart
def any_on_a_cpu(w: Any, which: Any, th: Any) -> Any:
    """The place of a spinner, drawn from those that have a CPU; -1 where none has."""
    lock, ring = w.locks[which], w.spin_queue.shape[1] - 1
    running = 0
    for place in range(lock.spinners):
        running += w.threads[w.spin_queue[which, np.uintp((lock.spin_first + place) & ring)]].state != READY
    drawn = next_below(th, running) if running > 0 else -1
    for place in range(lock.spinners):
        if w.threads[w.spin_queue[which, np.uintp((lock.spin_first + place) & ring)]].state != READY:
            if drawn == 0:
                return place
            drawn -= 1
    return -1


@apart
def let_all_try(w: Any, which: Any) -> None:
    """None of the spinners has a CPU: the lock stays free, and each tries once it runs again."""
    for _ in range(w.locks[which].spinners):
        th = w.threads[spinner_at(w, which, 0)]
        th.nominated = SPUN
        th.left_ps = 0


@apart
def nearest(w: Any, which: Any, socket: Any) -> Any:
    """The place of the first spinner of this socket; the first of all after so many in a row."""
    lock, ring = w.locks[which], w.spin_queue.shape[1] - 1
    if lock.near < lock.most_near:
        for place in range(lock.spinners):
            thread = w.spin_queue[which, np.uintp((lock.spin_first + place) & ring)]
            if w.threads[thread].socket == socket:
                lock.near += 1
                return place
    lock.near = 0
    return 0


@compiled
def first_sleeper(w: Any, which: Any) -> Any:
    """Take the first sleeper out of its queue."""
    lock = w.locks[which]
    thread = w.sleep_queue[which, lock.sleep_first]
    lock.sleep_first = (lock.sleep_first + 1) & (w.sleep_queue.shape[1] - 1)
    lock.sleepers -= 1
    lock.wakes += 1
    return thread


@compiled
def insists(lock: Any, th: Any, now: Any) -> Any:
    """The thread has slept for it so long that it will not be overtaken any more."""
    return now - th.queued_ps >= lock.patience_ps


@compiled
def fall_asleep(w: Any, which: Any, thread: Any, first: bool, now: Any) -> None:
    """Sleep at the queue's end; who was woken in vain keeps the first place where the lock hands off."""
    lock = w.locks[which]
    ring = w.sleep_queue.shape[1] - 1
    if first:
        lock.sleep_first = (lock.sleep_first - 1) & ring
        w.sleep_queue[which, lock.sleep_first] = thread
        if insists(lock, w.threads[thread], now):
            lock.promised = TO_SLEEPER
    else:
        w.sleep_queue[which, (lock.sleep_first + lock.sleepers) & ring] = thread
        w.threads[thread].queued_ps = now
    lock.sleepers += 1
    sleep_until(w, thread, NEVER, now)
    leave_cpu(w, thread, now)


@compiled
def stop_spinning(w: Any, which: Any, thread: Any, now: Any) -> None:
    """The spin budget is used up: the thread sleeps (a mutex's optimistic spin)."""
    lock = w.locks[which]
    ring = w.spin_queue.shape[1] - 1
    place = 0
    while w.spin_queue[which, (lock.spin_first + place) & ring] != thread:
        place += 1
    spinner_at(w, which, place)
    fall_asleep(w, which, thread, place == 0 and lock.promised == TO_SPINNER, now)


@apart
def leave_alone(w: Any, thread: Any, now: Any) -> None:
    """The thread goes to sleep with locks held: who spins for one of them while its owner runs sleeps too.

    A spinner that was preempted finds that out when it has its CPU again.
    """
    ring = w.spin_queue.shape[1] - 1
    for which in range(len(w.locks)):
        if w.locks[which].owner_runs and w.locks[which].owner == thread:
            preempted = 0
            for _ in range(w.locks[which].spinners):
                lock = w.locks[which]
                heir = w.spin_queue[which, np.uintp((lock.spin_first + preempted) & ring)]
                if w.threads[heir].state == READY:
                    w.threads[heir].left_ps = 0
                    preempted += 1
                else:
                    stop_spinning(w, which, heir, now)
                    note(w, heir, now)
