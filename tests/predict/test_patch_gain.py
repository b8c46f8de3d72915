# SPDX-License-Identifier: MIT
"""What a patch of any lock would give, asked of kernels that nobody told the predictor of.

Each is drawn at random and simulated: the base at several numbers of threads, with the share of time that
its threads wait for the lock; half of them have a second lock, which no profile shows. The patch is then
simulated as well. Nothing of the predictor is in the simulator.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from known_locks import learned, profile, timed, waiting
from two_locks import two_locks

from lockscale.errors import BadInput
from lockscale.predict.answer import LEAST_GAIN
from lockscale.predict.lock_answer import PatchGain, ask_lock
from lockscale.predict.lock_data import UnpatchedData
from lockscale.predict.lock_text import letter, lock_text
from lockscale.sim import simulate
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.profile_entry import Entry

THREADS = (1, 8, 48)
PATCHES = {"shrink wanted_lock 50%": 0.5, "fewer wanted_lock 80%": 0.2, "lockless wanted_lock": 0.001}


@dataclass(frozen=True)
class Blind:
    """One kernel: what is measured of its base, a patch, and the gain that it gives."""

    measured: UnpatchedData
    patch: str
    gain: float


def blind(seed: int) -> Blind:
    drawn = np.random.default_rng(seed)
    times = {
        "outside_us": float(drawn.uniform(5, 50)),
        "hold_us": float(np.exp(drawn.uniform(np.log(0.1), np.log(3)))),
        "second_us": float(np.exp(drawn.uniform(np.log(0.05), np.log(1)))) if seed % 2 else 0.0,
    }
    runs = {n: _run(n, times, seed) for n in THREADS}
    top = runs[THREADS[-1]]
    waits = 100 * (top.locks["lock"].waiting_mean) / THREADS[-1]
    patch = list(PATCHES)[seed % 3]
    patched = _run(THREADS[-1], {**times, "hold_us": times["hold_us"] * PATCHES[patch]}, seed + 1)
    noise = {n: run.rate_per_s * float(np.exp(drawn.normal(0, 0.02))) for n, run in runs.items()}
    seen = profile(waiting("wanted_lock", waits), Entry("work", 2, (), None, None, "self", 100 - waits))
    return Blind(UnpatchedData(noise, seen), patch, patched.rate_per_s / top.rate_per_s)


def _run(threads, times, seed):  # type: ignore[no-untyped-def]
    return simulate(two_locks, threads, times, operations=3000, replications=1, seed=seed, workers=1)


def answered(kernel: Blind) -> PatchGain:
    return ask_lock(kernel.measured, [kernel.patch], ["blind"], learned()).candidates[0]


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.long)])
def test_nine_of_ten_blind_kernels_are_held_with_a_hidden_lock_in_half_of_them(count: int) -> None:
    kernels = [blind(seed) for seed in range(count)]
    found = [answered(kernel) for kernel in kernels]
    held = [one.low <= kernel.gain <= one.high for one, kernel in zip(found, kernels, strict=True)]
    assert sum(held) >= 0.9 * count, [
        (k.patch, k.gain, f) for k, f, h in zip(kernels, found, held, strict=True) if not h
    ]
    wrong = [one for one, kernel in zip(found, kernels, strict=True) if one.high < 1 < kernel.gain]
    assert not wrong


def test_a_lock_that_hardly_anybody_waits_for_is_not_worth_a_patch() -> None:
    seen = profile(waiting("wanted_lock", 0.5), Entry("work", 2, (), None, None, "self", 99.5))
    (found,) = ask_lock(UnpatchedData({}, seen, 64), ["lockless wanted_lock"], [], learned()).candidates
    assert found.promise == pytest.approx(1.005, abs=0.001)
    assert found.value < LEAST_GAIN * 1.1


def test_a_small_patch_of_a_lock_promises_less_than_its_absence() -> None:
    seen = profile(waiting("wanted_lock", 60.0))
    texts = ["lockless wanted_lock", "split wanted_lock 4", "shrink wanted_lock 20%"]
    found = {one.patch: one for one in ask_lock(UnpatchedData({}, seen, 64), texts, [], learned()).candidates}
    promises = [found[text].promise or 0 for text in texts]
    assert promises[0] > promises[1] > promises[2]
    assert found["shrink wanted_lock 20%"].promise == pytest.approx(1.25, abs=0.02)


def test_threads_do_no_more_than_so_many_times_one() -> None:
    seen = profile(waiting("wanted_lock", 90.0))
    (found,) = ask_lock(
        UnpatchedData({1: 100.0, 4: 200.0}, seen), ["lockless wanted_lock"], [], learned()
    ).candidates
    assert found.high <= 4 * 100 / 200 * 1.15 + 1e-9


def test_two_locks_together_promise_more_than_each() -> None:
    seen = profile(waiting("a_lock", 40.0), waiting("b_lock", 40.0, 2))
    texts = ["lockless a_lock", "lockless b_lock", "lockless a_lock + lockless b_lock"]
    found = ask_lock(UnpatchedData({}, seen, 64), texts, [], learned())
    assert found.candidates[0].patch == texts[2]
    assert found.candidates[0].promise == pytest.approx(5.0)


def test_the_next_limit_is_the_longest_wait_that_the_patch_leaves() -> None:
    seen = profile(waiting("a_lock", 40.0), waiting("b_lock", 20.0, 2), waiting("c_lock", 5.0, 3))
    found = ask_lock(UnpatchedData({}, seen, 64), ["lockless a_lock"], [], learned())
    assert found.next_limit is not None
    assert (found.next_limit.name, found.next_limit.wait_pct) == ("b_lock", pytest.approx(20.0))
    assert "b_lock" in lock_text(found)
    assert "b_lock" in letter(found)


def test_the_json_has_of_each_patch_who_waits_next_and_whether_its_promise_is_cut() -> None:
    seen = profile(waiting("a_lock", 98.0), waiting("b_lock", 1.0, 2))
    both = ["lockless a_lock", "lockless b_lock"]
    found = ask_lock(UnpatchedData({}, seen, 64), both, [], learned()).to_json()
    said = {one["patch"]: (one["next_limit"]["name"], one["promise_at_least"]) for one in found["candidates"]}
    assert said == {"lockless a_lock": ("b_lock", True), "lockless b_lock": ("a_lock", False)}
    assert found["next_limit"] == found["candidates"][0]["next_limit"]


def test_another_kind_of_lock_that_is_full_caps_the_gain() -> None:
    other = Entry("mutex_spin_on_owner", 2, ("b_lock",), "mutex", None, "self", 40.0)
    seen = profile(waiting("a_lock", 40.0), other)
    (found,) = ask_lock(UnpatchedData({}, seen, 64), ["lockless a_lock"], [], learned()).candidates
    assert found.high < 1.4


def test_a_next_lock_limits_by_how_long_it_was_held_where_the_tool_says_it() -> None:
    """Held 0.1 s of one second: ten times as many acquisitions fill it, however long its queue is now."""
    first = Entry("&a->lock", 1, None, "spin", contentions=9, wait_ns=40e9, mean_ns=4e9, hold_ns=0.9e9)
    other = Entry("&b->lock", 2, None, "spin", contentions=9, wait_ns=1e9, mean_ns=1e8, hold_ns=0.1e9)
    seen = LockProfile("lock_stat", "lock waits", (first, other))
    found = ask_lock(UnpatchedData({}, seen, 64, 1.0), ["lockless &a->lock"], [], learned())
    assert found.next_limit is not None and found.next_limit.gain_ends_at == pytest.approx(10.0)


def test_a_function_that_takes_a_lock_is_not_given_the_locks_of_what_it_calls() -> None:
    own = Entry("rwsem_spin_on_owner", 1, ("down_write", "do_unlinkat"), "rwsem:W", None, "self", 30.0)
    below = Entry("_raw_spin_lock", 2, ("evict", "do_unlinkat"), "spin", None, "self", 20.0)
    found = ask_lock(UnpatchedData({}, profile(own, below), 64), [], [], learned())
    assert {one.patch.split()[1] for one in found.candidates} == {"do_unlinkat"}
    assert {one.matched for one in found.candidates} == {
        "rwsem_spin_on_owner < down_write < do_unlinkat (line 1); not evict"
    }
    by_name = ask_lock(UnpatchedData({}, profile(own, below), 64), ["lockless do_unlinkat"], [], learned())
    assert by_name.candidates[0].promise == pytest.approx(1 / 0.7)
    assert found.candidates[0].promise == pytest.approx(1 / 0.7, rel=0.01)


def test_what_a_profiles_own_text_says_of_its_load_is_taken() -> None:
    asleep = Entry("schedule", 1, ("down_write", "a_lock"), "rwsem:W", None, "self", 100.0, wait_ns=160e9)
    seen = LockProfile("stack_counts", "off-CPU time", (asleep,), disjoint=True, threads=32, seconds=10.0)
    found = ask_lock(UnpatchedData({}, seen), ["lockless a_lock"], [], learned())
    assert found.candidates[0].threads == 32 and found.notes == []
    assert found.candidates[0].promise == pytest.approx(2.0)  # 16 of 32 sleep
    untold = ask_lock(UnpatchedData({}, replace(seen, seconds=None)), ["lockless a_lock"], [], learned())
    assert untold.candidates[0].promise is None and untold.advice.command == "--seconds SECONDS"


def test_the_base_is_set_against_itself_first() -> None:
    kernel = blind(2)
    found = ask_lock(kernel.measured, [kernel.patch], [], learned())
    assert found.off_by_pct is not None and found.off_by_pct < 10
    assert lock_text(found).startswith("Check against the unpatched rates")


def test_a_lock_of_a_like_name_is_not_taken_for_it() -> None:
    seen = profile(waiting("wanted_lock_irq", 60.0), waiting("x_wanted_lock", 20.0, 2))
    with pytest.raises(BadInput, match=r"wanted_lock is not in the profile.*did you mean"):
        ask_lock(UnpatchedData({}, seen, 64), ["lockless wanted_lock"], [], learned())


def test_rates_alone_are_advised_to_take_a_profile_where_that_narrows_it() -> None:
    found = ask_lock(UnpatchedData({8: 100.0, 64: 90.0}), ["avoid LOCK"], [], learned())
    assert found.advice.to < found.advice.width
    assert "perf record" in found.advice.command or found.advice.command.startswith("-r 1:RATE")


def test_nothing_to_go_by_is_refused() -> None:
    with pytest.raises(BadInput, match="give a profile or rates of the unpatched kernel"):
        ask_lock(UnpatchedData(), [], [], learned())


def test_waits_that_sleep_are_missed_by_a_profile_of_cpus_and_its_promise_is_left_out() -> None:
    """Two threads that do less than one: hardly a sample waits, as who waits for a futex sleeps."""
    seen = profile(waiting("wanted_lock", 2.0), Entry("work", 2, (), None, None, "self", 98.0))
    found = ask_lock(UnpatchedData({1: 880.0, 2: 550.0}, seen), ["lockless wanted_lock"], [], learned())
    assert "threads that sleep" in found.against_itself
    assert found.candidates[0].promise is None
    assert found.candidates[0].high > 2


def test_a_share_that_somebody_knows_is_taken_in_place_of_the_profiles() -> None:
    known = UnpatchedData({}, None, 64, None, 0.6)
    (found,) = ask_lock(known, ["lockless LOCK"], [], learned()).candidates
    assert found.promise == pytest.approx(2.5)


def test_another_lock_has_at_most_the_time_that_a_known_share_leaves() -> None:
    """Who sleeps for a_lock 95% of the time runs in the rest, half of which spins for b_lock."""
    asleep = Entry("rwsem_down_write_slowpath", 1, ("a_lock",), "rwsem:W", None, "self", 2.0)
    seen = profile(asleep, waiting("b_lock", 50.0, 2))
    limits = {
        share: ask_lock(
            UnpatchedData({}, seen, 64, None, share), ["lockless a_lock"], [], learned()
        ).next_limit
        for share in (0.3, 0.95, 63 / 64)
    }
    assert limits[0.3] and limits[0.3].wait_pct == pytest.approx(50.0)
    assert limits[0.95] and limits[0.95].wait_pct == pytest.approx(5.0)
    assert limits[63 / 64] and limits[63 / 64].wait_pct == pytest.approx(100 / 64)


def test_what_two_changes_have_in_common_is_gained_once() -> None:
    slow = Entry("queued_spin_lock_slowpath", 1, ("a_lock", "b_path"), "spin", None, "self", 40.0)
    for text in ("lockless a_lock + lockless a_lock", "lockless a_lock + lockless b_path"):
        (found,) = ask_lock(UnpatchedData({}, profile(slow), 64), [text], [], learned()).candidates
        assert found.promise == pytest.approx(1 / 0.6, rel=0.01), text


def test_two_changes_of_one_lock_do_not_beat_its_removal_where_only_rates_are_known() -> None:
    measured = UnpatchedData(rates_per_s={1: 35e3, 64: 140e3})
    both = ["split L 4 + batch L 8", "split L 4 + split L 8", "split L 4 + split OTHER 8"]
    found = {one.patch: one for one in ask_lock(measured, ["lockless L", *both], []).candidates}
    assert all(found[text].value <= found["lockless L"].value for text in both)
    halves, quarter = ask_lock(measured, ["shrink L 50% + shrink L 50%", "shrink L 75%"], []).candidates
    assert halves.value == pytest.approx(quarter.value)


@pytest.mark.parametrize("text", ["lockless L + split L 4", "shrink L 50% + percpu L"])
def test_a_lock_that_one_change_removes_takes_no_other(text: str) -> None:
    with pytest.raises(BadInput, match="nothing is left of L"):
        ask_lock(UnpatchedData({8: 100.0, 64: 90.0}), [text], [], learned())


@pytest.mark.slow
def test_a_profile_that_says_no_share_narrows_and_widens_nothing() -> None:
    rates = {1: 35e3, 64: 140e3}
    waits = LockProfile("perf_lock", "lock waits", (Entry("a_lock", 1, None, "spin", wait_ns=1e9),))
    for text in ("shrink a_lock 50%", "split a_lock 4"):
        (alone,) = ask_lock(UnpatchedData(rates), [text], [], learned()).candidates
        (beside,) = ask_lock(UnpatchedData(rates, waits), [text], [], learned()).candidates
        assert (beside.low, beside.value, beside.high) == (alone.low, alone.value, alone.high)


def test_the_likeliest_gain_is_not_above_what_the_next_lock_allows() -> None:
    waits = [("a_lock", 320e9), ("b_lock", 20e9)]
    entries = tuple(Entry(name, n, None, "spin", wait_ns=ns) for n, (name, ns) in enumerate(waits))
    seen = LockProfile("lock_stat", "lock waits", entries, of_locks=True)
    found = ask_lock(UnpatchedData({}, seen, 64, 10.0), ["lockless a_lock"], [], learned())
    assert found.next_limit and found.candidates[0].value <= found.next_limit.gain_ends_at


def test_rates_that_grow_faster_than_the_threads_bound_nothing_below_one() -> None:
    found = ask_lock(UnpatchedData({1: 35.0, 4: 150.0, 8: 400.0}), ["lockless LOCK"], [], learned())
    (one,) = found.candidates
    assert one.low < 1 < one.high
    assert "is not a bound" in lock_text(found)


def test_a_median_and_a_chance_are_of_one_distribution() -> None:
    for most in (1.0, 1.02, 1.1, 2.0, 50.0):
        gain = learned().gain("gone", None, most)
        assert (gain.value > LEAST_GAIN) == (gain.worth > 0.5), most
        assert gain.low < gain.value < gain.high <= most * 1.15


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"wait_share": float("nan")}, "--share is not between 0 and 100"),
        ({"seconds": float("nan")}, "--seconds is not a duration"),
        ({"rates_per_s": {1: 5.0, 4: 9.0}, "threads": 64}, "--threads 64 has no rate"),
        ({"rates_per_s": {1: 5.0}}, "one thread alone never waits"),
        ({"rates_per_s": {1: 35e3, 64: float("nan")}}, "values row 2 is nan"),
        ({"rates_per_s": {1: 0, 64: 140e3}}, "values row 1 is 0"),
        ({"rates_per_s": {"one": 5.0, 64: 140e3}}, "row 1 is 'one'"),
        ({"threads": 0, "wait_share": 0.5}, "--threads is 0: give a whole number"),
        ({"threads": 2.5, "wait_share": 0.5}, "--threads is 2.5"),
    ],
)
def test_numbers_that_cannot_be_are_refused(given: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        UnpatchedData(**given)  # type: ignore[arg-type]


def test_rates_of_a_series_are_those_of_a_dictionary() -> None:
    typed = {1: 35e3, 64: 140e3}
    of_series = UnpatchedData(pd.Series(typed), threads=np.int64(64))  # type: ignore[arg-type]
    assert of_series == UnpatchedData(typed, threads=64)


def test_no_more_is_waited_than_there_are_threads_and_seconds() -> None:
    waits = LockProfile(
        "perf_lock", "lock waits", (Entry("i_lock", 1, wait_ns=30e9, contentions=5),), "by hand"
    )
    with pytest.raises(BadInput, match="i_lock is waited for 30 s, but 2 threads in 10 s have 20 s"):
        ask_lock(UnpatchedData({}, waits, 2, 10.0), ["lockless i_lock"], [], learned())


def test_two_callers_of_a_spin_lock_may_take_the_same_one() -> None:
    waits = (("ext4_orphan_add", 2.31), ("ext4_orphan_del", 1.02))
    of_callers, of_locks = (
        ask_lock(UnpatchedData({}, timed(tool, *waits), 16, 1.0), ["lockless ext4_orphan_add"], [], learned())
        for tool in ("perf_lock", "lock_stat")
    )
    assert of_callers.next_limit and not of_callers.next_limit.is_another_lock
    assert of_locks.next_limit and of_locks.next_limit.is_another_lock
    assert of_callers.candidates[0].high > of_locks.candidates[0].high


def test_where_another_lock_limits_median_chance_and_interval_are_of_one_distribution() -> None:
    for limit in (1.02, 1.1, 1.3, 3.0):
        for left, promise in (("gone", 1.1), ("gone", 3.0), ("less", 2.0), ("kept", 1.5)):
            gain = learned().gain(left, promise, next_limit=limit)
            free = learned().gain(left, promise)
            assert (gain.value > LEAST_GAIN) == (gain.worth > 0.5), (limit, left, promise)
            assert gain.low <= gain.value <= min(gain.high, limit * 1.001) and gain.high <= free.high
            assert gain.low <= free.low and gain.worth <= free.worth + 1e-3
    far = learned().gain("gone", 3.0, next_limit=1000.0)
    assert far.value == pytest.approx(learned().gain("gone", 3.0).value, rel=0.01)


def test_more_of_a_lock_that_goes_gains_no_less_where_another_limits() -> None:
    waits = timed("perf_lock", ("a_lock", 160.0), ("b_lock", 140.0))
    texts = ["lockless a_lock", "shrink a_lock 50%", "algorithm a_lock"]
    found = ask_lock(UnpatchedData({}, waits, 32, 10.0), texts, [], learned())
    assert [one.patch for one in found.candidates] == texts
    assert len({one.chance for one in found.candidates}) == 3


def test_what_a_functions_row_holds_is_not_the_next_lock_where_nobody_says_who_called_whom() -> None:
    """A lock's slow path is below its fast path, and both are below the function that takes it."""
    rows = [("_raw_spin_lock", 70.0), ("queued_spin_lock_slowpath", 69.0)]
    flat = [Entry(name, n, None, "spin", None, "children", pct) for n, (name, pct) in enumerate(rows, 1)]
    above = Entry("xfs_log_commit_cil", 3, None, None, None, "children", 75.0)
    seen = profile(*flat, above)
    for patch in ("lockless _raw_spin_lock", "avoid xfs_log_commit_cil 80%"):
        assert ask_lock(UnpatchedData({}, seen, 32), [patch], [], learned()).next_limit is None
    another = Entry("mutex_spin_on_owner", 4, None, "mutex", None, "children", 20.0)
    limit = ask_lock(
        UnpatchedData({}, profile(*flat, another), 32), ["lockless _raw_spin_lock"], [], learned()
    ).next_limit
    assert limit and limit.name == "mutex_spin_on_owner"


def test_a_letter_does_not_say_that_published_patches_had_this_next_lock() -> None:
    waits = timed("lock_stat", ("a_lock", 300.0), ("b_lock", 200.0))
    found = ask_lock(UnpatchedData({}, waits, 64, 10.0), ["lockless a_lock"], ["lock_stat of x"], learned())
    said = " ".join(letter(found).split())
    assert "within the limit below" in said and found.next_limit
    assert f"may limit the gain to about {found.next_limit.gain_ends_at:.2f} times" in said
