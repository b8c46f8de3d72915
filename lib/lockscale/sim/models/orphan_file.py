# SPDX-License-Identifier: MIT
"""S4: stress-orphan, each truncate adds its inode to the orphans and deletes it (fs/ext4/orphan.c)."""

from typing import Annotated

from lockscale.errors import BadInput
from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model

TABLE = "calibrated: S4's stress-orphan times, "
ELSEWHERE = Note("mean of the rest of a truncate", "assumed: S4's amount of work is unpublished")
HANDLE_PASS = Note("hand-over between handles", TABLE + "off at 64 over off at 1")
ACCESS = Note("write access to the orphan block, dirtying it", TABLE + "lockless over off at 1")
HOLD = Note("locked: one section", TABLE + "locked less lockless at 1, over three sections")
MOVED = Note("locked: what a section touched on another CPU", TABLE + "locked over off at 64")
BLOCKS, PER_BLOCK = 32, 1022  # assumed: a small file; ext4_inodes_per_orphan_block(): (4096 - 8) / 4
OWN, LOOK, WAKE = ns(5), ns(1), us(5)  # assumed: own line, look at a slot, wake a sleeper


@model(
    unit="truncates/s",
    calibration="calibrated: 4 free parameters (journal_pass_ns, access_ns, hold_ns, moved_ns) from ratios "
    "of S4's stress-orphan times at 1 and 64 threads; their scale and mutex_list are assumed",
)
def orphan_file(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, ELSEWHERE] = 9.0,
    journal_ns: Annotated[float, Note("serial part of a journal handle", "assumed")] = 500.0,
    journal_pass_ns: Annotated[float, HANDLE_PASS] = 2870.0,
    access_ns: Annotated[float, ACCESS] = 520.0,
    hold_ns: Annotated[float, HOLD] = 23.0,
    moved_ns: Annotated[float, MOVED] = 3520.0,
    list_ns: Annotated[float, Note("mutex_list: an on-disk update", "assumed: S4 lacks it")] = 500.0,
    list_moved_ns: Annotated[float, Note("mutex_list: lines moved", "assumed: above moved_ns")] = 6000.0,
    line_ns: Annotated[float, Note("another CPU's line", "assumed: as David et al., SOSP 2013")] = 100.0,
    mutex_list: Annotated[bool, Note("the orphan list under a mutex", "before S4")] = False,
    locked: Annotated[bool, Note("the orphan file under a spin lock", "S4's patch 4")] = False,
    off: Annotated[bool, Note("no orphan handling, unsafe", "S4's third column")] = False,
) -> None:
    """Orphan list, locked orphan file, none, or (no switch) the lockless orphan file (S4).

    Not modelled: more threads than CPUs, NUMA, the buffer's lock, spinning for s_orphan_lock, a cache line
    for every four counts. The lockless handles come first, and both write accesses after its slot is taken.
    """
    if mutex_list + locked + off > 1:
        raise BadInput("orphan_file is given two of mutex_list, locked and off: turn on only one")
    journal = m.queued_lock("journal", hold=ns(journal_ns), handover=ns(journal_pass_ns))
    mutex = m.mutex("s_orphan_lock", hold=ns(list_ns), wake=WAKE)
    spin = m.queued_lock("of_lock", hold=ns(hold_ns))
    line = m.cache_line("its data", own=OWN, socket=ns(list_moved_ns if mutex_list else moved_ns))
    slots = m.slots("orphan slots", per_block=PER_BLOCK, shards=BLOCKS)
    count = m.cache_line("ob_free_entries", own=OWN, socket=ns(line_ns), shards=BLOCKS)
    block = m.place("block", shards=BLOCKS, stride=13)
    p = m.path("truncate")
    p.spend(exponential(us(elsewhere_us)), "the rest of ext4_setattr")
    # locked: an entry is counted, found, and after the second handle freed
    steps = [journal, mutex, journal, mutex] if mutex_list else [journal, journal]
    for lock in [journal, spin, spin, journal, spin] if locked else steps:
        p.lock(lock)
        if lock is not journal:
            p.atomic(line)
        p.unlock(lock)
    if locked:
        p.spend(ns(access_ns), "write access")
    elif not (mutex_list or off):
        p.pick_cpu(block)
        full = p.label("next block")
        p.atomic(count, block)
        p.reserve(slots, block)
        with p.if_lost():
            p.pick_next(block)
        p.retry_if_lost(full)
        taken = p.label("find slot")
        p.find_slot(slots, LOOK, block)
        p.take_slot(slots, block)
        p.retry_if_lost(taken)
        p.spend(ns(access_ns), "write access")
        p.free_slot(slots, block)
        p.atomic(count, block)
