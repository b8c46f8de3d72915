# SPDX-License-Identifier: MIT
"""The waiters of a lock: those that spin, in FIFO or random order, and those that sleep, FIFO.

Both queues are rings with room for every thread, because any number of them may wait for one lock.
"""

from typing import Any

import numpy as np

from lockscale.sim.engine.compiled import compiled
from lockscale.sim.engine.cpus import leave_cpu
from lockscale.sim.engine.layout import NEVER, RANDOM_ORDER
from lockscale.sim.engine.world import sleep_until


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
def fall_asleep(w: Any, which: Any, thread: Any, woken: bool, now: Any) -> None:
    """Sleep at the queue's end; who was woken in vain goes first where the lock hands off."""
    lock = w.locks[which]
    ring = w.sleep_queue.shape[1] - 1
    if woken and lock.handoff:
        lock.sleep_first = (lock.sleep_first - 1) & ring
        w.sleep_queue[which, lock.sleep_first] = thread
        lock.promised = 1
    else:
        w.sleep_queue[which, (lock.sleep_first + lock.sleepers) & ring] = thread
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
    fall_asleep(w, which, thread, False, now)
