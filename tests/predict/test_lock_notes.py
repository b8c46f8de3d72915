# SPDX-License-Identifier: MIT
"""What is told with the answer about a patch of a lock: its warnings, notes, next bottleneck and letter."""

import re
from dataclasses import replace

import pytest
from known_locks import learned, profile, stack, stacks, timed

from lockscale.errors import BadInput
from lockscale.predict.lock_answer import ask_lock
from lockscale.predict.lock_data import UnpatchedData
from lockscale.predict.lock_text import letter, lock_text
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.profile_entry import Entry
from lockscale.tools.registry import profiles_of


def flow(text: str) -> str:
    """Without its line breaks."""
    return " ".join(text.split())


def test_a_row_that_is_left_out_is_a_warning_above_the_notes() -> None:
    slow = Entry("queued_spin_lock_slowpath", 1, ("a_lock",), "spin", None, "self", 40.0)
    seen = replace(profile(slow), warnings=("line 3 is left out",))
    said = lock_text(ask_lock(UnpatchedData({}, seen), ["lockless a_lock"], [], learned())).splitlines()
    assert said[1] == "warning: line 3 is left out" and said[2].startswith("note: 64 threads are assumed")


def test_a_next_lock_that_limits_nothing_is_said_to() -> None:
    waits = [("a_lock", 1e9), ("b_lock", 0.9e9)]
    entries = tuple(Entry(name, n, None, "spin", wait_ns=ns) for n, (name, ns) in enumerate(waits))
    seen = LockProfile("perf_lock", "lock waits", entries)
    said = lock_text(ask_lock(UnpatchedData({}, seen, 64, 10.0), ["lockless a_lock"], [], learned()))
    assert "too little to limit any of these gains" in said and "would alone limit" not in said


def test_a_promise_at_its_limit_and_a_lock_without_waiters_say_so() -> None:
    every, nobody = (lock_text(ask_lock(UnpatchedData(threads=64, wait_share=w), [], [])) for w in (0.98, 0))
    assert "33.33+: a share of 97% or more counts as 97%" in every and "Hardly anybody" not in every
    assert "hardly anybody waits here" in nobody and "33.33" not in nobody
    assert "look for one that is waited for" in nobody and "look for one" not in every


def test_a_promise_is_no_more_than_one_thread_for_each() -> None:
    """Sixteen threads that each did what one does would be four times as fast; the waits alone say ten."""
    measured = UnpatchedData({1: 100.0, 16: 400.0}, wait_share=0.9)
    found = ask_lock(measured, ["lockless a_lock"], [], learned())
    assert found.candidates[0].promise == pytest.approx(4.0)
    assert "it would be 4.00 times as fast" in flow(letter(found))


def test_a_share_that_is_not_the_profiles_is_told() -> None:
    wait = Entry("a_lock", 1, None, "mutex", wait_ns=41.2e9)
    seen = LockProfile("perf_lock", "lock waits", (wait,))
    far, near = (ask_lock(UnpatchedData({}, seen, 16, 5.0, share), [], [], learned()) for share in (0.2, 0.5))
    assert "the profile has 52% of the time waiting at a_lock; --share 20% is taken instead" in far.notes
    assert not any("taken instead" in one for one in near.notes)


def test_an_address_without_a_symbol_is_not_said_to_be_no_lock() -> None:
    slept = [("0xffffffffc0321abc", None, 94.0), ("mutex_lock", "mutex", 6.0)]
    entries = tuple(
        Entry(name, n, ("a_caller",), kind, "app", "self", pct, wait_ns=pct * 1e9)
        for n, (name, kind, pct) in enumerate(slept, 1)
    )
    seen = LockProfile("stack_counts", "off-CPU time", entries, disjoint=True, seconds=10)
    (said,) = [one for one in ask_lock(UnpatchedData({}, seen, 16), [], [], learned()).notes if "0x" in one]
    assert "no symbol, so it may be a lock" in said and "for no lock" not in said


def test_the_next_bottleneck_of_one_of_several_locks_is_told_to_be_of_that_patch() -> None:
    entries = tuple(Entry(name, n, None, "spin", wait_ns=1e11) for n, name in enumerate(("a_lock", "b_lock")))
    seen = LockProfile("perf_lock", "lock waits", entries)
    several, one = (
        lock_text(ask_lock(UnpatchedData({}, seen, 64, 10.0), asked, [], learned()))
        for asked in (["lockless a_lock", "split b_lock 4"], ["lockless a_lock", "split a_lock 4"])
    )
    assert "Next bottleneck with lockless a_lock: b_lock" in several
    assert "Next bottleneck: b_lock" in one


def test_time_asleep_is_told_as_that() -> None:
    """No samples, and not on a CPU; who spins is what it does not have."""
    idle = Entry("schedule_idle", 1, ("do_idle",), None, "swapper", "self", 60.0, wait_ns=60e9)
    slept = Entry("mutex_lock", 2, ("a_caller",), "mutex", "app", "self", 0.1, wait_ns=0.1e9)
    work = Entry("schedule", 3, ("do_nanosleep",), None, "app", "self", 39.9, wait_ns=39.9e9)
    seen = LockProfile("stack_counts", "off-CPU time", (idle, slept, work), disjoint=True, seconds=100)
    said = lock_text(ask_lock(UnpatchedData({}, seen, 64), ["lockless a_caller"], [], learned()))
    assert "idle tasks are 60% of the off-CPU time" in said and "samples" not in said
    assert "hardly anybody waits here asleep, and who spins is not in this profile" in said


def test_a_chance_is_not_rounded_up_to_what_a_yes_needs() -> None:
    answer = ask_lock(UnpatchedData(rates_per_s={1: 35e3, 64: 140e3}), [], [])
    assert any(0.895 <= one.chance < 0.9 for one in answer.candidates)
    shown = re.findall(r"(\d+)% +(yes|no)", lock_text(answer))
    assert shown and all((int(chance) >= 90) == (worth == "yes") for chance, worth in shown)
    assert "two always fit the model, a third would check it" in lock_text(answer)


def test_an_offset_that_is_not_compared_and_a_lock_held_longer_than_the_load_ran_are_told() -> None:
    rows = [Entry("xfs_ilock", n, None, "rwsem:W", wait_ns=5e10, hold_ns=12e9) for n in (3, 4)]
    seen = LockProfile("lock_stat", "lock waits", tuple(rows))
    found = ask_lock(UnpatchedData({}, seen, 32, 10.0), ["lockless xfs_ilock+0x9e"], [], learned())
    assert any(
        "xfs_ilock+0x9e is all rows of its function and kind of lock (lines 3, 4)" in note
        for note in found.notes
    )
    assert any("was held for 12 s, and the load ran 10 s" in note for note in found.notes)
    plain = ask_lock(UnpatchedData({}, seen, 32, 100.0), ["lockless xfs_ilock"], [], learned())
    assert not plain.notes


def test_a_letter_says_that_the_waits_do_not_explain_the_rates() -> None:
    waits = timed("perf_lock", ("a_lock", 30.0))
    measured = UnpatchedData({1: 9e3, 8: 12e3, 32: 15e3}, waits, None, 10.0)
    found = ask_lock(measured, ["lockless a_lock"], ["perf_lock of a.txt"], learned())
    assert measured.contradiction and "do not explain the rates, so it is not shown" in letter(found).replace(
        "\n", " "
    )


def test_a_share_far_above_all_timed_waits_is_of_another_load() -> None:
    seen = timed("perf_lock", ("a", 1.0))
    with pytest.raises(
        BadInput, match=r"--share 90%, but all waits of the profile are 6\.2% of the time: corr"
    ):
        ask_lock(UnpatchedData({}, seen, 16, 1.0, wait_share=0.9), ["lockless a"], [], learned())


def test_a_letter_says_why_a_gain_may_exceed_its_promise() -> None:
    found = ask_lock(UnpatchedData({}, None, 32, wait_share=0.1), ["lockless a_lock"], [], learned())
    (best,) = found.candidates
    assert best.promise is not None and best.value > best.promise
    assert "because waiters also slow down the others" in " ".join(letter(found).split())


def test_a_letter_says_of_the_verdict_what_the_answer_says() -> None:
    slow = Entry("queued_spin_lock_slowpath", 1, ("a_lock",), "spin", None, "self", 60.0)
    for samples, is_told in ((12, True), (1200, False)):
        seen = replace(profile(slow), samples=samples)
        said = letter(ask_lock(UnpatchedData({}, seen, 8), ["lockless a_lock"], [], learned()))
        told = "Whether the change pays is not known: the profile has only 12 samples." in flow(said)
        assert told == is_told


def test_a_letter_does_not_say_a_share_that_is_cut_as_if_it_were_known() -> None:
    found = ask_lock(UnpatchedData(threads=64, wait_share=0.985), ["lockless a_lock"], [], learned())
    assert "33.33+" in lock_text(found) and "would be at least 33.33 times as fast" in flow(letter(found))


def test_a_longer_sleep_that_is_for_no_lock_is_named() -> None:
    fsync = stack(75.0, 1, "schedule", "jbd2_log_wait_commit", "ext4_sync_file", off=True)
    rwsem = stack(25.0, 2, "schedule", "rwsem_down_write_slowpath", "down_write", "path_openat", off=True)
    found = ask_lock(UnpatchedData({}, stacks(fsync, rwsem, off=True), 32, 10.0), [], [], learned())
    assert "jbd2_log_wait_commit sleeps for 75% of the off-CPU time, and for no lock" in lock_text(found)


def test_shares_of_more_than_everything_are_said() -> None:
    rows = [
        Entry(name, n, None, "spin", None, "self", 60.0) for n, name in enumerate(("osq_lock", "spin_lock"))
    ]
    assert "add up to 120%" in lock_text(ask_lock(UnpatchedData({}, profile(*rows), 64), [], [], learned()))


def test_a_class_that_was_held_longer_than_the_load_ran_is_no_limit() -> None:
    """lock_stat adds up all locks of a class: i_mutex of many directories, 600 s in 60."""
    wanted = Entry("&sbi->s_orphan_lock", 1, None, "mutex", contentions=9, wait_ns=600e9, hold_ns=55e9)
    many = Entry("&type->i_mutex_dir_key", 2, None, "rwsem:W", contentions=9, wait_ns=500e9, hold_ns=600e9)
    seen = LockProfile("lock_stat", "lock waits", (wanted, many))
    found = ask_lock(UnpatchedData({}, seen, 32, 60.0), ["lockless &sbi->s_orphan_lock"], [], learned())
    assert found.next_limit and not found.next_limit.limits
    assert "several locks of one class" in lock_text(found) and "would alone limit" not in lock_text(found)


@pytest.mark.parametrize(("held_s", "is_told"), [(0.01, True), (9.0, False)])
def test_a_lock_that_is_hardly_held_is_not_waited_for_by_three(held_s: float, is_told: bool) -> None:
    row = Entry("A", 1, None, None, wait_ns=30e9, hold_ns=1e9 * held_s)
    seen = LockProfile("lock_stat", "lock waits", (row,), of_locks=True)
    found = ask_lock(UnpatchedData({}, seen, 8, 10.0), ["lockless A"], [], learned())
    assert (
        any("A is held for 0.10% of the time, and 3 threads wait" in note for note in found.notes) == is_told
    )


def test_time_in_functions_that_never_wait_is_that_of_a_cache_line_and_no_wait() -> None:
    """Page faults under mmap_lock: a trylock that succeeds, and the up_read() of it."""
    fault = ("do_user_addr_fault", "exc_page_fault", "a.out")
    moved = (stack(35.0, 1, "down_read_trylock", *fault), stack(20.0, 2, "up_read", *fault))
    seen = stacks(*moved, stack(45.0, 3, "clear_page_erms", "handle_mm_fault", *fault))
    said = 'ask for --patch "unshare down_read_trylock \\+ unshare up_read"'
    with pytest.raises(BadInput, match=rf"55.0% of the samples are in down_read_trylock, up_read.*{said}"):
        ask_lock(UnpatchedData({}, seen, 64), [], [], learned())
    asked = "unshare down_read_trylock + unshare up_read"
    (found,) = ask_lock(UnpatchedData({}, seen, 64), [asked], [], learned()).candidates
    assert found.promise == pytest.approx(1 / 0.45)


def test_a_cache_line_beside_a_lock_that_is_waited_for_is_told() -> None:
    moved = stack(30.0, 1, "up_read", "a_fault")
    seen = stacks(moved, stack(50.0, 2, "native_queued_spin_lock_slowpath", "_raw_spin_lock", "a_lock"))
    notes = ask_lock(UnpatchedData({}, seen, 8), ["lockless a_lock"], [], learned()).notes
    assert any(
        "in up_read, which take" in one and 'ask for --patch "unshare up_read"' in one for one in notes
    )
    notes = ask_lock(UnpatchedData({}, seen, 8), ["unshare up_read"], [], learned()).notes
    assert not any("cache line" in one for one in notes)


def test_a_duration_that_is_not_the_profiles_is_told() -> None:
    slept = stack(60.0, 1, "schedule", "down_read", "a_lock", off=True)
    seen = replace(stacks(slept, off=True), seconds=10.0)
    far, same = (
        ask_lock(UnpatchedData({}, seen, 16, s), ["lockless a_lock"], [], learned()) for s in (5.0, 10.0)
    )
    assert "the profile says that it is of 10 s; --seconds 5 is taken instead" in far.notes
    assert not any("taken instead" in one for one in same.notes)


def test_a_function_that_takes_no_lock_stands_for_all_below_it_and_says_so() -> None:
    spin = ("native_queued_spin_lock_slowpath", "_raw_spin_lock")
    taken = [stack(n, n, *spin, caller, "path_openat") for n, caller in ((50, "lookup_fast"), (20, "dput"))]
    measured = UnpatchedData({}, stacks(*taken, stack(30, 3, "link_path_walk", "path_openat")), 32)
    above, one = (ask_lock(measured, [f"lockless {of}"], [], learned()) for of in ("path_openat", "dput"))
    said = "path_openat takes no lock itself: all that lookup_fast, dput wait for below it counts as one lock"
    assert any(note.startswith(said) for note in above.notes) and "takes no lock" not in str(one.notes)


def test_an_offset_chooses_the_kind_of_lock_that_is_taken_there() -> None:
    """Two locks of one function: the spin lock is waited for longer, the mutex is named."""
    text = (
        " contended   total wait     max wait     avg wait         type   caller\n\n"
        "     40000      20.00 s      5.25 ms    500.00 us     spinlock   ext4_orphan_add+0x200\n"
        "     10000      10.00 s      9.02 ms      1.00 ms        mutex   ext4_orphan_add+0x73\n"
    )
    (seen,) = profiles_of(text)
    (found,) = ask_lock(
        UnpatchedData({}, seen, 16, 5.0), ["lockless ext4_orphan_add+0x73"], [], learned()
    ).candidates
    assert found.promise == pytest.approx(1 / (1 - 10 / 80)) and "not spin:ext4_orphan_add" in found.matched


def test_locks_without_names_are_not_asked_for_by_their_absence() -> None:
    seen = LockProfile("perf_lock", "lock waits", (Entry("(no name)", 1, None, "mutex", wait_ns=1e9),))
    with pytest.raises(BadInput, match="the locks of this profile have no names: record who takes them"):
        ask_lock(UnpatchedData({}, seen, 4, 2.0), [], [], learned())


def test_to_avoid_every_call_saves_no_more_than_the_calls_take() -> None:
    spin = ("native_queued_spin_lock_slowpath", "_raw_spin_lock", "g", "a")
    measured = UnpatchedData({}, stacks(stack(20, 1, *spin), stack(80, 2, "work", "a")), 32)
    found = {
        one.patch: one.promise
        for one in ask_lock(measured, ["avoid g 100%", "avoid g 50%", "lockless g"], [], learned()).candidates
    }
    assert found["avoid g 100%"] == found["lockless g"] == pytest.approx(1.25)
    assert 1 / 0.9 - 1e-9 <= (found["avoid g 50%"] or 0) <= 1.25


def test_who_is_called_no_more_takes_no_lock_either() -> None:
    """Where all of a function's time is waiting, to avoid it is what a lockless one is."""
    spin = ("native_queued_spin_lock_slowpath", "_raw_spin_lock", "g", "a")
    measured = UnpatchedData({}, stacks(stack(20, 1, *spin), stack(80, 2, "work", "a")), 32)
    first, second = ask_lock(measured, ["avoid g 100%", "lockless g"], [], learned()).candidates
    assert (first.low, first.value, first.high) == (second.low, second.value, second.high)
    said = flow(letter(ask_lock(measured, ["avoid g 100%"], [], learned())))
    assert "how changes that remove or split the lock turned out" in said


def nested() -> LockProfile:
    spin = ("native_queued_spin_lock_slowpath", "_raw_spin_lock", "__ext4_new_inode", "path_openat")
    rwsem = ("rwsem_spin_on_owner", "rwsem_down_write_slowpath", "down_write", "path_openat")
    return stacks(stack(40, 1, *rwsem), stack(20, 2, *spin), stack(40, 3, "close"))


def test_a_lock_that_is_held_meanwhile_is_no_limit_of_calls_that_are_avoided_either() -> None:
    answer = ask_lock(UnpatchedData({}, nested(), 32), ["avoid __ext4_new_inode 100%"], [], learned())
    (found,) = answer.candidates
    assert found.worth == "not known" and found.high > 1.25
    assert found.next_limit and "may hold that one meanwhile" in found.next_limit.none_because


def test_a_letter_does_not_say_that_nothing_is_seen_of_what_the_answer_names() -> None:
    said = letter(ask_lock(UnpatchedData({}, nested(), 32), ["lockless __ext4_new_inode"], [], learned()))
    assert "cannot be seen" not in said and "Threads also wait at path_openat, 40.0%" in flow(said)
    slept = (
        stack(43.0, 1, "schedule", "down_write", "path_openat", off=True),
        stack(57.0, 2, "schedule", "jbd2_log_wait_commit", "ext4_sync_file", off=True),
    )
    answer = ask_lock(
        UnpatchedData({}, stacks(*slept, off=True), 8, 10.0), ["lockless path_openat"], [], learned()
    )
    assert "jbd2_log_wait_commit sleeps for 57%" in flow(letter(answer))
    assert "but for the sleep that is noted above" in lock_text(answer)


def test_a_rate_that_is_said_to_be_no_bound_is_none() -> None:
    """One thread alone is 3% slower than its share of what 32 do."""
    seen = timed("perf_lock", ("a_lock", 4.5))
    asked = ["lockless a_lock"]
    free, bounded = (
        ask_lock(UnpatchedData(rates, seen, 32, 1.0), asked, [], learned())
        for rates in ({}, {1: 10_000.0, 32: 345_000.0})
    )
    assert any("its rate is not a bound here" in note for note in bounded.notes)
    assert bounded.candidates[0].high == pytest.approx(free.candidates[0].high)


def test_rates_that_deny_a_profiles_waits_are_said_to() -> None:
    measured = UnpatchedData({1: 10_000.0, 32: 320_000.0}, nested(), 32)
    notes = ask_lock(measured, ["lockless path_openat"], [], learned()).notes
    assert not any("hardly anybody" in note for note in notes)
    assert any(
        note.startswith("the profile has 40% of the time waiting here, but by the rates 32") for note in notes
    )


def test_a_patch_that_hardly_changes_a_lock_does_not_deny_its_waits() -> None:
    notes = ask_lock(UnpatchedData({}, nested(), 32), ["shrink path_openat 1%"], [], learned()).notes
    assert not any("nobody waits" in note or "hardly anybody" in note for note in notes)


def test_why_it_is_not_known_is_said_of_each_patch() -> None:
    asked = ["lockless __ext4_new_inode", "lockless path_openat"]
    said = lock_text(ask_lock(UnpatchedData({}, nested(), 32), asked, [], learned()))
    assert "(lockless path_openat)" in said and "(lockless __ext4_new_inode)" in said
