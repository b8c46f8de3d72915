# SPDX-License-Identifier: MIT
"""Shots on one slider: who works, who has a lock, who waits; the strip below scrubs through time."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from lockscale.report.template import figure
from lockscale.report.timeline import COLOUR
from lockscale.show.explore.figure import Data, strokes
from lockscale.show.explore.shots import Shot, is_at, operations
from lockscale.sim.delays import PS_PER_US

WIDTH_PX, HEIGHT_PX = 980, 740
SEEN_US = 30.0
"""What is in sight at first; the strip below the axis moves it."""
WAITING = ("spinning", "sleeping", "running")


class Stroke(NamedTuple):
    """A line of the picture: in which state, how high, from when to when."""

    state: str
    height: float
    start_ps: int
    end_ps: int


def film(taken: Sequence[Shot], places: Sequence[str] = ()) -> go.Figure:
    """One frame a shot: a line for each thread, or with `places` a row for each of these locks and cache
    lines, with all their shards that are used, and in it a line for each thread."""
    scenes = [_frame(one, places) for one in taken]
    drawn = figure(_title(taken), _says(taken[0]), "time after the warm-up (us)", "", WIDTH_PX)
    for state, data in zip(COLOUR, scenes[0].data, strict=True):
        drawn.add_trace(data).data[-1].update(name=state, showlegend=True)
    drawn.frames = scenes
    drawn.update_layout(scenes[0].layout).update_layout(
        height=HEIGHT_PX, hovermode="closest", margin={"t": 105, "b": 150, "l": 20},
        legend={"yref": "paper", "y": 1.0, "xref": "paper"}, sliders=[_slider(taken, scenes)],
    )  # fmt: skip
    strip = {"visible": True, "thickness": 0.12, "range": [0, taken[0].stretch_us]}
    return drawn.update_xaxes(range=[0, min(SEEN_US, taken[0].stretch_us)], rangeslider=strip)


def _frame(one: Shot, places: Sequence[str]) -> go.Frame:
    found, axis = _by_place(one, places) if places else _by_thread(one)
    count = f"{len(one.turns())} turns of {one.lock} for {len(one.finished())} {operations(one.of)}"
    says = f"{_says(one)}; {one.stretch_us:g} us: {count}"
    title = figure(f"{one.arm} at {one.threads} threads", says, "", "", WIDTH_PX).layout.title.text
    width = 3 if places or one.threads > 24 else 5
    data = [_lines(state, [s for s in found if s.state == state], width, bool(places)) for state in COLOUR]
    layout = {"title": {"text": title}, "yaxis": axis}
    return go.Frame(name=f"{one.arm} {one.threads}", data=data, layout=layout)


def _by_thread(one: Shot) -> tuple[list[Stroke], Data]:
    found = [Stroke(s.state, s.thread, s.start_ps, s.end_ps) for s in one.trace.spans]
    reach = {"range": [one.threads - 0.5, -0.5], "tickvals": None, "ticktext": None}
    return found, {"title": {"text": "thread"}, **reach}


def _by_place(one: Shot, places: Sequence[str]) -> tuple[list[Stroke], Data]:
    """In the row of a place each thread that comes there has a line of its own."""
    spans = [(s.primitive, Stroke(s.state, s.thread, s.start_ps, s.end_ps)) for s in one.trace.spans]
    holds = [(h.lock, Stroke("holding", h.thread, h.start_ps, h.end_ps)) for h in one.trace.holds]
    at = [(place, s) for place, s in spans if s.state in WAITING] + holds
    at = [(place, s) for place, s in at if any(is_at(place, name) for name in places)]
    rows = sorted({place for place, _ in at}, key=lambda place: _order(place, places))
    found: list[Stroke] = []
    for k, row in enumerate(rows):
        here = [s for place, s in at if place == row]
        lanes = {thread: n for n, thread in enumerate(sorted({s.height for s in here}))}
        found += [s._replace(height=k - 0.4 + 0.8 * (lanes[s.height] + 0.5) / len(lanes)) for s in here]
    ticks = {"tickvals": list(range(len(rows))), "ticktext": rows, "range": [max(3, len(rows)) - 0.5, -0.5]}
    return found, {"title": {"text": ""}, **ticks}


def _order(place: str, places: Sequence[str]) -> tuple[int, int]:
    """As the places are named, and within one by shard."""
    shard = re.search(r"\[(\d+)\]", place)
    return next(k for k, name in enumerate(places) if is_at(place, name)), int(shard[1]) if shard else 0


def _lines(state: str, found: Sequence[Stroke], width: int, marked: bool) -> go.Scatter:
    """With marks at their ends, so that what is shorter than a pixel is seen too."""
    start, end = [s.start_ps / PS_PER_US for s in found], [s.end_ps / PS_PER_US for s in found]
    height = [s.height for s in found]
    width += 3 * (state == "holding")
    return go.Scatter(
        **strokes(start, end, height, height), mode="lines+markers" if marked else "lines",
        line={"color": COLOUR[state], "width": width}, marker={"symbol": "square", "size": width},
        connectgaps=False, hoverinfo="name",
    )  # fmt: skip


def _slider(taken: Sequence[Shot], scenes: Sequence[go.Frame]) -> dict[str, Any]:
    now = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    steps = [
        {"label": label, "method": "animate", "args": [[scene.name], now]}
        for label, scene in zip(_labels(taken), scenes, strict=True)
    ]
    said = {"prefix": "arm: " if taken[0].threads == taken[-1].threads else "threads: "}
    return {"steps": steps, "active": 0, "currentvalue": said, "pad": {"t": 130}, "x": 0.05, "len": 0.9}


def _labels(taken: Sequence[Shot]) -> list[str]:
    """What differs from shot to shot."""
    arms, counts = {one.arm for one in taken}, {one.threads for one in taken}
    if len(counts) == 1:
        return [one.arm for one in taken]
    return [f"{one.threads}" if len(arms) == 1 else f"{one.arm}, {one.threads}" for one in taken]


def _title(taken: Sequence[Shot]) -> str:
    return f"{', '.join(dict.fromkeys(one.arm for one in taken))} in {taken[0].of.name}"


def _says(one: Shot) -> str:
    calibrated = "calibrated" if one.trace.calibration else "not calibrated"
    return f"simulated, {calibrated}, seed {one.trace.seed}"
