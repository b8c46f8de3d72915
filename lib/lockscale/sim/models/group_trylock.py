# SPDX-License-Identifier: MIT
"""S3: fallocate2, block allocation from a group at a goal (fs/ext4/mballoc.c)."""

from typing import Annotated

from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model

TABLE = "calibrated: S3, "
ELSEWHERE = Note("mean of the rest of one fallocate", TABLE + "base at 1 container")
HOLD = Note("search and marking of an extent under the group's lock", "assumed")
MOVED = Note("bitmap and buddy come from another CPU", TABLE + "base at 64 containers")
PASS = Note("hand-over of s_md_lock with its data", "assumed: some lines from another CPU")
SERIAL = Note("hand-over in the remaining queue, assumed to be the journal", TABLE + "linear at 64")
HANDLE = Note("mean under a lock of the journal, at the handle's start and at its stop", "assumed: short")
SEARCH = Note("search of the shared lists of groups", TABLE + "mb_optimize_scan at 64")
FREE = Note("freeing a file's extents under its group's lock", "assumed: many extents at once")
TRY = Note("one spin_trylock, won or not", "assumed")
GROUPS = Note("block groups", "assumed: from 128, or trylock falls through to waiting")
APPENDS = 128  # will-it-scale fallocate2: 8 KiB steps to 1 MiB, then a truncate (S3)
HANDLE_LOCKS = ("jbd2__journal_start", "jbd2_journal_stop")  # j_state_lock and the transaction's counters
OWN, SECTION = ns(5), ns(20)  # assumed: the CPU's own line; a few loads and stores under a lock


@model(
    unit="fallocates/s",
    calibration="calibrated: 4 free parameters (elsewhere_us, moved_ns, serial_ns, search_ns) "
    "from S3: base at 1, and base, linear and mb_optimize_scan at 64 containers; S3's letter does not "
    "give trylock alone, for which group_goals has the better time of s_md_lock",
)
def group_trylock(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, ELSEWHERE] = 2.96,
    hold_ns: Annotated[float, HOLD] = 300.0,
    moved_ns: Annotated[float, MOVED] = 4030.0,
    pass_ns: Annotated[float, PASS] = 400.0,
    serial_ns: Annotated[float, SERIAL] = 650.0,
    handle_ns: Annotated[float, HANDLE] = 20.0,
    search_ns: Annotated[float, SEARCH] = 1500.0,
    free_us: Annotated[float, FREE] = 3.0,
    try_ns: Annotated[float, TRY] = 50.0,
    block_groups: Annotated[int, GROUPS] = 128,
    trylock: Annotated[bool, Note("skip busy groups", "S3's patch 1")] = False,
    per_inode_goal: Annotated[bool, Note("own goal, no s_md_lock", "S3's patch 2")] = False,
    scan: Annotated[bool, Note("search shared lists of groups", "mb_optimize_scan=1")] = False,
) -> None:
    """All allocate at one goal; trylock skips busy groups; an own goal needs no s_md_lock (S3).

    Not modelled: full groups, s_lock_busy, NUMA, the lists' updates. A file's last group stands for all of
    its. The goal is written once the group is unlocked, where ext4_mb_use_best_found() still holds its lock.
    """
    group = m.queued_lock("group lock", hold=ns(hold_ns), shards=block_groups)
    buddy = m.cache_line("bitmap and buddy", own=OWN, socket=ns(moved_ns), shards=block_groups)
    md = m.queued_lock("s_md_lock", hold=SECTION, handover=ns(pass_ns))
    lists = m.cache_line("lists of groups, locked", own=OWN, socket=ns(search_ns))
    journal = m.queued_lock("journal", hold=SECTION, handover=ns(serial_ns))
    start, stop = (m.queued_lock(name, hold=exponential(ns(handle_ns))) for name in HANDLE_LOCKS)
    last, goal = m.variable("s_mb_last_group"), m.place("goal", shards=block_groups)
    p = m.path("fallocate")
    p.spend(exponential(us(elsewhere_us)), "the rest of ext4_fallocate")
    for lock in [start, journal] if per_inode_goal else [start, journal, md]:
        p.lock(lock)
        p.unlock(lock)
    if not per_inode_goal:
        p.load(goal, last)
    if scan:
        p.atomic(lists)  # FIFO, as its lock
    with p.sometimes(0):  # only a busy group leads here
        busy = p.label("next group")
        p.pick_next(goal)
    p.spend(ns(try_ns), "ext4_try_lock_group")
    p.trylock(group, busy, goal) if trylock else p.lock(group, goal)
    p.atomic(buddy, goal)
    with p.sometimes(1 / APPENDS):  # a truncate frees in the group where the file lies
        p.spend(us(free_us), "ext4_free_blocks")
    p.unlock(group, goal)
    if not per_inode_goal:
        p.lock(md)
        p.store(goal, last)
        p.unlock(md)
    p.lock(stop)
    p.unlock(stop)
