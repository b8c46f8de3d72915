# SPDX-License-Identifier: MIT
"""What the explorer shows is what `lockscale sim` prints for the same setting, and nothing else."""

import math
import re
import shlex
from dataclasses import replace

import pytest

from lockscale.show.explore.figure import STATES, explorer_figure, layout, traces
from lockscale.show.explore.setting import Setting, changed, scenes
from lockscale.show.explore.view import (
    View,
    busiest,
    calibration,
    depends,
    duration,
    locks_of_name,
    numbers,
    published_points,
    removes,
    runs,
    sliders,
    view,
    view_while,
    wait_us_per_operation,
)

STORM = Setting()
OF_SCENES = [changed(STORM, scene=one.name) for one in scenes()]
MOVED = [
    *OF_SCENES,
    Setting(threads=37, hold=150.0, kind="unfair"),
    Setting(arm="search-locked", elsewhere=20.0, skew_us=500.0),
    Setting(threads=16, kind="mutex", cpus=12),
]


@pytest.fixture(scope="module")
def storm() -> View:
    return view(STORM)


@pytest.mark.slow
@pytest.mark.parametrize("setting", MOVED, ids=lambda s: f"{s.scene}-{s.kind}-{s.threads}")
def test_the_figure_shows_what_the_command_prints(setting: Setting, lockscale):
    printed = lockscale(*shlex.split(setting.command())[1:], "--json").value["points"]
    shown = explorer_figure(view(setting)).data[1]
    assert list(shown.x) == [p["threads"] for p in printed] and list(shown.y) == [p["value"] for p in printed]
    (at,) = [p for p in printed if p["threads"] == setting.threads]
    seen = view(setting).at
    assert (seen.low, seen.high, seen.attempts_per_op) == (at["low"], at["high"], at["attempts_per_op"])


def test_the_band_reaches_from_low_to_high(storm: View):
    band = explorer_figure(storm).data[0]
    half = len(band.x) // 2
    assert list(band.y[:half]) == [r.high for r in storm.curve]
    assert list(reversed(band.y[half:])) == [r.low for r in storm.curve]


def below(edge_ns: float) -> float:
    """Where a bucket begins: they end at 1, 1.25, 1.5 and 1.75 times a power of 2 of picoseconds."""
    ends = [part * 2.0**power / 1000 for power in range(60) for part in (1, 1.25, 1.5, 1.75)]
    return max((end for end in ends if end < edge_ns), default=0.0)


def test_stems_are_the_histograms_of_the_chosen_threads(storm: View):
    drawn = explorer_figure(storm)
    for trace, buckets in ((drawn.data[6], "wait_histogram"), (drawn.data[7], "hold_histogram")):
        found = getattr(storm.at.locks["group lock"], buckets)
        total = sum(count for _, count in found)
        assert [x for x in trace.x[::3] if x > 1] == pytest.approx(
            [(edge + below(edge)) / 2 for edge, _ in found if below(edge) > 1]
        )
        heights = [y for y in trace.y if y > 0]
        assert heights == pytest.approx([100 * count / total for _, count in found])
        assert sum(heights) == pytest.approx(100)


def test_the_timeline_is_full_for_every_thread(storm: View):
    drawn = explorer_figure(storm)
    lanes = dict.fromkeys(range(48), 0.0)
    for trace in drawn.data[8:]:
        for k in range(0, len(trace.x), 3):
            assert trace.y[k] == trace.y[k + 1] and math.isnan(trace.x[k + 2])
            lanes[trace.y[k]] += trace.x[k + 1] - trace.x[k]
    assert list(lanes.values()) == pytest.approx([storm.timeline.to_ps / 1e6] * 48)
    assert [trace.name for trace in drawn.data[8:]] == list(STATES)


def test_s1s_points_lie_on_the_figure_as_printed(storm: View):
    assert published_points("inode-claim", "steal-retry") == ((48, 79033.0), (48, 81463.0), (48, 79875.0))
    assert list(explorer_figure(storm).data[3].y) == [79033.0, 81463.0, 79875.0]


def test_containers_are_added_up():
    """S3's base: 3588 a second for each of 64 containers."""
    assert dict(published_points("group-trylock", "wait-group"))[64] == 64 * 3588


def test_times_keep_their_ratio():
    """S4 prints 69.315 s without orphans and 122.9414 s under the lock at 128 threads."""
    off, locked = (dict(published_points("orphan-file", arm)) for arm in ("orphan-off", "orphan-locked"))
    assert off[128] / locked[128] == pytest.approx(122.9414 / 69.315)
    assert off[1] == pytest.approx(view(Setting("orphan-file", "orphan-off", 1)).at.rate_per_s)


def test_an_arm_that_was_not_published_has_no_points():
    assert published_points("group-trylock", "trylock") == ()


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


def test_an_arm_that_no_published_number_sets_is_not_called_calibrated():
    old_list = view(changed(STORM, scene="orphan-file", arm="orphan-mutex"))
    assert "simulated, orphan-mutex assumed," in layout(old_list)["title"]["text"]


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


def test_what_a_model_was_fitted_to_is_told_until_a_slider_moves():
    of_s4 = changed(STORM, scene="creat-clo")
    assert "journal_pass_us" in calibration(view(of_s4)), "the hand-over that was fitted has its name"
    assert calibration(view(changed(of_s4, elsewhere=50.0))).endswith(
        "not calibrated: its numbers were changed"
    )
    mutex = view(changed(STORM, scene="orphan-file", arm="orphan-mutex"))
    assert calibration(mutex).endswith("what only orphan-mutex has is assumed")


def test_a_hold_of_a_sleeping_lock_is_told_to_have_its_wake_ups():
    """Whoever is handed a mutex holds it while it wakes up; who may be overtaken holds nothing yet."""
    said = "(a sleeper that is handed the lock holds it meanwhile)"
    mutex, sleeping = (
        view(changed(STORM, kind=kind)).at.locks["group lock"] for kind in ("mutex", "sleeping")
    )
    assert mutex.hold_ns_mean > 285.3 + 0.4 * 5000 and sleeping.hold_ns_mean == pytest.approx(285.3)
    assert any(said in line for line in numbers(view(changed(STORM, kind="mutex"))))
    assert not any("wake-ups" in line for line in numbers(view(STORM)))


def test_runs_that_are_all_alike_have_no_interval():
    """As of a model in which no time is random."""
    at = replace(view(STORM).at, low=5.0, high=5.0)
    alike = replace(view(STORM), curve=(at,), setting=replace(STORM, threads=at.threads))
    assert "(all runs alike)" in numbers(alike)[0] and "[" not in numbers(alike)[0]


def test_without_comparison_there_is_no_other_curve():
    alone = view(changed(STORM, compare=False))
    assert alone.other == () and alone.other_at is None and removes(alone) == ""
    drawn = explorer_figure(alone)
    assert len(drawn.data[2].x) == len(drawn.data[4].x) == 0


def test_waits_follow_littles_law(storm: View):
    """Threads waiting = rate x wait of an operation."""
    lock = storm.at.locks["group lock"]
    waiting = storm.at.rate_per_s * wait_us_per_operation(storm.at, "group lock") / 1e6
    assert waiting == pytest.approx(lock.waiting_mean, rel=0.02)
    assert wait_us_per_operation(storm.at, "no such lock") == 0


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


def test_a_storm_that_begins_late_is_in_the_long_runs_only():
    quick = Setting(threads=32, compare=False)
    fine = view(Setting(threads=32, compare=False, fine=True)).at
    assert fine.operations == 20_000 and fine.rate_per_s < 0.7 * view(quick).at.rate_per_s


def test_what_is_not_wanted_any_more_is_not_simulated_to_its_end():
    asked = []
    assert view_while(Setting(hold=77.0), lambda: len(asked) < 2 and not asked.append(1)) is None
    assert len(asked) == 2
    assert view_while(Setting(), lambda: True) == view(Setting())


def test_the_figure_says_how_published_rates_were_made():
    title = {one.scene: layout(view(one))["title"]["text"] for one in OF_SCENES}
    assert title["group-trylock"].endswith("published, containers x rate of one</span>")
    assert "scaled to orphan-off at 1 thread" in title["orphan-file"]
    assert title["inode-claim"].endswith("open marks: published</span>")


def test_no_wait_is_called_none_on_a_scale_that_has_no_zero(storm: View):
    axis = layout(storm)["xaxis2"]
    assert axis["title"]["text"] == "wait or hold at group lock (ns)"
    assert dict(zip(axis["tickvals"], axis["ticktext"], strict=True))[1.0] == "none"


def test_an_arm_keeps_its_colours_whichever_is_chosen():
    looks = []
    for arm in ("steal-retry", "search-locked"):
        found = explorer_figure(view(Setting(arm=arm, threads=8))).data[1:5]
        looks.append({one.name: (one.line.color, one.line.dash, one.marker.color) for one in found})
    assert looks[0] == looks[1] and len(set(looks[0].values())) == len(looks[0]) == 4


@pytest.mark.parametrize("setting", OF_SCENES, ids=lambda s: s.scene)
def test_traces_keep_their_order_from_scene_to_scene(setting: Setting):
    found = traces(view(setting))
    assert len(found) == 8 + len(STATES)
    assert [one["name"] for one in found[6:]] == ["waits (right)", "holds (right)", *STATES]
    top = layout(view(setting))["yaxis"]["range"][1]
    assert all(y <= top for one in found[:6] for y in one["y"]) and math.isfinite(top)
