# SPDX-License-Identifier: MIT
"""What the explorer shows is what `lockscale sim` prints for the same setting, and nothing else."""

import math
import shlex

import pytest

from lockscale.show.explore.figure import STATES, explorer_figure, layout, traces
from lockscale.show.explore.setting import Setting, changed, scenes
from lockscale.show.explore.view import (
    View,
    published_points,
    view,
    view_while,
    wait_us_per_operation,
)
from lockscale.show.explore.words import removes

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


def test_the_bands_of_both_arms_reach_from_low_to_high(storm: View):
    compared = view(changed(storm.setting, compare=True))
    drawn = explorer_figure(compared)
    for band, curve in ((drawn.data[0], compared.curve), (drawn.data[-1], compared.other)):
        half = len(band.x) // 2
        assert list(band.y[:half]) == [r.high for r in curve] and half == len(curve) > 0
        assert list(reversed(band.y[half:])) == [r.low for r in curve]
    assert len(explorer_figure(view(changed(storm.setting, compare=False))).data[-1].x) == 0


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
    for trace in drawn.data[8:-1]:
        for k in range(0, len(trace.x), 3):
            assert trace.y[k] == trace.y[k + 1] and math.isnan(trace.x[k + 2])
            lanes[trace.y[k]] += trace.x[k + 1] - trace.x[k]
    assert list(lanes.values()) == pytest.approx([storm.timeline.to_ps / 1e6] * 48)
    assert [trace.name for trace in drawn.data[8:-1]] == list(STATES)


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


def test_an_arm_that_no_published_number_sets_is_not_called_calibrated():
    old_list = view(changed(STORM, scene="orphan-file", arm="orphan-mutex"))
    assert "simulated, orphan-mutex assumed," in layout(old_list)["title"]["text"]


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
    assert len(found) == 9 + len(STATES)
    assert [one["name"] for one in found[6:-1]] == ["waits (right)", "holds (right)", *STATES]
    top = layout(view(setting))["yaxis"]["range"][1]
    assert all(y <= top for one in found[:6] for y in one["y"]) and math.isfinite(top)
