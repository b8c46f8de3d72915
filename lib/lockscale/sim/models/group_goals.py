# SPDX-License-Identifier: MIT
"""fallocate2 with the goals of each arm: ext4_mb_regular_allocator(), 6.12 (fs/ext4/mballoc.c)."""

import random
from bisect import bisect_left
from typing import Annotated, Any, NamedTuple

from lockscale.errors import BadInput
from lockscale.sim.builder import Builder
from lockscale.sim.delays import exponential, ns, us
from lockscale.sim.model import Note, model
from lockscale.sim.path import Path
from lockscale.sim.primitives import Line, Lock, ShardChoice, Variable, whole_number
from lockscale.sim.steps import MAX_SHARDS

FLEX, INODES = 16, 8192  # mke2fs: groups of a flex group, inodes of a group of 128 MiB
NR_BG_LOCKS = 128  # include/linux/blockgroup_lock.h, 32 CPUs or more
A_LINE = 16  # goals of 4 bytes in a cache line
CRITERIA = 4  # searches that skip busy groups, before the one of CR_ANY_FREE waits
SLICE = 350  # allocations of one writer before another of its CPU runs: 3 ms, assumed
APPENDS = 128  # will-it-scale fallocate2: 8 KiB steps to 1 MiB, then a truncate (S3)
OWN, SECTION = ns(5), ns(20)  # assumed: the CPU's own line; a few loads and stores under a lock

TABLE = "calibrated: S3, "
P80 = "calibrated: 80 containers, Linux commit "
ELSEWHERE = Note("mean of the rest of one fallocate", TABLE + "base at 1 container")
OTHERS = Note("more of it where others allocate too: lines moved", TABLE + "linear at 2 and 4")
HOLD = Note("search and marking, half under each hold of the group's lock", "assumed")
MOVED = Note("buddy and bitmap from another CPU, half each", TABLE + "base at 64 containers")
SERIAL = Note("data of the remaining queue, assumed to be the journal", TABLE + "linear at 64")
PASS = Note("hand-over of s_md_lock with its data", P80 + "e9eec6f33971, patched")
GOAL = Note("a goal that another CPU moved; effective", P80 + "8f2c3b74865c, base")
LINE = Note("line of 16 goals from another CPU", "assumed: as David et al., SOSP 2013")
TRY = Note("one look at a group, taken or busy", "assumed")
ACCESS = Note("two jbd2_journal_get_write_access()", "assumed: 250 ns each, as in inode_claim")
FREE = Note("freeing a file's extents under its group's lock", "assumed: many extents at once")
EXTENTS = Note("holds of its group's lock in which a truncate frees a file", "1: with an allocation's")
GROUPS = Note("block groups", "assumed")
FILL = Note("allocations until a group is full, mean", "128 MiB in 8 KiB; taken as memoryless")
WRITERS = Note("writers that take turns on each CPU", "1: as containers bound to CPUs")
DRAW = Note("which arbitrary inode numbers", "a seed")
ARBITRARY = Note("files with arbitrary numbers", "else of one directory, one after the other")
FLEX_GROUPS = Note("files of directories in turn in each flex group", "ialloc.c: Orlov, at the root")


class Goals(NamedTuple):
    """Where searches start: the group at each goal, and which goal is each writer's."""

    start: list[int]
    of_writer: list[int]


def file_numbers(writers: int, groups: int, arbitrary: bool, flex_groups: bool, draw: int) -> list[int]:
    """The writers' inode numbers; the first of the file system's own is 12."""
    if arbitrary:
        return random.Random(draw).sample(range(12, groups * INODES), writers)
    if flex_groups:
        many = max(1, groups // FLEX)
        return [12 + w % many * FLEX * INODES + w // many for w in range(writers)]
    return [12 + w for w in range(writers)]


def inode_goals(numbers: list[int]) -> Goals:
    """One for each file, at first in group 1 of its inode's flex group (ext4_inode_to_goal_block())."""
    return Goals([ino // (FLEX * INODES) * FLEX + 1 for ino in numbers], list(range(len(numbers))))


def multi_goals(numbers: list[int], cpus: int, groups: int) -> Goals:
    """Upstream since 6.17: inode number modulo min(CPUs, groups / 4) goals, all at group 0."""
    many = min(cpus, -(-groups // 4))
    return Goals([0] * many, [ino % many for ino in numbers])


def folded_goals(numbers: list[int], cpus: int, groups: int) -> Goals:
    """The flex group added to the number before the modulo; as upstream's in all else."""
    return multi_goals([ino + (ino - 1) // (FLEX * INODES) for ino in numbers], cpus, groups)


def started_apart(goals: Goals, groups: int) -> Goals:
    """The same goals, started by an odd distance apart (ext4_mb_start_goals_apart())."""
    apart = (groups // len(goals.start) - 1) | 1
    return goals._replace(start=[slot * apart for slot in range(len(goals.start))])


def spread_goals(writers: int, cpus: int, groups: int) -> Goals:
    """Ours: one for each CPU, by an odd distance apart (ext4_mb_first_stream_goal())."""
    starts = min(cpus, max(groups // 4, 1))
    apart = (groups // starts - 1) | 1
    return Goals([c % starts * apart for c in range(cpus)], [w % cpus for w in range(writers)])


class SharedState(NamedTuple):
    """What the writers share, and the places at which one of them is."""

    lock: Lock
    md: Lock
    buddy: Line
    bitmap: Line
    moved_goal: Line
    line: Line
    goal_of: Variable
    last_group: Variable
    line_of: Variable
    lock_of: Variable
    next_writer: Variable
    writer: ShardChoice
    goal: ShardChoice
    at_line: ShardChoice
    at_lock: ShardChoice
    wanted: ShardChoice
    group: ShardChoice


@model(
    unit="fallocates/s",
    calibration="calibrated: 6 free parameters (elsewhere_us, others_us, moved_ns, serial_ns, pass_ns, "
    "goal_ns) from S3's base at 1 and 64 and linear at 2, 4 and 64 containers, and upstream's one goal with "
    "and without s_md_lock at 80; no figure of an arm with several shared goals is used",
)
def group_goals(
    m: Builder,
    *,
    elsewhere_us: Annotated[float, ELSEWHERE] = 2.443,
    others_us: Annotated[float, OTHERS] = 4.35,
    hold_ns: Annotated[float, HOLD] = 300.0,
    moved_ns: Annotated[float, MOVED] = 4005.0,
    serial_ns: Annotated[float, SERIAL] = 671.0,
    pass_ns: Annotated[float, PASS] = 1277.0,
    goal_ns: Annotated[float, GOAL] = 1297.0,
    line_ns: Annotated[float, LINE] = 100.0,
    try_ns: Annotated[float, TRY] = 50.0,
    access_ns: Annotated[float, ACCESS] = 500.0,
    free_us: Annotated[float, FREE] = 3.0,
    file_extents: Annotated[float, EXTENTS] = 1.0,
    block_groups: Annotated[int, GROUPS] = 1024,
    full_allocations: Annotated[float, FILL] = 16384.0,
    writers_a_cpu: Annotated[int, WRITERS] = 1,
    draw_number: Annotated[int, DRAW] = 1,
    arbitrary: Annotated[bool, ARBITRARY] = False,
    flex_groups: Annotated[bool, FLEX_GROUPS] = False,
    trylock: Annotated[bool, Note("skip busy groups; one goal under s_md_lock", "6.12")] = False,
    unlocked_goal: Annotated[bool, Note("the same without s_md_lock", "6.17, one step before")] = False,
    inode_goal: Annotated[bool, Note("a goal each inode", "S3's patch 2")] = False,
    multi_goal: Annotated[bool, Note("inodes hashed over goals", "6.17")] = False,
    goal_spread: Annotated[bool, Note("a goal each CPU, starts apart", "ours")] = False,
    fold: Annotated[bool, Note("of multi_goal: hash in the flex group", "ours")] = False,
    apart: Annotated[bool, Note("of multi_goal: starts apart, a search moves", "ours")] = False,
    cpu_goals: Annotated[bool, Note("of multi_goal: CPU modulo goals", "ours")] = False,
) -> None:
    """Which writers meet at a goal, and what it costs; no switch: one goal, all wait for its group.

    Not modelled: files below 64 KiB, freed blocks that wait for a commit, writers that change CPUs,
    s_lock_busy, NUMA. A file's last group stands for all of its. The first group of a flex group is
    passed over.
    """
    if trylock + unlocked_goal + inode_goal + multi_goal + goal_spread > 1:
        raise BadInput("group_goals is given two arms: turn on only one switch")
    if (fold or apart or cpu_goals) and not multi_goal:
        raise BadInput("fold, apart and cpu_goals of group_goals change multi_goal: turn that switch on too")
    groups, cpus = whole_number("block_groups", block_groups, 2, MAX_SHARDS), m.threads
    writers = whole_number("threads times writers_a_cpu", cpus * writers_a_cpu, 1, MAX_SHARDS)
    numbers = file_numbers(writers, groups, arbitrary, flex_groups, draw_number)
    if writers > cpus:  # which of them share a CPU is up to the scheduler
        random.Random(draw_number).shuffle(numbers)
    goals = Goals([0], [0] * writers)
    if inode_goal:
        goals = inode_goals(numbers)
    elif multi_goal:
        chosen = [12 + w % cpus for w in range(writers)] if cpu_goals else numbers
        goals = (folded_goals if fold and not cpu_goals else multi_goals)(chosen, cpus, groups)
        goals = started_apart(goals, groups) if apart else goals
    elif goal_spread:
        goals = spread_goals(writers, cpus, groups)
    s = shared(m, goals, groups, A_LINE if multi_goal else 1, (hold_ns, moved_ns, pass_ns, goal_ns, line_ns))
    journal = m.cache_line("journal", own=SECTION, socket=ns(serial_ns))

    p = m.path("fallocate")
    p.spend(exponential(us(elsewhere_us + others_us * (m.threads > 1))), "the rest of ext4_fallocate")
    p.atomic(journal)  # FIFO, as its lock
    if writers > cpus:
        with p.sometimes(1 / SLICE):
            p.load(s.writer, s.next_writer, s.writer)
    p.load(s.goal, s.goal_of, s.writer)
    p.load(s.at_line, s.line_of, s.goal)
    one_locked = not (unlocked_goal or inode_goal or multi_goal or goal_spread)
    read_goal(p, s, one_locked)
    with p.sometimes(1 / max(1.0, full_allocations)):
        p.pick_next(s.group)
    search(p, s, try_ns, wait=one_locked and not trylock)
    moves_alone = inode_goal or goal_spread or apart  # of a search that moved on
    if not moves_alone:  # ext4_mb_use_best_found(): the group is locked
        write_goal(p, s, one_locked)
    p.unlock(s.lock, s.at_lock)
    with p.if_differs(s.group, s.wanted):
        p.spend(ns(0), "ext4_mb_goal_miss")
        if moves_alone:
            write_goal(p, s, one_locked)
    p.spend(ns(access_ns), "jbd2_journal_get_write_access of bitmap and descriptor")
    p.lock(s.lock, s.at_lock)  # ext4_mb_mark_context()
    p.atomic(s.bitmap, s.group)
    freed = min(max(1.0, file_extents), float(APPENDS))
    if freed == 1:
        with p.sometimes(1 / APPENDS):  # a truncate frees in the group where the file lies
            p.spend(us(free_us), "ext4_free_blocks")
    p.unlock(s.lock, s.at_lock)
    if freed > 1:  # extents that lie between others' are freed one by one, two holds or three for each in the
        # kernel: ext4_mb_mark_context(), ext4_mb_free_metadata(), and after the commit; spread over the
        # allocations here
        with p.sometimes(freed / APPENDS):
            p.lock(s.lock, s.at_lock)
            p.spend(us(free_us / freed), "ext4_free_blocks")
            p.unlock(s.lock, s.at_lock)


def shared(m: Builder, goals: Goals, groups: int, a_line: int, costs_ns: tuple[float, ...]) -> SharedState:
    """The primitives. A shard of a group's is one that ext4_mb_good_group() takes for two blocks."""
    usable = [g for g in range(groups) if g % FLEX]  # CR_POWER2_ALIGNED, first tried, leaves these out
    many, lines = len(goals.start), -(-len(goals.start) // a_line)
    writers = len(goals.of_writer)
    hold_ns, moved_ns, pass_ns, goal_ns, line_ns = costs_ns
    half: dict[str, Any] = {"own": OWN, "socket": ns(moved_ns / 2), "shards": len(usable)}
    first = [bisect_left(usable, g) % len(usable) for g in goals.start]
    return SharedState(
        lock=m.queued_lock("group lock", hold=ns(hold_ns / 2), shards=NR_BG_LOCKS),
        md=m.queued_lock("s_md_lock", hold=SECTION, handover=ns(pass_ns)),
        buddy=m.cache_line("buddy", **half),
        bitmap=m.cache_line("block bitmap", **half),
        moved_goal=m.cache_line("goal", own=OWN, socket=ns(goal_ns), shards=many),
        line=m.cache_line("line of goals", own=OWN, socket=ns(line_ns), shards=lines),
        goal_of=m.variable("goal of the file", start=goals.of_writer),
        last_group=m.variable("s_mb_last_group", start=first),
        line_of=m.variable("line of the goal", start=[g // a_line for g in range(many)]),
        lock_of=m.variable("bgl_lock_ptr", start=[g % NR_BG_LOCKS for g in usable]),
        next_writer=m.variable("next", start=[(w + m.threads) % writers for w in range(writers)]),
        writer=m.place("writer", shards=writers),
        goal=m.place("goal", shards=many),
        at_line=m.place("line", shards=lines),
        at_lock=m.place("lock", shards=NR_BG_LOCKS),
        wanted=m.place("goal's group", shards=len(usable)),
        group=m.place("group", shards=len(usable)),
    )


def read_goal(p: Path, s: SharedState, locked: bool) -> None:
    """The group from which to search."""
    if locked:
        p.lock(s.md)
        p.unlock(s.md)
    else:
        p.read(s.moved_goal, s.goal)
        p.read(s.line, s.at_line)
    p.load(s.wanted, s.last_group, s.goal)
    p.load(s.group, s.last_group, s.goal)


def search(p: Path, s: SharedState, try_ns: float, *, wait: bool) -> None:
    """ext4_mb_scan_groups_linear() and ext4_mb_scan_group(), up to the group that is locked."""
    with p.sometimes(0):  # only a busy group leads here
        busy = p.label("next group")
        p.pick_next(s.group)
    p.load(s.at_lock, s.lock_of, s.group)
    p.spend(ns(try_ns), "ext4_mb_scan_group")
    if wait:
        p.lock(s.lock, s.at_lock)
    else:
        p.trylock(s.lock, busy, s.at_lock, tries=CRITERIA * s.group.shards)
    p.atomic(s.buddy, s.group)


def write_goal(p: Path, s: SharedState, locked: bool) -> None:
    """The next search starts where this one found blocks."""
    if locked:
        p.lock(s.md)
        p.store(s.group, s.last_group, s.goal)
        p.unlock(s.md)
    else:
        p.atomic(s.moved_goal, s.goal)
        p.atomic(s.line, s.at_line)
        p.store(s.group, s.last_group, s.goal)
