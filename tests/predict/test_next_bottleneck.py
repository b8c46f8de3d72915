# SPDX-License-Identifier: MIT
"""Which wait limits the rate once a patch is there: all of one lock together, if it is another lock."""

from dataclasses import replace

import pytest
from known_locks import learned

from lockscale.predict.lock_answer import ask_lock
from lockscale.predict.lock_data import UnpatchedData
from lockscale.predict.lock_text import letter, lock_text
from lockscale.tools.lock_profile import LOCK_WAITS, SAMPLES, LockProfile
from lockscale.tools.profile_entry import Entry
from lockscale.tools.registry import profile_of


def rows(**waited_s: tuple[str, ...]) -> LockProfile:
    """Timed waits: who waits -> kind and seconds, each pair a row."""
    entries = [
        Entry(name, n, None, kind, wait_ns=1e9 * float(s))
        for n, (name, told) in enumerate(waited_s.items(), 1)
        for kind, s in zip(told[::2], told[1::2], strict=True)
    ]
    return LockProfile("perf_lock", LOCK_WAITS, tuple(entries))


def test_readers_and_writers_of_one_lock_are_one_next_bottleneck() -> None:
    """Each of two locks has 20 of 80 thread-seconds: whichever is patched, the other limits alike."""
    seen = rows(foo_lock_a=("mutex", "20"), ext4_map_blocks=("rwsem:R", "10", "rwsem:W", "10"))
    of_two = UnpatchedData({}, seen, 8, 10.0)
    patches = ["lockless foo_lock_a", "lockless ext4_map_blocks"]
    one, other = (ask_lock(of_two, [patch], [], learned()) for patch in patches)
    assert one.next_limit and other.next_limit
    assert one.next_limit.wait_pct == other.next_limit.wait_pct == pytest.approx(25)
    assert one.next_limit.gain_ends_at == pytest.approx(other.next_limit.gain_ends_at)
    assert (one.candidates[0].value, one.candidates[0].high) == pytest.approx(
        (other.candidates[0].value, other.candidates[0].high)
    )


def test_more_waiting_than_one_lock_has_room_for_is_for_two() -> None:
    """Of two threads one holds the lock: 45% and 18% of their time cannot both be for it."""
    both = rows(__ext4_new_inode=("spin", "9"), d_alloc_parallel=("spin", "3.6"))
    two, many = (
        ask_lock(UnpatchedData({}, both, n, 20.0 / n), ["lockless __ext4_new_inode"], [], learned())
        for n in (2, 64)
    )
    assert two.next_limit and two.next_limit.is_another_lock
    assert many.next_limit and not many.next_limit.is_another_lock


@pytest.mark.parametrize(("of_locks", "is_another"), [(True, True), (False, False)])
def test_two_locks_with_names_of_their_own_are_two(of_locks: bool, is_another: bool) -> None:
    """Of a table by address or by lock; two functions may take one and the same."""
    seen = replace(rows(inode_hash_lock=("spin", "20"), s_lock=("spin", "10")), of_locks=of_locks)
    found = ask_lock(UnpatchedData({}, seen, 8, 10.0), ["lockless inode_hash_lock"], [], learned())
    assert found.next_limit and found.next_limit.is_another_lock is is_another


SLOWPATH = "native_queued_spin_lock_slowpath"


def spinning() -> LockProfile:
    """A row of perf report with a branch for each of its two callers."""
    branches = [
        Entry(SLOWPATH, line, ("_raw_spin_lock", who, "do_syscall_64"), "spin", None, "self", pct)
        for line, (who, pct) in enumerate((("inode_sb_list_add", 40.0), ("inode_sb_list_del", 22.0)), 2)
    ]
    row = Entry(SLOWPATH, 1, None, "spin", None, "self", 62.0)
    return LockProfile("perf_report", SAMPLES, (row, *branches, Entry("work", 9, counts="self", share_pct=9)))


@pytest.mark.parametrize("name", [SLOWPATH, "_raw_spin_lock"])
def test_where_every_lock_of_a_kind_waits_no_caller_is_another_lock(name: str) -> None:
    found = ask_lock(UnpatchedData({}, spinning(), 32), [f"lockless {name}"], [], learned())
    assert found.next_limit is None


def test_several_changes_of_one_lock_wait_for_it_once() -> None:
    """What waits for the other lock is no more of the time than for the first change alone."""
    measured = UnpatchedData({}, rows(add=("spin", "98"), del_=("spin", "52")), 16, 10.0)
    one, two = (
        ask_lock(measured, [patch], [], learned())
        for patch in ("split add 4", "split add 4 + shrink add 50%")
    )
    assert one.next_limit == two.next_limit and one.next_limit and not one.next_limit.is_another_lock
    assert one.candidates[0].value <= two.candidates[0].value


def test_a_third_wait_that_is_another_lock_limits_where_the_second_may_be_the_same() -> None:
    """A mutex that is held most of the time, below two waits for spin locks."""
    without = rows(add=("spin", "40"), del_=("spin", "30"))
    with_it = rows(add=("spin", "40"), del_=("spin", "30"), unlink=("mutex", "10"))
    free, bound = (
        ask_lock(UnpatchedData({}, seen, 16, 10.0), ["lockless add"], [], learned())
        for seen in (without, with_it)
    )
    assert free.next_limit and bound.next_limit and free.next_limit.name == bound.next_limit.name == "del_"
    alone = ask_lock(
        UnpatchedData({}, with_it, 16, 10.0), ["lockless add + lockless del_"], [], learned()
    ).next_limit
    assert alone and alone.name == "unlink"
    assert bound.candidates[0].value < alone.gain_ends_at < free.candidates[0].high


def test_a_share_of_one_lock_tells_how_much_the_others_have() -> None:
    """98 and 52 s of an unknown time: if the first are 61% of it, the second are 32%."""
    seen = rows(add=("spin", "98"), del_=("spin", "52"))
    by_share = UnpatchedData({}, seen, 16, None, wait_share=98 / 160)
    by_time = UnpatchedData({}, seen, 16, 10.0)
    one, other = (ask_lock(measured, ["lockless add"], [], learned()) for measured in (by_share, by_time))
    assert one.next_limit and other.next_limit
    assert one.next_limit.wait_pct == pytest.approx(other.next_limit.wait_pct)
    assert one.candidates[0].worth == other.candidates[0].worth == "not known"


def test_spinning_without_a_caller_may_be_for_another_lock() -> None:
    """62% spin and 40% of them have a caller: whether 22% wait for that lock too is not known."""
    seen = spinning()
    part = replace(seen, entries=tuple(one for one in seen.entries if "inode_sb_list_del" not in one.path))
    found = ask_lock(UnpatchedData({}, part, 32), ["lockless inode_sb_list_add"], [], learned())
    assert "22% of the time waits for locks whose callers are not in the profile" in found.candidates[0].open
    whole = ask_lock(
        UnpatchedData({}, seen, 32),
        ["lockless inode_sb_list_add + lockless inode_sb_list_del"],
        [],
        learned(),
    )
    assert whole.candidates[0].worth == "yes"


def test_the_lock_inside_of_a_rwsem_is_no_other_lock() -> None:
    """perf report: who gives the rwsem back spins for its wait_lock, and does so less without the rwsem."""
    wait = ("rwsem_down_write_slowpath", "down_write", "xfs_ilock")
    wake = ("_raw_spin_lock_irqsave", "rwsem_wake", "up_write", "xfs_iunlock")
    text = "# Samples: 10K of event 'cycles'\n# Overhead  Command  Shared Object  Symbol\n"
    for pct, name, callers in ((38.0, "osq_lock", wait), (6.0, SLOWPATH, wake)):
        text += f"    {pct:.2f}%  fio  [kernel]  [k] {name}\n            |\n            ---{name}\n"
        text += "".join(f"               {caller}\n" for caller in callers) + "\n"
    found = ask_lock(UnpatchedData({}, profile_of(text), 32), ["lockless xfs_ilock"], [], learned())
    assert found.next_limit and found.next_limit.name == "xfs_iunlock"
    assert not found.next_limit.is_another_lock


def test_a_robots_flat_row_of_the_slowpath_has_the_waits_of_all_its_callers() -> None:
    """Its call traces begin at _raw_spin_lock, above the slowpath."""
    trace = Entry("_raw_spin_lock", 1, ("inode_sb_list_add", "new_inode"), "spin", None, "children", 58.3)
    row = Entry(SLOWPATH, 2, None, "spin", None, "children", 64.5)
    seen = LockProfile("robot_mail", SAMPLES, (trace, row))
    found = ask_lock(UnpatchedData({}, seen, 224), [f"lockless {SLOWPATH}"], [], learned())
    assert found.next_limit is None and found.candidates[0].value > 2


def test_of_two_threads_the_other_holds_what_one_waits_for() -> None:
    """49% of two threads' time for b_lock: it is held nearly always, so no other patch gains anything."""
    measured = UnpatchedData({}, rows(b_lock=("mutex", "9.8"), a_lock=("rwsem:W", "1")), 2, 10.0)
    found = ask_lock(measured, ["lockless a_lock"], [], learned())
    assert found.next_limit and found.next_limit.gain_ends_at < 1.02
    assert found.candidates[0].worth == "no"


def of_two_files() -> UnpatchedData:
    """offcputime: eight threads, half of whose time waits for a file's rwsem and 3/8 for one mutex."""
    head = "Tracing off-CPU time (us) of all threads by user + kernel stack for 10 secs.\n"
    asleep = ("finish_task_switch", "__schedule", "schedule", "schedule_preempt_disabled")
    file = ("rwsem_down_write_slowpath", "down_write", "ext4_buffered_write_iter", "vfs_write")
    mutex = ("__mutex_lock", "mutex_lock", "ext4_orphan_add", "ext4_truncate")
    text = head + "".join(
        "\n" + "".join(f"    {name}\n" for name in (*asleep, *stack, "do_syscall_64"))
        + f"    --\n    work\n    -                worker (4096)\n        {us}\n"
        for stack, us in ((file, 40_000_000), (mutex, 30_000_000))
    )  # fmt: skip
    return UnpatchedData({}, profile_of(text), 8)


def test_a_next_limit_that_may_be_several_locks_is_no_plain_no() -> None:
    """As one lock it would be held 99% of the time; as one for each file it may limit nothing."""
    found = ask_lock(of_two_files(), ["lockless ext4_orphan_add"], [], learned())
    best = found.candidates[0]
    assert best.chance < 0.5 and best.worth == "not known"
    assert best.open == "ext4_buffered_write_iter may be one lock or several"
    assert best.if_several and best.if_several.value > 1.5 > best.value
    said, told = lock_text(found), " ".join(letter(found).split())
    assert "does not say whether that is one lock or several" in said
    assert "If it is several, each is held for a part of that time and may limit nothing" in said
    assert f"then gains {best.if_several.value:.2f}" in said
    assert f"if it is several, {best.if_several.value:.2f} times are expected" in told


def test_the_gain_if_several_is_that_of_a_profile_without_them() -> None:
    """What may limit nothing limits nothing in that case: the other wait might as well not be there."""
    measured = of_two_files()
    found = ask_lock(measured, ["lockless ext4_orphan_add"], [], learned()).candidates[0].if_several
    seen = measured.profile
    assert seen and found
    alone = replace(seen, entries=tuple(one for one in seen.entries if "ext4_orphan_add" in one.path))
    other = ask_lock(
        replace(measured, profile=alone), ["lockless ext4_orphan_add"], [], learned()
    ).candidates[0]
    assert (found.low, found.value, found.high) == pytest.approx((other.low, other.value, other.high))
    assert found.chance == pytest.approx(other.chance) and other.if_several is None


def test_a_patch_that_gains_nothing_either_way_is_still_a_plain_no() -> None:
    seen = rows(files=("rwsem:W", "40"), rare_lock=("mutex", "0.4"))
    found = ask_lock(UnpatchedData({}, seen, 8, 10.0), ["lockless rare_lock"], [], learned()).candidates[0]
    assert found.worth == "no" and found.open == "" and found.if_several


CLASSES = {
    "inode_hash_lock": False, "&ei->i_data_sem": True, "sb_writers#3": True, "&futex_queues[i].lock": True,
    "rename_lock/1": False,
}  # fmt: skip


@pytest.mark.parametrize(("name", "may_be_several"), CLASSES.items())
def test_a_class_of_locks_may_be_several_and_a_lock_by_its_own_name_is_one(name: str, may_be_several: bool):
    """lockdep has one class for the locks of all inodes, of which each has its own."""
    seen = replace(rows(ours=("mutex", "30"), **{name: ("mutex", "40")}), of_locks=True)
    found = ask_lock(UnpatchedData({}, seen, 8, 10.0), ["lockless ours"], [], learned()).candidates[0]
    assert found.next_limit and found.next_limit.may_be_several is may_be_several
    assert (found.worth, bool(found.if_several)) == (("not known", True) if may_be_several else ("no", False))


def test_a_lock_behind_several_still_limits() -> None:
    """A lock by its own name is one, and limits whatever the class before it is."""
    seen = replace(
        rows(ours=("mutex", "20"), **{"&ei->lock": ("mutex", "25")}, the_lock=("mutex", "20")), of_locks=True
    )
    bound = ask_lock(UnpatchedData({}, seen, 8, 10.0), ["lockless ours"], [], learned()).candidates[0]
    without = replace(seen, entries=tuple(one for one in seen.entries if one.name != "the_lock"))
    free = ask_lock(UnpatchedData({}, without, 8, 10.0), ["lockless ours"], [], learned()).candidates[0]
    assert bound.if_several and free.if_several and bound.value == pytest.approx(free.value)
    assert bound.if_several.value < free.if_several.value
