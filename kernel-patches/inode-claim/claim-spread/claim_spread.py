# SPDX-License-Identifier: MIT
"""inode_claim with a spread: of search starts inside the group, or of directories over groups.

Makes the figures of the cover:
lockscale sim ./claim_spread.py --threads 48,128,192,255 -p search_locked=true -p start_regions=256
"""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model

S1 = "calibrated: as in inode_claim, from S1's two creation rates"


@model(unit="creates/s", calibration="calibrated: elsewhere_us and hold_ns as in inode_claim (S1)")
def claim_spread(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, Note("mean of the rest of a create", S1)] = 58.54,
    access_ns: Annotated[float, Note("one jbd2_journal_get_write_access()", "as inode_claim")] = 250.0,
    hold_ns: Annotated[float, Note("lock hand-over, test-and-set, unlock", S1)] = 285.3,
    search_ns: Annotated[float, Note("second search, under the lock", "assumed")] = 20.0,
    checksum_ns: Annotated[float, Note("checksums in the second section", "assumed")] = 0.0,
    start_regions: Annotated[float, Note("search starts in a group, by CPU", "1: upstream")] = 1.0,
    lock_groups: Annotated[float, Note("groups that directories are dealt to", "1: upstream")] = 1.0,
    second_section: Annotated[bool, Note("the descriptor's, same lock", "ialloc.c, 6.12")] = False,
    random_start: Annotated[bool, Note("a random region each time", "instead of the CPU's")] = False,
    search_locked: Annotated[bool, Note("search again under the lock", "the patch of S1")] = False,
) -> None:
    """Creators in one flex group: who waits for the bit, and who for the lock."""
    groups, regions = int(lock_groups), int(start_regions)
    group = m.queued_lock("group lock", hold=ns(hold_ns), shards=groups)
    bitmap = m.bitmap("inode bitmap", shards=regions)
    own = m.place("group", shards=groups)
    region = m.place("region", shards=regions)
    if second_section:  # it was part of `elsewhere`
        elsewhere_us -= (access_ns + hold_ns + checksum_ns) / 1000

    create = m.path("create")
    create.pick_own(own)
    create.spend(exponential(us(elsewhere_us)), "the rest of ext4_create")
    (create.pick_random if random_start else create.pick_cpu)(region)
    again = create.label("repeat_in_this_group")
    create.find_zero(bitmap, region)
    create.spend(ns(access_ns), "jbd2_journal_get_write_access")
    create.lock(group, own)
    create.claim(bitmap, region)
    if search_locked:
        with create.if_lost():
            create.spend(ns(search_ns), "find_inode_bit under the lock")
            create.find_zero(bitmap, region)
            create.claim(bitmap, region)
    create.unlock(group, own)
    if not search_locked:
        create.retry_if_lost(again)
    if second_section:
        create.spend(ns(access_ns), "jbd2_journal_get_write_access of the descriptor")
        create.lock(group, own)
        create.spend(ns(checksum_ns), "ext4_inode_bitmap_csum_set")
        create.unlock(group, own)
