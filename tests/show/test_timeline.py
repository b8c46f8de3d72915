# SPDX-License-Identifier: MIT
"""The timeline: each thread's time, coloured by what it does, for as many bars as a browser draws."""

import dataclasses
import re
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.show.figures.template import COLOURS
from lockscale.show.timeline import COLOUR, MAX_BARS, save_trace, timeline
from lockscale.sim.engine.layout import STATES
from lockscale.sim.trace import Span, Trace, trace


@pytest.fixture(scope="module")
def storm() -> Trace:
    return trace("inode_claim", 48, from_us=100, for_us=200, seed=3)


def of_states(count: int = 10) -> Trace:
    """Two threads that are in every state in turn."""
    spans = tuple(
        Span(n % 2, STATES[n // 2 % 5], "step", "lock", "lock", n // 2 * 1000, (n // 2 + 1) * 1000)
        for n in range(count)
    )
    return Trace("by_hand", "", {}, 2, 1, 0, count * 500, "", spans, ())


def test_bars_are_the_spans_of_each_state(storm: Trace):
    drawn = timeline(storm)
    assert {bars.name for bars in drawn.data} == {s.state for s in storm.spans}
    for bars in drawn.data:
        wanted = [s for s in storm.spans if s.state == bars.name]
        assert list(bars.y) == [s.thread for s in wanted]
        assert list(bars.base) == pytest.approx([s.start_ps / 1e6 for s in wanted])
        assert list(bars.x) == pytest.approx([(s.end_ps - s.start_ps) / 1e6 for s in wanted])
        assert bars.orientation == "h"


def test_a_line_is_full_from_edge_to_edge(storm: Trace):
    drawn = timeline(storm)
    assert sum(sum(bars.x) for bars in drawn.data) == pytest.approx(48 * 200)
    assert tuple(drawn.layout.xaxis.range) == (100, 300) and drawn.layout.barmode == "overlay"


def test_the_first_thread_is_on_top_and_the_last_is_seen(storm: Trace):
    low, high = timeline(storm).layout.yaxis.range
    assert low > 47 and high < 0


def test_every_state_has_a_colour_of_its_own_and_is_drawn_once():
    assert set(COLOUR) == set(STATES) and len(set(COLOUR.values())) == len(STATES)
    assert COLOUR["holding"] not in COLOURS, "no arm's colour, and one that orange does not hide"
    bars = timeline(of_states()).data
    assert sorted(one.name for one in bars) == sorted(STATES)
    assert bars[-1].name == "holding", "on top, because holds are the shortest"


def test_the_title_says_that_it_is_simulated_and_of_what(storm: Trace):
    title = timeline(storm).layout.title.text
    assert "inode_claim, 48 threads" in title and "simulated, calibrated, seed 3" in title
    given = dataclasses.replace(
        storm, calibration="", cut="cut short", parameters={"a_ns": 1.0, "cured": True}
    )
    other = timeline(given).layout.title.text
    assert "inode_claim, cured, 48" in other and "simulated, not calibrated, seed 3; cut short" in other


def test_hovering_names_step_lock_and_what_is_held(storm: Trace):
    (holding,) = [bars for bars in timeline(storm).data if bars.name == "holding"]
    step, lasts_ns, locks = holding.customdata[0]
    assert step == "lock group lock" and 0 < lasts_ns < 300
    assert locks == "<br>group lock<br>holds group lock"
    for part in ("%{y}", "%{customdata[0]}", "%{customdata[1]:.1f} ns", "%{customdata[2]}"):
        assert part in holding.hovertemplate


@pytest.mark.slow
def test_more_bars_than_a_browser_draws_are_refused_with_a_way_out():
    assert len(timeline(of_states(MAX_BARS)).data) == len(STATES)
    with pytest.raises(BadInput, match=r"20002 bars .* trace a shorter time, or write a \.json"):
        timeline(of_states(MAX_BARS + 2))


def test_the_page_needs_no_network_and_is_the_same_bytes_again(tmp_path: Path):
    first = save_trace(of_states(), tmp_path / "a.html").read_bytes()
    assert first == save_trace(of_states(), tmp_path / "b.html").read_bytes()
    head = first.decode()
    assert "<script src=" not in head and "<link" not in head and "Plotly.newPlot" in head


def test_the_page_has_a_title_and_words_and_offers_no_upload(tmp_path: Path):
    text = save_trace(of_states(), tmp_path / "a.html").read_text()
    assert (
        '<html lang="en">' in text and "<title>by_hand, 2 threads: who holds, spins, sleeps</title>" in text
    )
    assert 'aria-label="by_hand, 2 threads: who holds, spins, sleeps. simulated, not calibrated' in text
    assert re.search(r'"modeBarButtonsToRemove":\s*\["sendChartToCloud"', text)
