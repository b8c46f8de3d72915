# SPDX-License-Identifier: MIT
"""The lock of S1's storm exchanged for another kind, on fewer CPUs, with threads that start apart."""

from typing import Annotated

from lockscale.errors import BadInput
from lockscale.sim.builder import Builder
from lockscale.sim.delays import NO_TIME, exponential, jitter, ns, us
from lockscale.sim.model import Note, model
from lockscale.sim.models.inode_claim import ACCESS, ELSEWHERE, HOLD, SEARCH_LOCKED
from lockscale.sim.primitives import Lock

WAKE = Note("from a wake-up to running, of locks whose waiters sleep", "assumed: an idle CPU, no deep sleep")
SPIN = Note("mutex: how long a waiter spins before it sleeps", "assumed: about two context switches")
SKEW = Note("each thread starts at a random time from 0 to this", "free; 0: all start together")
CPUS = Note("CPUs of a host whose virtual CPUs the threads are; 0: enough", "free")
SLICE = Note("how long a thread keeps a CPU for which others wait", "kernel/sched: 3 ms from 8 CPUs on")


@model(
    unit="creates/s",
    calibration="calibrated: 2 free parameters (elsewhere_us, hold_ns) from S1's two creation rates "
    "at 48 processes, as inode_claim with its queued lock; no other kind was published",
)
def any_lock(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, ELSEWHERE] = 58.54,
    access_ns: Annotated[float, ACCESS] = 250.0,
    hold_ns: Annotated[float, HOLD] = 285.3,
    wake_us: Annotated[float, WAKE] = 5.0,
    spin_us: Annotated[float, SPIN] = 10.0,
    skew_us: Annotated[float, SKEW] = 0.0,
    shared_cpus: Annotated[int, CPUS] = 0,
    slice_us: Annotated[float, SLICE] = 3000.0,
    ticket: Annotated[bool, Note("a ticket lock; FIFO as the queued one", "RHEL 7")] = False,
    unfair: Annotated[bool, Note("any waiter may be next", "virt_spin_lock() of a guest")] = False,
    test_and_set: Annotated[bool, Note("free until a waiter sees it", "Anderson 1990")] = False,
    sleeping: Annotated[bool, Note("waiters sleep and may be overtaken", "lock_buffer()")] = False,
    mutex: Annotated[bool, Note("waiters spin, then sleep", "kernel/locking/mutex.c")] = False,
    search_locked: Annotated[bool, SEARCH_LOCKED] = False,
) -> None:
    """S1's race for the inode bitmap under a lock of any kind; no switch: the queued one, as inode_claim."""
    if ticket + unfair + test_and_set + sleeping + mutex > 1:
        raise BadInput("any_lock is given two kinds of lock: turn on only one")
    if shared_cpus:
        m.machine(cpus=shared_cpus, time_slice=us(slice_us))
    group = _lock(m, hold_ns, wake_us, spin_us, (ticket, unfair, test_and_set, sleeping, mutex))
    bitmap = m.bitmap("inode bitmap")

    create = m.path("create", start=jitter(us(skew_us / 2), us(skew_us / 2)) if skew_us else NO_TIME)
    create.spend(exponential(us(elsewhere_us)), "the rest of ext4_create")
    again = create.label("repeat_in_this_group")
    create.find_zero(bitmap)  # no lock: stale by the time it is used
    create.spend(ns(access_ns), "jbd2_journal_get_write_access")
    create.lock(group)
    create.claim(bitmap, search_again=search_locked)
    create.unlock(group)
    create.retry_if_lost(again)


def _lock(m: Builder, hold_ns: float, wake_us: float, spin_us: float, kinds: tuple[bool, ...]) -> Lock:
    name, hold = "group lock", ns(hold_ns)
    ticket, unfair, test_and_set, sleeping, mutex = kinds
    if ticket:
        return m.ticket_lock(name, hold=hold)
    if unfair:
        return m.unfair_lock(name, hold=hold)
    if test_and_set:
        return m.test_and_set_lock(name, hold=hold)
    if sleeping:
        return m.sleeping_lock(name, hold=hold, wake=us(wake_us))
    if mutex:
        return m.mutex(name, hold=hold, wake=us(wake_us), spin=us(spin_us))
    return m.queued_lock(name, hold=hold)
