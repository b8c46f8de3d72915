# SPDX-License-Identifier: MIT
"""S4: reaim's creat_clo on a ramdisk before and after the lockless orphan file (fs/ext4/orphan.c)."""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model

TABLE = "calibrated: S4's creat_clo, "
ELSEWHERE = Note("mean of the rest of one operation", TABLE + "Patched at 1 client")
JOURNAL = Note("mean of what one operation holds of the journal", "assumed: part of the time of 1 client")
JOURNAL_PASS = Note("hand-over of the journal", TABLE + "mean of Patched at 15 to 31 clients")
HOLD = Note("mean of a list update under s_orphan_lock", "assumed: a block and two inodes are dirtied")
MOVED = Note("what the list touched on another CPU", TABLE + "by hand, Vanilla at 9 and 15 clients")
PER_WAITER = Note("more of it for each that still waits", TABLE + "Vanilla at 31 clients")
ACCESS = Note("lock-free add and delete of an orphan", "assumed: two write accesses to its block")
PATCHED = Note("the lockless orphan file in place of the list", "S4's patches")


@model(
    unit="ops/s",
    calibration="calibrated: 4 free parameters (elsewhere_us, journal_pass_us, per_waiter_ns, moved_ns) "
    "from S4's creat_clo: Patched at 1 and at 15 to 31 clients, Vanilla at 31, by hand at 9 and 15",
)
def creat_clo(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, ELSEWHERE] = 64.17,
    journal_us: Annotated[float, JOURNAL] = 5.0,
    journal_pass_us: Annotated[float, JOURNAL_PASS] = 10.3,
    hold_ns: Annotated[float, HOLD] = 250.0,
    moved_ns: Annotated[float, MOVED] = 5000.0,
    per_waiter_ns: Annotated[float, PER_WAITER] = 1055.0,
    access_ns: Annotated[float, ACCESS] = 500.0,
    patched: Annotated[bool, PATCHED] = False,
) -> None:
    """One lock whose hand-over grows with its waiters; without it the next queue, the journal (S4).

    ``s_orphan_lock`` is a mutex; its spinners and sleepers are lumped into the growing hand-over.
    Not modelled: sleeping, NUMA, the lock of the directory.
    """
    p = m.path("create and close")
    p.spend(exponential(us(elsewhere_us)), "the rest of the operation")
    if patched:
        p.spend(ns(access_ns), "ext4_orphan_file_add and _del")
    else:
        orphans = m.ticket_lock("s_orphan_lock", hold=exponential(ns(hold_ns)), per_waiter=ns(per_waiter_ns))
        line = m.cache_line("orphan list", own=ns(5), socket=ns(moved_ns))
        for _ in ("ext4_orphan_add", "ext4_orphan_del"):
            p.lock(orphans)
            p.atomic(line)
            p.unlock(orphans)
    journal = m.queued_lock("journal", hold=exponential(us(journal_us)), handover=us(journal_pass_us))
    p.lock(journal)
    p.unlock(journal)
