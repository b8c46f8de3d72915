# SPDX-License-Identifier: MIT
"""A stretch of simulated time of some arms, counted, and on one slider: who works, who has a lock, who waits.

The strip below the figure scrubs through time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd
import plotly.graph_objects as go

from lockscale.errors import BadInput, near, printable
from lockscale.show.explore.figure import Data, of_threads, strokes
from lockscale.show.explore.setting import SEED, Setting, model_of
from lockscale.show.figures.template import PAGE_PX, figure
from lockscale.show.timeline import COLOUR
from lockscale.sim.delays import PS_PER_US
from lockscale.sim.trace import NO_SHARD, Hold, Span, Trace, trace
from lockscale.studies.hooks import Scene

STRETCH_US = 100.0
REST = "the rest of "
"""How every scene's path begins: with the work that needs nothing of what is shared."""
STATES = ("running", "holding", "spinning", "sleeping")


@dataclass(frozen=True)
class Shot:
    """One arm at one number of threads, from the end of the warm-up on."""

    of: Scene
    arm: str
    trace: Trace

    @property
    def threads(self) -> int:
        return self.trace.threads

    @property
    def lock(self) -> str:
        return self.of.lock_of(self.arm)

    @property
    def stretch_us(self) -> float:
        return (self.trace.to_ps - self.trace.from_ps) / PS_PER_US

    def acquisitions(self) -> list[Hold]:
        """The holds of the arm's lock that end within the stretch."""
        return [
            one for one in self.trace.holds if is_at(one.lock, self.lock) and one.end_ps < self.trace.to_ps
        ]

    def finished(self) -> list[Span]:
        """Where a thread goes back to the work of its own: one operation has ended."""
        mine = [one for one in self.trace.spans if one.step.startswith(REST)]
        return [one for one in mine if one.start_ps > self.trace.from_ps]

    def mean_threads(self, state: str) -> float:
        """How many threads are in the state, on average over the stretch."""
        spent_ps = sum(one.end_ps - one.start_ps for one in self.trace.spans if one.state == state)
        return spent_ps / (self.trace.to_ps - self.trace.from_ps)


def shots(
    name: str, arms: Sequence[str], threads: Sequence[int] | int, stretch_us: float = STRETCH_US
) -> list[Shot]:
    """Every arm of the scene at every number of threads: the start of the run that the explorer shows.

    Raises BadInput for a scene, an arm or a number of threads that the explorer does not have.
    """
    numbers = threads if isinstance(threads, Sequence) else [threads]
    if not numbers or not all(isinstance(n, int) for n in numbers):
        raise BadInput(f"threads is {threads!r}: give a whole number such as 48, or several as [4, 48]")
    found = []
    for one in [Setting(name, arm, n) for arm in arms for n in numbers]:
        model, given = model_of(one.of.model), one.parameters()
        seen = trace(model, one.threads, given, for_us=stretch_us, seed=SEED, operations=one.operations)
        found.append(Shot(one.of, one.arm, seen))
    return found


def is_at(place: str, name: str) -> bool:
    """Whether "group lock[3]" is a shard of "group lock"."""
    return place.partition("[")[0] == name


def operations(of: Scene) -> str:
    """What the scene's model counts: creates, truncates."""
    return model_of(of.model).unit.partition("/")[0]


def tally(taken: Sequence[Shot]) -> pd.DataFrame:
    """What the shots show, counted. The columns of STATES: how many threads are in each, on average."""
    return pd.DataFrame(
        {
            "arm": one.arm,
            "threads": one.threads,
            "stretch_us": one.stretch_us,
            operations(one.of): len(one.finished()),
            "lock": one.lock,
            "acquisitions": len(one.acquisitions()),
            "acquisitions_per_operation": round(len(one.acquisitions()) / max(1, len(one.finished())), 2),
            "locks_used": len({hold.lock for hold in one.acquisitions() if not hold.lock.endswith(NO_SHARD)}),
            **{state: round(one.mean_threads(state), 2) for state in STATES},
            "origin": "simulated",
        }
        for one in taken
    )


HEIGHT_PX = 740
MOST_ROWS_SAID = 16
"""More names of places would be printed over one another."""
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
    lines, with all their shards that are used, and in it a line for each thread.

    Raises BadInput for a place that no shot has.
    """
    _refuse_unknown(taken, places)
    scenes = [_frame(one, places) for one in taken]
    title = f"{', '.join(dict.fromkeys(one.arm for one in taken))} in {taken[0].of.name}"
    drawn = figure(title, _says(taken[0]), "time after the warm-up (us)", "", PAGE_PX)
    for state, data in zip(COLOUR, scenes[0].data, strict=True):
        drawn.add_trace(data).data[-1].update(name=state, showlegend=True)
    drawn.frames = scenes
    drawn.update_layout(scenes[0].layout).update_layout(
        height=HEIGHT_PX, hovermode="closest", margin={"t": 105, "b": 150, "l": 20},
        legend={"yref": "paper", "y": 1.0, "xref": "paper"}, sliders=[_slider(taken, scenes)],
    )  # fmt: skip
    strip = {"visible": True, "thickness": 0.12, "range": [0, taken[0].stretch_us]}
    return drawn.update_xaxes(range=[0, min(SEEN_US, taken[0].stretch_us)], rangeslider=strip)


def _refuse_unknown(taken: Sequence[Shot], places: Sequence[str]) -> None:
    """An empty row would say that nobody is there."""
    spans = {span.primitive for one in taken for span in one.trace.spans}
    used = spans | {hold.lock for one in taken for hold in one.trace.holds}
    for name in places:
        if not any(is_at(place, name) for place in used):
            known = {place.partition("[")[0] for place in used} - {""}
            raise BadInput(f"no lock or cache line {printable(name)!r} here{near(name, known)}")


def _frame(one: Shot, places: Sequence[str]) -> go.Frame:
    found, axis = _by_place(one, places) if places else _by_thread(one)
    taken, done = len(one.acquisitions()), len(one.finished())
    count = f"{taken} acquisitions of {one.lock} for {done} {operations(one.of)}"
    says = f"{_says(one)}; {one.stretch_us:g} us: {count}"
    title = figure(f"{one.arm} at {one.threads} threads", says, "", "", PAGE_PX).layout.title.text
    width = 3 if places or one.threads > 24 else 5
    data = [_lines(state, [s for s in found if s.state == state], width, bool(places)) for state in COLOUR]
    layout = {"title": {"text": title}, "yaxis": axis}
    return go.Frame(name=f"{one.arm} {one.threads}", data=data, layout=layout)


def _by_thread(one: Shot) -> tuple[list[Stroke], Data]:
    found = [Stroke(s.state, s.thread, s.start_ps, s.end_ps) for s in one.trace.spans]
    # what a frame leaves out stays as it was before
    return found, {"title": {"text": "thread"}, "tickvals": None, "ticktext": None, **of_threads(one.threads)}


def _by_place(one: Shot, places: Sequence[str]) -> tuple[list[Stroke], Data]:
    """In the row of a place each thread that comes there has a line of its own."""
    spans = [(s.primitive, Stroke(s.state, s.thread, s.start_ps, s.end_ps)) for s in one.trace.spans]
    holds = [(h.lock, Stroke("holding", h.thread, h.start_ps, h.end_ps)) for h in one.trace.holds]
    at = [(place, s) for place, s in spans if s.state in WAITING] + holds
    at = [(place, s) for place, s in at if any(is_at(place, name) for name in places)]
    at = [(place, s) for place, s in at if not place.endswith(NO_SHARD)]  # there is no row for it
    rows = sorted({place for place, _ in at}, key=lambda place: _order(place, places))
    found: list[Stroke] = []
    for k, row in enumerate(rows):
        here = [s for place, s in at if place == row]
        lanes = {thread: n for n, thread in enumerate(sorted({s.height for s in here}))}
        found += [s._replace(height=k - 0.4 + 0.8 * (lanes[s.height] + 0.5) / len(lanes)) for s in here]
    every = -(-len(rows) // MOST_ROWS_SAID)
    said = [k for k, row in enumerate(rows) if k % every == 0 or "[" not in row]
    ticks = {
        "tickvals": list(said),
        "ticktext": [rows[k] for k in said],
        "range": [max(3, len(rows)) - 0.5, -0.5],
    }
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
    shown = {"prefix": "arm: " if taken[0].threads == taken[-1].threads else "threads: "}
    return {"steps": steps, "active": 0, "currentvalue": shown, "pad": {"t": 130}, "x": 0.05, "len": 0.9}


def _labels(taken: Sequence[Shot]) -> list[str]:
    """What differs from shot to shot."""
    arms, counts = {one.arm for one in taken}, {one.threads for one in taken}
    if len(counts) == 1:
        return [one.arm for one in taken]
    return [f"{one.threads}" if len(arms) == 1 else f"{one.arm}, {one.threads}" for one in taken]


def _says(one: Shot) -> str:
    calibrated = "calibrated" if one.trace.calibration else "not calibrated"
    if one.arm in one.of.assumed:
        calibrated = f"{one.arm} assumed"
    return f"simulated, {calibrated}, seed {one.trace.seed}"
