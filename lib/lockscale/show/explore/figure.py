# SPDX-License-Identifier: MIT
"""One figure for a view: curve, waits and holds, timeline. Its traces are always the same ones, in one
order, so that a change of view moves what is drawn and draws nothing anew."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lockscale.show.explore.setting import LOCK_KINDS, REPLICATIONS
from lockscale.show.explore.view import PER_CONTAINER, View, published_points
from lockscale.show.figures.template import COLOURS, PAGE_PX, open_mark, panels, style
from lockscale.show.timeline import COLOUR
from lockscale.sim import Result
from lockscale.sim.delays import PS_PER_NS, PS_PER_US
from lockscale.sim.results import Histogram
from lockscale.sim.trace import Span
from lockscale.studies.hooks import Scene

HEIGHT_PX = 680
FEW_THREADS = 12
NO_WAIT_NS = 1.0
"""Where a logarithmic axis shows what took no time."""
STATES = tuple(COLOUR)
STEMS = {"waits (right)": "#9a9a9a", "holds (right)": "#3c3c3c"}
"""Colours that neither an arm nor a state of the timeline has."""
Data = dict[str, Any]
Floats = Sequence[float]


def explorer_figure(view: View) -> go.Figure:
    """The figure with all its traces; `traces` and `layout` say what changes in it."""
    drawn = panels(
        "", "", PAGE_PX, HEIGHT_PX, rows=2, cols=2, specs=[[{}, {}], [{"colspan": 2}, None]],
        row_heights=[0.52, 0.48], column_widths=[0.62, 0.38], horizontal_spacing=0.11, vertical_spacing=0.15,
    )  # fmt: skip
    drawn.update_layout(hovermode="closest", legend={"entrywidth": 0}, margin={"t": 95, "r": 35})
    looks: list[Data] = [
        {"mode": "none", "fill": "toself", "hoverinfo": "skip"},
        {"mode": "lines+markers"},
        {"mode": "lines+markers"},
        {"mode": "markers"},
        {"mode": "markers"},
        {"mode": "markers", "marker": {"color": "#222", "symbol": "star", "size": 15}},
    ]
    for look in looks:
        drawn.add_scatter(**look, row=1, col=1)
    for colour in STEMS.values():
        drawn.add_scatter(mode="lines", line={"color": colour, "width": 5}, row=1, col=2)
    for state in STATES:
        line = {"color": COLOUR[state], "width": 5 if state == "holding" else 4}
        drawn.add_scatter(mode="lines", line=line, connectgaps=False, hoverinfo="name", row=2, col=1)
    drawn.add_scatter(**looks[0], showlegend=False, row=1, col=1)
    for trace, data in zip(drawn.data, traces(view), strict=True):
        trace.update(data)
    return drawn.update_layout(layout(view))


def traces(view: View) -> list[Data]:
    """x, y, name and look of each trace, in the figure's order. An arm has its colour whichever is chosen."""
    known, arm = view.setting.of, view.setting.arm
    other = known.after(arm)
    place = list(known.arms).index
    lock = view.at.locks.get(known.lock_of(arm))
    return [
        {**_band(view.curve), "fillcolor": _pale(COLOURS[place(arm)])},
        {**_curve(arm, view.curve), **style(place(arm))},
        {**_curve(other, view.other), **style(place(other))},
        {**_published(view, arm), "marker": _open(place(arm))},
        {**_published(view, other if view.other else ""), "marker": _open(place(other))},
        {**as_arrays([view.at.threads], [view.at.rate_per_s]), "name": "the threads chosen"},
        *map(_histogram, STEMS, (lock.wait_histogram, lock.hold_histogram) if lock else ((), ())),
        *(_lines(state, [s for s in view.timeline.spans if s.state == state]) for state in STATES),
        {**_band(view.other), "fillcolor": _pale(COLOURS[place(other)])},
    ]


def layout(view: View) -> Data:
    """Titles, axes' names and ranges, as plotly writes a layout down."""
    setting, at = view.setting, view.at
    arms = (setting.arm, setting.of.after(setting.arm))
    printed = [rate for arm in arms for _, rate in published_points(setting.scene, arm)]
    top = max([*(r.high or r.rate_per_s for r in (*view.curve, *view.other)), *printed])
    end_us = view.timeline.to_ps / PS_PER_US
    return {
        "title": {"text": _title(view)},
        "xaxis": {"title": {"text": "threads"}, "range": [0, max(setting.counts()) + 2]},
        "yaxis": {"title": {"text": at.unit}, "range": [0, 1.05 * top]},
        "xaxis2": {
            "title": {"text": f"wait or hold at {setting.of.lock_of(setting.arm)} (ns)"},
            "type": "log",
            "tickmode": "array",
            **_ticks(),
            "range": _reach(view),
        },
        "yaxis2": {"title": {"text": "share (%)"}, "rangemode": "tozero"},
        "xaxis3": {"title": {"text": "time after the warm-up (us)"}, "range": [0, end_us], "tickformat": ","},
        "yaxis3": {"title": {"text": "thread"}, **of_threads(at.threads)},
    }


def _title(view: View) -> str:
    calibrated = "calibrated" if view.at.calibration else "no longer calibrated"
    if view.setting.of.any_kind and view.setting.kind != LOCK_KINDS[0]:
        calibrated = f"calibrated for a {LOCK_KINDS[0]} lock"
    if view.setting.arm in view.setting.of.assumed:
        calibrated = f"{view.setting.arm} assumed"
    runs = f"{REPLICATIONS} runs of {view.setting.operations:,} operations"
    simulated = f"lines: simulated, {calibrated}, band 95% of {runs}; below: how the first begins"
    says = f"{simulated}<br>open marks: published{_made_of(view.setting.of)}"
    return f'{view.setting.of.title}<br><span style="font-size:13px">{says}</span>'


def _made_of(of: Scene) -> str:
    """How `published_points` makes rates of all threads of what was printed."""
    if of.statistic == PER_CONTAINER:
        return ", containers x rate of one"
    return f" times, scaled to {of.scaled} at 1 thread" if of.scaled else ""


def _ticks() -> Data:
    powers = range(1, 13)
    labels = [f"10<sup>{p}</sup>" for p in powers]
    return {"tickvals": (NO_WAIT_NS, *(10.0**p for p in powers)), "ticktext": ("none", *labels)}


def _band(curve: Sequence[Result]) -> Data:
    known = [r for r in curve if r.low is not None and r.high is not None]
    x = [r.threads for r in known]
    y = [*(r.high for r in known), *(r.low for r in reversed(known))]
    return {**as_arrays([*x, *reversed(x)], y), "name": "95% interval"}


def _curve(arm: str, curve: Sequence[Result]) -> Data:
    points = as_arrays([r.threads for r in curve], [r.rate_per_s for r in curve])
    return {**points, "name": f"{arm}, simulated"}


def _published(view: View, arm: str) -> Data:
    points = published_points(view.setting.scene, arm) if arm else ()
    drawn = as_arrays([n for n, _ in points], [rate for _, rate in points])
    return {**drawn, "name": f"{arm}, published", "showlegend": bool(points)}


def _histogram(name: str, buckets: Histogram) -> Data:
    """A stem for each bucket, in its middle: there are four an octave (engine/world.py), equally wide."""
    total = sum(count for _, count in buckets) or 1
    x = [max(_middle(edge_ns), NO_WAIT_NS) for edge_ns, _ in buckets]
    y = [100 * count / total for _, count in buckets]
    return {**strokes(x, x, [0.0] * len(y), y), "name": name}


def _middle(edge_ns: float) -> float:
    if edge_ns <= 0:
        return 0.0
    edge_ps = round(edge_ns * PS_PER_NS)
    octave_ps = 1 << (edge_ps - 1).bit_length() >> 1  # where the bucket's octave begins
    return (edge_ps - octave_ps / 8) / PS_PER_NS


def of_threads(threads: int) -> Data:
    """An axis with a line for each: whole numbers, and no more labels than there is room for."""
    apart = next((step for step in (1, 2, 5) if threads <= FEW_THREADS * step), 10)
    return {"range": [threads - 0.5, -0.5], "dtick": apart}


def _reach(view: View) -> list[float]:
    """The logarithmic axis of waits and holds: all of them, and what took no time."""
    lock = view.at.locks.get(view.setting.of.lock_of(view.setting.arm))
    buckets = [*lock.wait_histogram, *lock.hold_histogram] if lock else []
    longest = max([edge_ns for edge_ns, _ in buckets] + [10.0])
    return [-0.15, math.log10(longest) + 0.2]


def _lines(state: str, spans: Sequence[Span]) -> Data:
    start = [span.start_ps / PS_PER_US for span in spans]
    end = [span.end_ps / PS_PER_US for span in spans]
    thread = [span.thread for span in spans]
    return {**strokes(start, end, thread, thread), "name": state, "showlegend": bool(spans)}


def strokes(x0: Floats, x1: Floats, y0: Floats, y1: Floats) -> Data:
    """Lines that do not touch: NaN between them lifts the pen."""
    gap = np.full(len(x0), np.nan)
    return as_arrays(np.column_stack([x0, x1, gap]).ravel(), np.column_stack([y0, y1, gap]).ravel())


def as_arrays(x: Any, y: Any) -> Data:
    """As arrays, which plotly neither checks one by one nor sends as text."""
    return {"x": np.asarray(x, float), "y": np.asarray(y, float)}


def _pale(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"


def _open(k: int) -> Data:
    return {**open_mark(style(k)["marker"]), "size": 13}
