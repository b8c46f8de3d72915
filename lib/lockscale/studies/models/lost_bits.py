# SPDX-License-Identifier: MIT
"""search-locked with the event that an observe kernel counts of it: a bit that was lost before the lock."""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model

FOUND = "first zero bit"
"""A cache line that takes no time: its lost cmpxchg are the lost bits."""
AS_INODE_CLAIM = "as in inode_claim"


@model(unit="creates/s")
def lost_bits(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, Note("mean of the rest of a create", AS_INODE_CLAIM)] = 58.54,
    access_ns: Annotated[float, Note("between search and claim", AS_INODE_CLAIM)] = 250.0,
    hold_ns: Annotated[float, Note("of the group lock, for a create", AS_INODE_CLAIM)] = 285.3,
) -> None:
    """inode_claim with search_locked, where a claim of a stale bit is counted and costs nothing."""
    group = m.queued_lock("group lock", hold=ns(hold_ns))
    found = m.cache_line(FOUND, own=ns(0), socket=ns(0))

    create = m.path("create")
    create.spend(exponential(us(elsewhere_us)), "the rest of ext4_create")
    create.read(found)
    create.spend(ns(access_ns), "jbd2_journal_get_write_access")
    create.lock(group)
    create.cmpxchg(found)
    create.atomic(found)  # the stale one takes another bit, which is news to all others too
    create.unlock(group)
