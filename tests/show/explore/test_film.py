# SPDX-License-Identifier: MIT
"""Shots and the film of them: what is drawn is the trace, what is counted is what the simulator counts."""

import math
from typing import Any

import plotly.graph_objects as go
import pytest

from lockscale.errors import BadInput
from lockscale.show.explore.film import REST, STATES, Shot, film, shots, tally
from lockscale.show.explore.setting import model_of, scenes
from lockscale.sim import simulate
from lockscale.sim.trace import NO_SHARD, trace


@pytest.fixture(scope="module")
def groups() -> list[Shot]:
    return shots("group-trylock", ["wait-group", "trylock"], [8], 40)


def strokes(data: go.Scatter) -> list[tuple[float, float, float]]:
    """Start, end and height of each line; NaN lifts the pen."""
    assert all(math.isnan(x) for x in data.x[2::3])
    return list(zip(data.x[::3], data.x[1::3], data.y[::3], strict=True))


def test_acquisitions_per_operation_are_the_attempts_that_the_simulator_counts():
    """In a storm every turn of the lock is one attempt."""
    (row,) = tally(shots("inode-claim", ["steal-retry"], [48], 4000)).to_dict("records")
    found = simulate("any_lock", 48, operations=2000)
    assert row["acquisitions_per_operation"] == pytest.approx(found.attempts_per_op, rel=0.05)
    assert row["creates"] / row["stretch_us"] == pytest.approx(found.rate_per_s / 1e6, rel=0.05)


@pytest.mark.parametrize("one", scenes(), ids=lambda one: one.name)
def test_every_thread_is_in_one_state_and_every_path_begins_with_its_own_work(one):
    (shot,) = shots(one.name, [one.patch[0]], [4])
    assert sum(shot.mean_threads(state) for state in (*STATES, "ready")) == pytest.approx(4)
    steps = {span.step for span in trace(model_of(one.model), 1, one.arms[one.patch[0]]).spans}
    assert len([step for step in steps if step.startswith(REST)]) == 1


def test_a_film_of_threads_draws_the_whole_trace(groups: list[Shot]):
    drawn = film(groups)
    for shot, frame in zip(groups, drawn.frames, strict=True):
        spent_us = sum(end - start for data in frame.data for start, end, _ in strokes(data))
        assert spent_us == pytest.approx(8 * shot.stretch_us)
        assert {y for data in frame.data for *_, y in strokes(data)} == set(range(8))


def test_a_lock_that_no_shot_has_is_refused_rather_than_drawn_as_unused(groups: list[Shot]):
    with pytest.raises(BadInput, match="no lock or cache line 's_md_lok' here: did you mean s_md_lock"):
        film(groups, ["group lock", "s_md_lok"])


def test_one_number_of_threads_needs_no_list(groups: list[Shot]):
    assert tally(shots("group-trylock", ["wait-group", "trylock"], 8, 40)).equals(tally(groups))
    with pytest.raises(BadInput, match=r"threads is 'many': give a whole number such as 48, or several"):
        shots("group-trylock", ["wait-group"], "many")


def test_a_film_of_places_has_a_row_for_each_lock_and_a_line_for_each_who_comes(groups: list[Shot]):
    frame, traced = film(groups, ["group lock", "s_md_lock"]).frames[1], groups[1].trace
    known = [hold for hold in traced.holds if not hold.lock.endswith(NO_SHARD)]
    holds = [hold for hold in known if hold.lock.startswith(("group lock", "s_md_lock"))]
    waits = {span.primitive for span in traced.spans if span.state == "spinning"}
    shards = {one for one in {hold.lock for hold in holds} | waits if one.startswith("group lock[")}
    rows = [*sorted(shards, key=lambda one: int(one[len("group lock[") : -1])), "s_md_lock"]
    axis = frame.layout.yaxis
    assert [rows[k] for k in axis.tickvals] == list(axis.ticktext) and axis.ticktext[-1] == "s_md_lock"
    (holding,) = [data for data in frame.data if len(data.x) == 3 * len(holds)]
    drawn = sorted((start, round(y)) for start, _, y in strokes(holding))
    assert drawn == sorted((hold.start_ps / 1e6, rows.index(hold.lock)) for hold in holds)


@pytest.mark.parametrize("threads", [[], ["x"], [4.5]])
def test_what_is_no_number_of_threads_is_refused(threads: list[Any]):
    with pytest.raises(BadInput, match=r"give a whole number such as 48, or several as \[4, 48\]$"):
        shots("inode-claim", ["steal-retry"], threads)


def test_the_slider_names_what_differs():
    counts = film(shots("inode-claim", ["steal-retry"], [1, 4], 20))
    assert [step.label for step in counts.layout.sliders[0].steps] == ["1", "4"]
    arms = film(shots("inode-claim", ["steal-retry", "search-locked"], [4], 20))
    assert [step.label for step in arms.layout.sliders[0].steps] == ["steal-retry", "search-locked"]
    assert arms.layout.sliders[0].currentvalue.prefix == "arm: "


@pytest.mark.parametrize(
    ("name", "arm", "threads", "says"),
    [
        ("none", "steal-retry", 4, "there is no scene"),
        ("inode-claim", "none", 4, "has no arm"),
        ("inode-claim", "steal-retry", 0, "give 1 to 64"),
    ],
)
def test_what_the_explorer_does_not_have_is_refused(name: str, arm: str, threads: int, says: str):
    with pytest.raises(BadInput, match=says):
        shots(name, [arm], [threads])
