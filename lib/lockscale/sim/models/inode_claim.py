# SPDX-License-Identifier: MIT
"""S1: __ext4_new_inode() claims a bit of the group's inode bitmap (fs/ext4/ialloc.c, 4.13).

The bit is found without the group lock and may be gone when the lock is held. Before the patch the
search is then repeated outside the lock ("repeat_in_this_group"); with it, under the lock.
"""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model

ELSEWHERE = Note("mean of the rest of a create", "calibrated: S1's patched rate, 812.5k creates/s")
ACCESS = Note(
    "jbd2_journal_get_write_access() between search and claim",
    "assumed: S1's cost table has 460 ns with the tracer on",
)
HOLD = Note(
    "lock hand-over, test-and-set and unlock of one attempt",
    "calibrated: S1's base rate, 80.1k creates/s",
)
SEARCH_LOCKED = Note("after a lost claim search again under the lock", "the patch of S1")


@model(
    unit="creates/s",
    calibration="calibrated: 2 free parameters (elsewhere_us, hold_ns) "
    "from S1's two creation rates at 48 processes",
)
def inode_claim(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, ELSEWHERE] = 58.54,
    access_ns: Annotated[float, ACCESS] = 250.0,
    hold_ns: Annotated[float, HOLD] = 285.3,
    search_locked: Annotated[bool, SEARCH_LOCKED] = False,
) -> None:
    """The inode bitmap's retry storm (S1) and its cure.

    Not modelled: waiting in jbd2__journal_start, other groups, NUMA, the time of the second search, and a
    create's second hold of the group lock, which counts the bit in the group's descriptor.
    ``elsewhere`` is exponential: with fixed times the answer depends on the start phases for ever.
    """
    group = m.queued_lock("group lock", hold=ns(hold_ns))  # 4.13 on x86: QUEUED_SPINLOCKS
    bitmap = m.bitmap("inode bitmap")

    create = m.path("create")
    create.spend(exponential(us(elsewhere_us)), "the rest of ext4_create")
    again = create.label("repeat_in_this_group")
    create.find_zero(bitmap)  # no lock: stale by the time it is used
    create.spend(ns(access_ns), "jbd2_journal_get_write_access")
    create.lock(group)
    create.claim(bitmap, search_again=search_locked)
    create.unlock(group)
    create.retry_if_lost(again)
