# SPDX-License-Identifier: MIT
"""What the explorer says of a view: the numbers of the simulator, and what to make of them."""

import re
from dataclasses import replace

import pytest

from lockscale.show.explore.figure import layout
from lockscale.show.explore.setting import Setting, changed
from lockscale.show.explore.view import View, busiest, depends, locks_of_name, view, wait_us_per_operation
from lockscale.show.explore.words import (
    _wait_and_hold,
    calibration,
    duration,
    numbers,
    removes,
    runs,
    sliders,
)

STORM = Setting()


@pytest.fixture(scope="module")
def storm() -> View:
    return view(STORM)


def test_the_patch_removes_the_storm(storm: View):
    assert storm.at.attempts_per_op > 40 and storm.other_at.attempts_per_op == 1
    said = removes(storm)
    assert said.startswith("search-locked instead of steal-retry") and "(10." in said
    assert removes(view(changed(STORM, arm="search-locked"))) == said, "the same patch, from its other side"


def test_runs_that_differ_by_more_than_the_arms_give_no_ratio():
    """Some runs of few host CPUs are stopped amid a hold: the patched rate is anything from none to all."""
    said = removes(view(changed(STORM, threads=48, cpus=25)))
    assert "the 95% intervals overlap: too few runs for a ratio" in said and "x)" not in said


def test_a_patch_on_top_of_the_patched_arm_is_not_told_backwards():
    """S2: fast-search has both fixes, and orphan-off is no step back to the lockless file."""
    both = removes(view(changed(STORM, scene="write-access", arm="fast-search")))
    assert both.startswith("fast-search instead of fast-retry") and "(1" in both
    assert removes(view(changed(STORM, scene="orphan-file", arm="orphan-off"))).startswith(
        "orphan-off instead"
    )


def test_the_cache_line_that_limits_is_named_with_the_time_that_threads_wait_for_it():
    """S3 with a goal per inode: nobody waits for a lock, and the journal's line passes on one after another.

    By Little's law 64 threads spend 64 / rate a fallocate, and the line serves one in 1 / rate.
    """
    seen = view(changed(STORM, scene="group-trylock", arm="inode-goal-scan0"))
    (said,) = [line for line in numbers(seen) if line.startswith("cache line journal: wait ")]
    line, cycle_ns = seen.at.lines["journal"], 64e9 / seen.at.rate_per_s
    assert line.cost_ns_mean == pytest.approx(cycle_ns / 64, rel=0.02), "it is busy all the time"
    told = float(re.search(r"([0-9]+)% of the threads", said)[1])
    assert told == pytest.approx(100 * line.wait_ns_mean / cycle_ns, abs=1)
    assert not [one for one in numbers(view(STORM)) if one.startswith("cache line")]


def test_a_slider_is_told_to_do_nothing_for_an_arm_without_such_a_section():
    assert depends("orphan-file", "orphan-locked", "hold_ns")
    for arm in ("orphan-mutex", "orphan-lockless", "orphan-off"):
        assert not depends("orphan-file", arm, "hold_ns") and depends("orphan-file", arm, "elsewhere_us")
        assert f"{arm} has no such section" in sliders(changed(STORM, scene="orphan-file", arm=arm))


def test_runs_in_different_states_are_told_one_by_one():
    """At the threshold of the storm some runs are in it and some are not: their mean is that of no run."""
    seen = view(Setting(threads=32, fine=True))
    first, apart, *_ = numbers(seen)
    assert "(the mean of runs with " in first and "[" not in first
    told = re.search(r"runs with (.*)\), attempts", first)[1].split(", ")
    assert [float(one.replace(",", "")) for one in told] == pytest.approx(
        sorted(seen.at.rates_per_s), rel=1e-3
    )
    assert apart.startswith("These runs differ")
    assert "The timeline is the start of the first run, where group lock is held " in runs(seen)
    settled = view(Setting(threads=48, fine=True))
    assert "differ" not in numbers(settled)[1] and "timeline" not in runs(settled)


def test_a_lock_wait_is_that_of_all_locks_of_an_operation():
    """S2: a create that lost its bit waits for the buffer, which throttles the storm at the group lock."""
    said = removes(view(changed(STORM, scene="write-access")))
    at = view(changed(STORM, scene="write-access")).at
    total_us = sum(wait_us_per_operation(at, name) for name in at.locks)
    assert f"lock wait per operation {total_us:.4g} us (" in said and "at lock_buffer) to" in said


def test_each_patch_is_compared_with_the_arm_that_it_is_on_top_of():
    of_s2, of_s3 = (changed(STORM, scene=name).of for name in ("write-access", "group-trylock"))
    assert of_s2.after("slow-search") == "slow-retry" and of_s2.after("fast-search") == "fast-retry"
    assert of_s3.after("goal-spread") == "wait-group" and of_s3.after("trylock") == "inode-goal-scan0"


def test_arms_that_do_not_differ_are_not_said_to_need_more_runs():
    same = replace(view(STORM).at, rates_per_s=(99.0, 101.0), rate_per_s=100.0, low=98.0, high=102.0)
    pair = View(STORM, (same,), (replace(same, rate_per_s=100.5),), view(STORM).timeline)
    assert "(no difference)" in removes(pair)


def test_host_cpus_for_every_thread_change_nothing():
    assert view(Setting(cpus=64)).at == view(Setting()).at
    assert "calibrated: 2 free parameters" in calibration(view(Setting(cpus=64)))


@pytest.mark.parametrize(
    ("time_ns", "said"),
    [
        (None, "unknown"),
        (285.3, "285.3 ns"),
        (41_625.0, "41,625 ns"),
        (139.8e6, "139.8 ms"),
        (7.9e6, "7,900 us"),
    ],
)
def test_a_time_has_at_most_five_digits(time_ns: float | None, said: str):
    assert duration(time_ns) == said


def test_a_wait_and_a_hold_are_in_one_unit():
    assert _wait_and_hold(41_625.0, 285.3) == "wait 41,625 ns, hold 285.3 ns"
    assert _wait_and_hold(139.8e6, 285.3) == "wait 139,800 us, hold 0.2853 us"
    assert _wait_and_hold(139.8e6, 120.0e6) == "wait 139.8 ms, hold 120 ms"
    assert _wait_and_hold(None, 285.3) == "wait unknown, hold 285.3 ns"


def test_what_a_model_was_fitted_to_is_told_until_a_slider_moves():
    of_s4 = changed(STORM, scene="creat-clo")
    assert "journal_pass_us" in calibration(view(of_s4)), "the hand-over that was fitted has its name"
    assert calibration(view(changed(of_s4, elsewhere=50.0))).endswith(
        "not calibrated: its numbers were changed"
    )
    mutex = view(changed(STORM, scene="orphan-file", arm="orphan-mutex"))
    assert calibration(mutex).endswith("what only orphan-mutex has is assumed")


def test_a_hold_of_a_sleeping_lock_is_told_to_have_its_wake_ups():
    """A spinner has the mutex while a sleeper wakes up; a lock that goes to who comes first is free."""
    said = "(it is held meanwhile)"
    mutex, sleeping = (
        view(changed(STORM, kind=kind)).at.locks["group lock"] for kind in ("mutex", "sleeping")
    )
    assert [one.hold_ns_mean for one in (mutex, sleeping)] == [pytest.approx(285.3)] * 2
    assert mutex.busy > 0.99 and sleeping.busy < 0.9
    assert any(said in line for line in numbers(view(changed(STORM, kind="mutex"))))
    assert any("(it is free meanwhile)" in line for line in numbers(view(changed(STORM, kind="sleeping"))))
    assert not any("wake-ups" in line for line in numbers(view(STORM)))


def test_runs_that_are_all_alike_have_no_interval():
    """As of a model in which no time is random."""
    at = replace(view(STORM).at, low=5.0, high=5.0)
    alike = replace(view(STORM), curve=(at,), setting=replace(STORM, threads=at.threads))
    assert "(all runs alike)" in numbers(alike)[0] and "[" not in numbers(alike)[0]


def test_words_say_simulated_and_what_sim_says(storm: View):
    first = numbers(storm)[0]
    assert first.startswith("steal-retry at 48 threads, simulated: 80,001 creates/s ["), first
    assert "calibrated" in layout(storm)["title"]["text"]
    other = layout(view(changed(STORM, hold=100.0)))["title"]["text"]
    assert "no longer calibrated" in other


def test_one_of_many_locks_can_be_the_busy_one(storm: View):
    """S3: all threads want the group of the one goal, and the mean over all groups hides it."""
    one_goal = view(changed(STORM, scene="group-trylock"))
    assert locks_of_name(one_goal, "group lock") == 128 and locks_of_name(one_goal, "journal") == 1
    mean = one_goal.at.locks["group lock"].busy
    assert mean < 0.02 and 0.98 < busiest(one_goal, "group lock") <= 1
    (said,) = [line for line in numbers(one_goal) if line.startswith("group lock")]
    assert said.endswith("busy 0.8% on average of its 128 locks, 100% the busiest in the timeline")
    alone = locks_of_name(storm, "group lock") == 1
    assert alone and busiest(storm, "group lock") == pytest.approx(
        storm.at.locks["group lock"].busy, abs=0.05
    )
