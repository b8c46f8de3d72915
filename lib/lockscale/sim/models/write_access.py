# SPDX-License-Identifier: MIT
"""S2: a cheaper jbd2_journal_get_write_access() makes creates slower (LU-9796, ldiskfs on RHEL 7).

The expensive one takes lock_buffer() on the bitmap's buffer: most threads sleep there, few meet at
the group lock, and who runs overtakes who is being woken. The cheap one lets all meet: a storm.
"""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, jitter, ns, us
from lockscale.sim.model import Note, model

ELSEWHERE = Note("mean of the rest of a create", "S2 fast: 48 / 35690 per s less 1255 us create_inode")
ACCESS = Note("a cheap jbd2_journal_get_write_access()", "S2's fast cost table, tracer on: 0.43 us")
HOLD = Note(
    "mean of hand-over, test-and-set and unlock of one attempt",
    "calibrated: 1 / (35690/s x 44.76 attempts) of S2's fast arm",
)
BUFFER_HOLD = Note("mean hold of lock_buffer()", "calibrated: S2's slow rate and calls")
BUFFER_WAKE = Note("head start of a running thread over the one woken", "effective; calibrated likewise")
FAST_ACCESS = Note("get_write_access without lock_buffer()", "Lustre 28276, 17fe3c192e; reverted in 2.11.0")
SEARCH_LOCKED = Note("after a lost claim search again under the lock", "the cure, as in S1")
BACKOFF = Note("mean sleep after a lost claim, +- half; 0: none", "free: posted in 2017, not available here")


@model(
    unit="creates/s",
    calibration="calibrated: 3 free parameters (hold_ns, buffer_hold_us, buffer_wake_us) from 4 figures, "
    "S2's two rates and two call counts; elsewhere_us and access_ns read off its tables; backoff_us unknown",
)
def write_access(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, ELSEWHERE] = 90.0,
    access_ns: Annotated[float, ACCESS] = 430.0,
    hold_ns: Annotated[float, HOLD] = 626.0,
    buffer_hold_us: Annotated[float, BUFFER_HOLD] = 1.07,
    buffer_wake_us: Annotated[float, BUFFER_WAKE] = 0.12,
    fast_access: Annotated[bool, FAST_ACCESS] = False,
    search_locked: Annotated[bool, SEARCH_LOCKED] = False,
    backoff_us: Annotated[float, BACKOFF] = 0.0,
) -> None:
    """The paradox of S2: creates slow down when get_write_access speeds up.

    Not modelled: the calls outside the retry loop, quota, other groups, what waiters cost a ticket
    lock. Times are exponential: with fixed ones the answer jumps as wake and hold fall in step. A sleep
    varies by half; that of timed-backoff's patch is the same for all.
    """
    group = m.ticket_lock("group lock", hold=exponential(ns(hold_ns)))
    buffer = m.sleeping_lock("lock_buffer", hold=exponential(us(buffer_hold_us)), wake=us(buffer_wake_us))
    bitmap = m.bitmap("inode bitmap")

    create = m.path("create")
    create.spend(exponential(us(elsewhere_us)), "the rest of ext4_create")
    again = create.label("repeat_in_this_group")
    create.find_zero(bitmap)  # no lock: stale by the time it is used
    if fast_access:
        create.spend(ns(access_ns), "jbd2_journal_get_write_access")
    else:
        create.lock(buffer)
        create.unlock(buffer)
    create.lock(group)
    create.claim(bitmap, search_again=search_locked)
    create.unlock(group)
    if backoff_us:
        with create.if_lost():
            create.sleep(jitter(us(backoff_us), us(backoff_us / 2)), "schedule_timeout")
    create.retry_if_lost(again)
