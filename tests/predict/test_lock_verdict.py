# SPDX-License-Identifier: MIT
"""Whether a patch of a lock is worth writing: where the data say it, and where they must not be asked to."""

from dataclasses import replace
from itertools import pairwise

import pytest
from known_locks import learned, profile, timed, waiting

from lockscale.errors import BadInput
from lockscale.predict.answer import LEAST_GAIN
from lockscale.predict.lock_answer import ask_lock
from lockscale.predict.lock_data import UnpatchedData
from lockscale.predict.lock_text import lock_text
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.profile_entry import Entry
from lockscale.tools.registry import profile_of


def test_waits_that_do_not_explain_the_rates_leave_open_what_is_worth_writing() -> None:
    """Threads that wait half of their time make half of 64 times one thread's rate, not four times it."""
    contradicted = UnpatchedData({1: 35e3, 64: 140e3}, wait_share=0.5)
    found = ask_lock(contradicted, ["lockless a_lock"], [], learned())
    assert found.candidates[0].worth == "not known" and "do not explain the rates" in lock_text(found)
    explained = UnpatchedData({1: 4375.0, 64: 140e3}, wait_share=0.5)
    collapsed = UnpatchedData({1: 35e3, 8: 200e3, 48: 80e3}, wait_share=0.77)  # as S1's, through its lock
    for measured in (explained, collapsed):
        assert ask_lock(measured, ["lockless a_lock"], [], learned()).candidates[0].worth == "yes"


def test_a_profile_of_another_run_does_not_explain_the_rates() -> None:
    seen = profile(waiting("wanted_lock", 2.0))
    found = ask_lock(
        UnpatchedData({1: 100.0, 8: 120.0, 64: 90.0}, seen), ["lockless wanted_lock"], [], learned()
    )
    assert "do not explain this curve" in found.against_itself


def test_rates_alone_that_are_not_those_of_a_lock_give_no_verdict() -> None:
    """A lock lets rates grow evenly to its limit, or fall where its waiters slow its holder down."""
    uneven = ask_lock(
        UnpatchedData({1: 100, 2: 30, 4: 20, 8: 300, 16: 40, 32: 900}), ["lockless a"], [], learned()
    )
    assert uneven.candidates[0].worth == "not known" and "do not explain this curve" in uneven.against_itself
    assert "the rates are not those of one lock" in lock_text(uneven)
    collapsed = {1: 14.5, 2: 19.7, 4: 32, 8: 47, 16: 27, 32: 13, 64: 7}  # of a mutex whose waiters spin
    found = ask_lock(UnpatchedData(collapsed), ["lockless a"], [], learned())
    assert found.candidates[0].worth == "if it limits"
    assert found.against_itself.endswith("more threads do less, which no such model shows")


def test_rates_that_no_threads_explain_give_no_verdict() -> None:
    """One of the two has lost its k."""
    for rates in ({1: 35.0, 64: 140e3}, {1: 35e3, 64: 35.0}, {4: 35e3, 64: 140e6}):
        found = ask_lock(UnpatchedData(rates), [], [], learned())
        assert {one.worth for one in found.candidates} == {"not known"}
        assert any("is a suffix such as k missing?" in one for one in found.warnings)
    assert not UnpatchedData({1: 35e3, 64: 64 * 35e3}).off_scale


def test_waits_that_a_profile_of_cpus_cannot_show_give_no_verdict() -> None:
    """A hundredth of the samples waits, where sixteen of seventeen threads must."""
    slow = Entry("queued_spin_lock_slowpath", 1, ("a_lock",), "spin", None, "self", 1.2)
    work = Entry("memcpy", 2, (), None, None, "self", 98.8)
    found = ask_lock(UnpatchedData({1: 35e3, 64: 140e3}, profile(slow, work)), [], [], learned())
    assert {one.worth for one in found.candidates} == {"not known"}
    assert any("the waits do not explain the rates" in one for one in found.warnings)


def test_waits_longer_than_all_threads_had_are_told_and_give_no_verdict() -> None:
    """Each of the locks alone would fit."""
    two = [Entry(name, n, None, "mutex", wait_ns=60e9) for n, name in enumerate(("a_lock", "b_lock"))]
    seen = LockProfile("perf_lock", "lock waits", (*two,))
    found = ask_lock(UnpatchedData({}, seen, 8, 10.0), [], [], learned())
    assert any("all waits together are 120 s, but 8 threads in 10 s have 80 s" in w for w in found.warnings)
    assert {one.worth for one in found.candidates} == {"not known"}
    assert not ask_lock(UnpatchedData({}, seen, 16, 10.0), [], [], learned()).warnings


def test_a_row_that_cannot_be_read_above_the_others_leaves_the_verdict_open() -> None:
    """It has the largest share of all; below them it has less than what is known."""
    rows = "    61,23%  fio  [kernel.kallsyms]  [k] native_queued_spin_lock_slowpath\n"
    good = "    9.00%  fio  [kernel.kallsyms]  [k] _raw_spin_lock\n"
    worst, last = profile_of(rows + good), profile_of(good + rows.replace("61,23", "1,23"))
    found = [ask_lock(UnpatchedData({}, one, 8), [], [], learned()) for one in (worst, last)]
    assert {one.worth for one in found[0].candidates} == {"not known"}
    assert found[0].candidates[0].open == "line 1 of the profile cannot be read, and may be the longest wait"
    assert not any("cannot be read" in one.open for one in found[1].candidates)


def test_more_waiting_than_one_holder_leaves_room_for_gives_no_verdict() -> None:
    """Of 2 threads one holds the lock: each waits for half of its time at most."""
    entries = (
        Entry("queued_spin_lock_slowpath", 1, ("a_lock",), "spin", None, "self", 70.2),
        Entry("memcpy", 2, (), None, None, "self", 29.8),
    )
    of_two, of_many = (
        ask_lock(UnpatchedData({}, profile(*entries), n), ["lockless a_lock"], [], learned()).candidates[0]
        for n in (2, 16)
    )
    assert "2 threads cannot wait for one lock for 70% of their time" in of_two.open
    assert (of_two.worth, of_many.worth) == ("not known", "yes")


def test_the_fewer_wait_the_less_a_patch_gains_down_to_nothing() -> None:
    """Of waits that were timed; a profile of CPUs does not show who sleeps."""
    asked = [UnpatchedData(threads=64, wait_share=share) for share in (0, 0.001, 0.01, 0.03, 0.2)]
    found = [ask_lock(one, ["lockless LOCK"], [], learned()).candidates[0] for one in asked]
    assert found[0].high < LEAST_GAIN and found[0].chance == 0 and found[0].worth == "no"
    for fewer, more in pairwise(found):
        assert fewer.value < more.value and fewer.high < more.high and fewer.chance <= more.chance
    assert found[2].value < 1.05 and found[2].worth == "no"


def test_waits_without_the_time_they_are_of_carry_no_verdict() -> None:
    """A microsecond of waiting may be of a second or of a day."""
    seen = timed("perf_lock", ("ext4_orphan_add", 1.3e-6))
    for rates in ({}, {1: 35e3, 16: 140e3}):
        for one in ask_lock(UnpatchedData(rates, seen, 16), [], [], learned()).candidates:
            assert one.worth in ("not known", "no")
    assert "no verdict is given" in lock_text(ask_lock(UnpatchedData({}, seen, 16), [], [], learned()))


def test_one_rate_shows_nothing_and_several_do_not_show_that_a_lock_limits_them() -> None:
    (alone,) = ask_lock(UnpatchedData({64: 140e3}), ["lockless LOCK"], [], learned()).candidates
    (two,) = ask_lock(UnpatchedData({1: 35e3, 64: 140e3}), ["lockless LOCK"], [], learned()).candidates
    assert (alone.worth, two.worth) == ("not known", "if it limits")


def test_a_function_in_which_two_locks_are_waited_for_has_no_verdict_and_each_caller_has() -> None:
    seen = profile(waiting("ext4_orphan_add", 45.0), waiting("__ext4_new_inode", 35.0, 2))
    texts = [f"lockless {name}" for name in ("queued_spin_lock_slowpath", "ext4_orphan_add")]
    found = {one.patch: one for one in ask_lock(UnpatchedData({}, seen, 64), texts, [], learned()).candidates}
    both = found[texts[0]]
    assert both.worth == "not known" and "ext4_orphan_add and __ext4_new_inode: name one" in both.open
    assert "name one" not in found[texts[1]].open
    few = profile(waiting("ext4_orphan_add", 1.0), waiting("__ext4_new_inode", 0.5, 2))
    assert ask_lock(UnpatchedData({}, few, 64), texts[:1], [], learned()).candidates[0].worth == "no"


def test_a_curve_that_falls_is_not_said_to_deny_the_waits() -> None:
    seen = timed("perf_lock", ("a_lock", 250.0))
    found = ask_lock(
        UnpatchedData({1: 9e3, 8: 30e3, 32: 6e3}, seen, None, 10.0), ["lockless a_lock"], [], learned()
    )
    assert "more threads do less, which no such model shows" in found.against_itself
    assert "do not explain" not in found.against_itself and found.candidates[0].worth == "yes"


def test_work_that_is_no_wait_is_no_lock() -> None:
    seen = profile(Entry("copy_user_generic_string", 1, ("filemap_read",), None, None, "self", 74.0))
    found = ask_lock(UnpatchedData({}, seen, 16), ["lockless copy_user_generic_string"], [], learned())
    assert found.candidates[0].worth == "not known"
    assert any("all time in it and below it is taken for waiting" in one for one in found.warnings)
    (avoided,) = ask_lock(
        UnpatchedData({}, seen, 16), ["avoid copy_user_generic_string 80%"], [], learned()
    ).candidates
    assert avoided.worth == "yes"


def test_where_even_work_taken_for_waiting_is_little_the_verdict_is_no() -> None:
    """As where the profile has no call graph: the row of a lock's function is mostly the lock taken."""
    seen = profile(Entry("_raw_spin_lock", 1, (), None, None, "self", 4.9))
    patches = ["shrink _raw_spin_lock 50%", "lockless _raw_spin_lock"]
    answer = ask_lock(UnpatchedData({}, seen, 64), patches, [], learned())
    found = {one.patch: (one.worth, one.chance < 0.5) for one in answer.candidates}
    assert found == {patches[0]: ("no", True), patches[1]: ("not known", False)}


def test_no_patch_of_a_lock_ends_idling() -> None:
    seen = profile(
        Entry("intel_idle", 1, ("cpu_startup_entry",), None, None, "self", 90.0), waiting("a", 5, 2)
    )
    with pytest.raises(BadInput, match="intel_idle is where CPUs idle"):
        ask_lock(UnpatchedData({}, seen, 16), ["lockless intel_idle"], [], learned())
    said = lock_text(ask_lock(UnpatchedData({}, seen, 16), ["lockless a"], [], learned()))
    assert "CPUs idle in 90% of the samples" in said and "at least 30% of the time counts as busy" in said


def test_few_samples_that_spin_gain_as_little_as_that_share() -> None:
    asked = [
        UnpatchedData({}, profile(waiting("a", 0.5), waiting("b", 30.0, 2)), 16),
        UnpatchedData(threads=16, wait_share=0.005),
    ]
    spun, given = (ask_lock(one, ["lockless a"], [], learned()).candidates[0] for one in asked)
    assert spun.high == pytest.approx(given.high, rel=0.01) and spun.worth == given.worth == "no"
    slept = profile(replace(waiting("a", 0.5, lock="rwsem_down_write_slowpath"), kind="rwsem:W"))
    asleep = ask_lock(UnpatchedData({}, slept, 16), ["lockless a"], [], learned())
    assert asleep.candidates[0].high > 1.2 and "too high unless many sleep" in lock_text(asleep)
    assert "too high" not in lock_text(ask_lock(asked[0], ["lockless a"], [], learned()))


def test_a_verdict_that_is_left_open_says_why() -> None:
    asked = {
        "the chance is between 50% and 90%": UnpatchedData({1: 35e3, 64: 140e3}),
        "the waits do not explain the rates": UnpatchedData({1: 35e3, 64: 140e3}, wait_share=0.5),
        "one rate shows no limit": UnpatchedData({64: 140e3}),
        "the share of the time spent waiting is not known": UnpatchedData({}, timed("perf_lock", ("a", 1.0))),
    }
    for why, measured in asked.items():
        found = ask_lock(measured, [], [], learned())
        assert why in {one.open for one in found.candidates} and why in lock_text(found)
        assert all((one.worth == "not known") == bool(one.open) for one in found.candidates)


@pytest.mark.parametrize(("threads", "share"), [(2, 0.97), (32, 1.0), (8, 0.9)])
def test_who_holds_the_lock_does_not_wait_for_it(threads: int, share: float) -> None:
    with pytest.raises(BadInput, match=f"one of {threads} threads holds the lock, so they wait for it for"):
        UnpatchedData({}, None, threads, wait_share=share)
    most = UnpatchedData({}, None, threads, wait_share=1 - 1 / threads)
    (found,) = ask_lock(most, ["lockless a_lock"], [], learned()).candidates
    assert found.promise == pytest.approx(threads)
    timed_too_long = UnpatchedData({}, timed("perf_lock", ("a", threads - 0.1)), threads, 1.0)
    (found,) = ask_lock(timed_too_long, ["lockless a"], [], learned()).candidates
    assert found.promise is not None and found.promise <= threads
    half = (threads - 0.1) / 2
    two_locks = UnpatchedData({}, timed("perf_lock", ("a", half), ("b", half)), threads, 1.0)
    (found,) = ask_lock(two_locks, ["lockless a + lockless b"], [], learned()).candidates
    assert found.promise == pytest.approx(threads)
