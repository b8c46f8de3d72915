# SPDX-License-Identifier: MIT
"""Whether a patch is worth writing, by what a profile's form shows and what it cannot show."""

from dataclasses import replace

import pytest
from known_locks import flat, learned, profile, stack, stacks, waiting

from lockscale.errors import BadInput
from lockscale.predict.change_kind import GONE
from lockscale.predict.lock_answer import LockAnswer, ask_lock
from lockscale.predict.lock_data import UnpatchedData
from lockscale.predict.lock_text import letter, lock_text
from lockscale.predict.lock_verdict import WHICH_LOCK
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.profile_entry import Entry
from lockscale.tools.registry import profile_of

CREATE = ("ext4_create", "path_openat", "do_sys_openat2")
OUTER = stack(69.0, 1, "osq_lock", "rwsem_down_write_slowpath", "down_write", "path_openat", "do_sys_openat2")
INNER = stack(14.0, 2, "queued_spin_lock_slowpath", "_raw_spin_lock", "__ext4_new_inode", *CREATE)
WORK = stack(17.0, 3, "memcpy", *CREATE)


def test_of_a_flat_profile_nobody_knows_who_waits_in_the_slowpath() -> None:
    """The function that takes the lock has its own work alone: that is no sign that it does not wait."""
    spins = ("native_queued_spin_lock_slowpath", 62.31), ("_raw_spin_lock", 4.12)
    seen = flat(*spins, ("inode_sb_list_add", 1.77))
    asked = ["shrink inode_sb_list_add 50%", "lockless _raw_spin_lock"]
    answer = ask_lock(UnpatchedData({}, seen, 64), asked, [], learned())
    found = {one.patch: one for one in answer.candidates}
    assert "without call graphs" in found[asked[0]].open and found[asked[0]].worth == "not known"
    assert found[asked[1]].promise == pytest.approx(1 / (1 - 0.6643)), "both rows are of one chain of calls"
    assert not any("no wait for a lock is below" in one for one in answer.warnings)
    alone = ask_lock(UnpatchedData({}, flat(("inode_sb_list_add", 1.77)), 64), asked[:1], [], learned())
    assert alone.candidates[0].worth == "no"


def test_who_sleeps_is_not_in_a_cpu_profile_unless_no_cpu_idles() -> None:
    rows = (stack(2.0, 1, "mutex_lock", "xfs_log_force"), Entry("work", 2, None, None, None, "self", 90.0))
    idle, busy = (profile(*rows, Entry("intel_idle", 3, None, None, None, "self", pct)) for pct in (8.0, 1.0))
    for seen, verdict in ((profile(*rows), "not known"), (idle, "not known"), (busy, "no")):
        found = ask_lock(UnpatchedData({}, seen, 64), ["algorithm xfs_log_force"], [], learned())
        assert found.candidates[0].worth == verdict
        assert any("sleeps" in note for note in found.notes) or seen is busy


def test_rcu_spares_readers_and_leaves_writers_their_lock() -> None:
    def gains(*rows: tuple[str, float], patch: str = "rcu xfs_ilock") -> LockAnswer:
        entries = [Entry("xfs_ilock", n, None, kind, wait_ns=1e9 * s) for n, (kind, s) in enumerate(rows, 1)]
        seen = LockProfile("perf_lock", "lock waits", tuple(entries))
        return ask_lock(UnpatchedData({}, seen, 16, 10.0), [patch], [], learned())

    both, readers = gains(("rwsem:W", 98.0), ("rwsem:R", 20.0)), gains(("rwsem:R", 20.0))
    assert both.candidates[0].promise == readers.candidates[0].promise == pytest.approx(1 / (1 - 20 / 160))
    assert gains(("rwsem:W", 98.0), ("rwsem:R", 20.0), patch="lockless xfs_ilock").candidates[0].promise > 3
    assert any("nothing says which waits are theirs" in note for note in gains(("mutex", 98.0)).notes)
    with pytest.raises(BadInput, match="only writers wait for xfs_ilock, and rcu leaves them their lock"):
        gains(("rwsem:W", 98.0))


def test_only_somebody_who_knows_it_can_say_that_two_spin_locks_are_two() -> None:
    """d_lock in dput() and another lock: the profile does not tell, so the gain may take both waits along."""
    seen = profile(
        waiting("dput", 10.0), waiting("xlog_cil_commit", 60.0, 2), Entry("work", 3, counts="self")
    )
    one = ask_lock(UnpatchedData({}, seen, 32), ["lockless dput"], [], learned())
    two = ask_lock(UnpatchedData({}, seen, 32, distinct=True), ["lockless dput"], [], learned())
    assert one.next_limit and two.next_limit and one.next_limit.gain_ends_at == two.next_limit.gain_ends_at
    assert two.candidates[0].value < 1.001 * two.next_limit.gain_ends_at < one.candidates[0].value
    assert "--distinct" in lock_text(one) and "--distinct" not in lock_text(two)


def test_to_unshare_a_line_leaves_the_waits_below_the_function() -> None:
    own = Entry("xlog_cil_commit", 1, ("f",), None, None, "self", 4.0)
    seen = LockProfile("folded", "on-CPU samples", (own, waiting("xlog_cil_commit", 60.0, 2)), disjoint=True)
    found = ask_lock(UnpatchedData({}, seen, 32), ["unshare xlog_cil_commit"], [], learned())
    assert found.candidates[0].promise == pytest.approx(1 / 0.96)
    limit = found.next_limit
    assert limit and limit.name == "xlog_cil_commit" and limit.is_another_lock


def test_patches_that_leave_less_of_the_lock_are_told_apart_where_rates_leave_little_room() -> None:
    """Half of the gains of a removed lock exceed what 8 threads can do here: none of them is the median."""
    measured = UnpatchedData({1: 100.0, 8: 420.0})
    asked = ["lockless L", "split L 4", "batch L 8", "algorithm L"]
    found = {one.patch: one for one in ask_lock(measured, asked, [], learned()).candidates}
    gains = [found[text].value for text in asked]
    assert gains == sorted(gains, reverse=True) and len(set(gains)) == 4
    assert all(1 < gain < measured.most_gain() for gain in gains)
    free = learned().gain(GONE, None)
    assert free.value > measured.most_gain(), "without the rates"


def test_a_lock_that_is_held_while_the_patchs_is_waited_for_is_no_limit_of_it() -> None:
    """Simulated, 8 rwsems over one spin lock in 64 parts: 495 to 1,149 thousand/s, of waits for 14%."""
    nested = UnpatchedData({1: 91e3, 32: 495e3}, stacks(OUTER, INNER, WORK))
    found = ask_lock(nested, ["split __ext4_new_inode 64"], [], learned())
    (one,), limit = found.candidates, found.next_limit
    assert one.worth == "not known" and "path_openat may hold a lock" in one.open
    assert one.high > 2.32, "what the simulation gives"
    assert limit and limit.name == "path_openat" and limit.none_because and not limit.limits
    assert "its queue shrinks too" in lock_text(found)
    shorter, longer = replace(OUTER, share_pct=15.0), replace(INNER, share_pct=68.0)
    longer_inside = UnpatchedData({}, stacks(shorter, longer, WORK), 32)
    sure = ask_lock(longer_inside, ["lockless __ext4_new_inode"], [], learned())
    assert sure.candidates[0].worth == "yes", "the outer queue can only add to that"
    outer = ask_lock(nested, ["lockless path_openat"], [], learned())
    assert outer.next_limit and outer.next_limit.name == "__ext4_new_inode" and outer.next_limit.limits


def test_a_function_stands_for_the_lock_that_it_takes_itself() -> None:
    seen = UnpatchedData({}, stacks(OUTER, INNER, WORK), 32)
    own = ask_lock(seen, ["lockless path_openat"], [], learned()).candidates[0]
    assert own.promise == pytest.approx(1 / 0.31) and own.matched.endswith("; not __ext4_new_inode")
    above = ask_lock(seen, ["lockless do_sys_openat2"], [], learned()).candidates[0]
    assert above.worth == "not known" and "wait for locks of different kinds: name one" in above.open


def test_who_sleeps_in_futex_wait_may_have_no_work() -> None:
    """A pool's idle threads sleep there as those that wait for a user's mutex do."""
    idle = stack(90.0, 1, "schedule", "futex_wait_queue", "futex_wait", "do_futex", off=True)
    lock = stack(90.0, 1, *idle.path, "__lll_lock_wait", "pthread_mutex_lock", "work", off=True)
    for one, says in ((idle, True), (lock, False)):
        found = ask_lock(UnpatchedData({}, stacks(one, off=True), 32, 4.0), [], [], learned())
        assert ("who sleeps in futex_wait() may have no work" in lock_text(found)) == says


def test_a_verdict_is_the_same_whether_the_name_was_typed_or_not() -> None:
    flat = Entry("native_queued_spin_lock_slowpath", 1, None, "spin", None, "self", 52.31)
    seen = UnpatchedData({}, profile(flat), 64)
    (first, *_) = ask_lock(seen, [], [], learned()).candidates
    (typed,) = ask_lock(seen, [first.patch], [], learned()).candidates
    assert typed == first and typed.worth == "not known" and typed.open == WHICH_LOCK


def test_work_that_is_avoided_makes_one_thread_faster_too() -> None:
    """Half of the time is a checksum, nothing waits, and threads scale: four fifths less is 1 / 0.6."""
    checksum = Entry("crc32c_le", 1, None, None, None, "self", 50.0)
    rest = Entry("memcpy", 2, None, None, None, "self", 50.0)
    seen = profile(checksum, rest)
    for rates in ({}, {1: 10e3, 2: 20e3, 8: 80e3}, {1: 10e3, 8: 60e3}):
        found = ask_lock(UnpatchedData(rates, seen, 8), ["avoid crc32c_le 80%"], [], learned())
        assert found.candidates[0].promise == pytest.approx(1 / 0.6), rates
        assert not any("hardly any" in note for note in found.notes)
    assert "a draft without the work" in found.advice.measurement
    said = " ".join(letter(found).split())
    assert "Without the work that the change (avoid crc32c_le 80%) removes it would be" in said
    assert "waits" not in said.partition("What limits")[0]


def test_no_patch_avoids_nearly_everything() -> None:
    seen = profile(Entry("do_syscall_64", 1, None, None, None, "children", 95.0))
    (one,) = ask_lock(UnpatchedData({}, seen, 8), ["avoid do_syscall_64 100%"], [], learned()).candidates
    assert one.worth == "not known" and "no patch avoids nearly everything" in one.open
    (some,) = ask_lock(UnpatchedData({}, seen, 8), ["avoid do_syscall_64 50%"], [], learned()).candidates
    assert "no patch avoids" not in some.open


def test_the_function_in_which_every_lock_is_waited_for_is_no_lock_where_callers_tell_two() -> None:
    """perf report's own row is above its callers."""
    path = "queued_spin_lock_slowpath"
    whole = Entry(path, 1, None, "spin", None, "self", 62.0)
    group = Entry(path, 2, ("_raw_spin_lock", "ext4_mb_find_by_goal"), "spin", None, "self", 40.0)
    lru = Entry(path, 3, ("_raw_spin_lock_irqsave", "folio_lruvec_lock_irqsave"), "spin", None, "self", 22.0)
    seen = UnpatchedData({}, profile(whole, group, lru), 32)
    (one,) = ask_lock(seen, [f"lockless {path}"], [], learned()).candidates
    assert one.worth == "not known"
    assert (
        one.open
        == f"{path} is called for ext4_mb_find_by_goal and folio_lruvec_lock_irqsave: name one of them"
    )


def test_a_dozen_samples_give_no_yes() -> None:
    seen = profile(waiting("a_lock", 62.0), Entry("memcpy", 2, (), None, None, "self", 38.0))
    for samples, worth in ((12, "not known"), (812_000, "yes"), (None, "yes")):
        measured = UnpatchedData({}, replace(seen, samples=samples), 64)
        found = ask_lock(measured, ["lockless a_lock"], [], learned())
        assert found.candidates[0].worth == worth, samples
        assert ("has only 12 samples" in lock_text(found)) == (samples == 12)


def test_where_threads_sleep_longer_for_io_a_lock_gives_no_yes() -> None:
    """Who polls may be a daemon; who waits for a page is at work."""
    io, poll = ("io_schedule", "folio_wait_bit_common", "filemap_read"), ("schedule", "ep_poll")
    for rest_s, path, worth in ((99.0, io, "not known"), (5.0, io, "yes"), (99.0, poll, "yes")):
        lock = stack(45.0, 1, "schedule", "rwsem_down_write_slowpath", "down_write", "write_iter", off=True)
        both, whole_s = (lock, stack(rest_s, 2, *path, off=True)), 45 + rest_s
        seen = stacks(
            *(replace(one, share_pct=100 * (one.share_pct or 0) / whole_s) for one in both), off=True
        )
        measured = UnpatchedData({}, seen, 16, seconds=whole_s / 16)
        (one,) = ask_lock(measured, ["lockless write_iter"], [], learned()).candidates
        assert one.worth == worth and ("sleep longer for I/O" in one.open) == (worth != "yes")


SLEEPERS = """
app;write;xfs_log_reserve;xlog_grant_head_check;xlog_grant_head_wait;schedule 1000000
app;open;path_openat;down_write;rwsem_down_write_slowpath;schedule 1000000
"""


@pytest.mark.parametrize("seconds", [1.0, 10.0, None])
def test_a_sleep_for_no_lock_is_of_the_time_that_all_threads_had(seconds: float | None) -> None:
    """One second asleep of 16 threads is the same share, whether it was for a lock or for log space."""
    measured = UnpatchedData({}, profile_of(SLEEPERS), threads=16, seconds=seconds)
    patches = ["lockless xlog_grant_head_check", "lockless path_openat"]
    found = {one.patch: one for one in ask_lock(measured, patches, [], learned()).candidates}
    log, lock = (found[patch] for patch in patches)
    assert log.promise == lock.promise
    if seconds is None:
        assert log.promise is None and {log.worth, lock.worth} == {"not known"}
    else:
        assert log.promise == pytest.approx(1 / (1 - 1 / (16 * seconds)))


KINDS_TOGETHER = """
a;f1;_raw_spin_lock;native_queued_spin_lock_slowpath 40
a;f2;_raw_spin_lock_bh;native_queued_spin_lock_slowpath 20
a;work 40
"""


def test_a_lock_functions_name_is_of_its_own_rows_where_the_callers_are_known() -> None:
    """f2's wait, by another function, limits a patch of f1's lock under either of its names."""
    measured = UnpatchedData({}, profile_of(KINDS_TOGETHER), threads=64, distinct=True)
    of_f1, of_function = (
        ask_lock(measured, [f"lockless {name}"], [], learned()).candidates[0]
        for name in ("f1", "_raw_spin_lock")
    )
    assert (of_f1.promise, of_f1.value, of_f1.worth) == (
        of_function.promise,
        of_function.value,
        of_function.worth,
    )


def test_of_a_flat_profile_no_row_of_every_lock_of_a_kind_limits_another() -> None:
    seen = flat(("native_queued_spin_lock_slowpath", 41.1), ("rwsem_spin_on_owner", 21.4), ("memcpy", 37.5))
    found = ask_lock(UnpatchedData({}, seen, threads=48), [], [], learned())
    assert {one.worth for one in found.candidates} == {"not known"}
    assert "rwsem_spin_on_owner" in lock_text(found) and "may be several locks" in lock_text(found)


@pytest.mark.parametrize("rates", [{1: 100e3, 2: 199e3}, {1: 100e3, 2: 201e3}, {1: 35e3, 64: 2241e3}])
def test_rates_that_scatter_about_a_straight_line_leave_nothing_to_gain(rates: dict[int, float]) -> None:
    found = ask_lock(UnpatchedData(rates), ["lockless a", "split a 4"], [], learned())
    assert {one.worth for one in found.candidates} == {"no"} and max(
        one.high for one in found.candidates
    ) < 1.3


def test_the_futex_of_a_users_lock_goes_with_that_lock() -> None:
    """Its hash bucket is taken by nobody once nobody waits for the mutex."""
    text = """
app;hash_insert;pthread_mutex_lock;do_futex;futex_wait;_raw_spin_lock;native_queued_spin_lock_slowpath 40
app;hash_insert;pthread_mutex_unlock;do_futex;futex_wake;_raw_spin_lock;native_queued_spin_lock_slowpath 40
app;hash_insert;work 20
"""
    (found,) = ask_lock(
        UnpatchedData({}, profile_of(text), threads=64), ["split hash_insert 4"], [], learned()
    ).candidates
    assert found.value > 1.5


def test_a_name_with_blanks_is_quoted() -> None:
    name = "std::map<int, Foo*>::find(int const&)"
    text = f"app;main;{name};pthread_mutex_lock;__lll_lock_wait;futex_wait 50\napp;main;work 50\n"
    measured = UnpatchedData({}, profile_of(text), threads=8)
    (found,) = ask_lock(measured, [f"avoid '{name}' 50%"], [], learned()).candidates
    assert found.promise and name in (found.matched or "")
    with pytest.raises(BadInput, match="a name with blanks in quotes"):
        ask_lock(measured, [f"avoid {name} 50%"], [], learned())
