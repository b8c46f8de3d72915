# SPDX-License-Identifier: MIT
"""A simulated trace as a person sees it: a line for each thread, in a page or in Perfetto.

For ui.perfetto.dev and chrome://tracing: Chrome's Trace Event Format. Times are whole nanoseconds,
since Perfetto rounds to them, start and duration each for itself, and drops slices that then overlap.
"""

import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from lockscale.errors import BadInput
from lockscale.files import write_text
from lockscale.show.figures.formats import page
from lockscale.show.figures.template import COLOURS, PAGE_PX, figure
from lockscale.sim.delays import PS_PER_NS, PS_PER_US
from lockscale.sim.trace import Hold, Span, Trace

# Numbers that no thread has: Perfetto takes one that is a process's for its main thread.
THREADS, LOCKS = 1_000_000, 2_000_000
FIRST_LOCK = 100_000


def perfetto(trace: Trace) -> dict[str, Any]:
    """The trace as a JSON object: a track for each thread, and one for each lock that was held.

    Locks that readers share have as many tracks as there are readers at a time.
    """
    tracks = lock_tracks(trace.holds)
    events = sorted(_slices(trace, tracks), key=lambda event: float(event["ts"]))
    return {
        "displayTimeUnit": "ns",
        "otherData": {
            "origin": "simulated",
            "model": trace.model,
            "calibration": trace.calibration or "not calibrated",
            "parameters": dict(trace.parameters),
            "threads": trace.threads,
            "seed": trace.seed,
            "from_us": trace.from_ps / PS_PER_US,
            "to_us": trace.to_ps / PS_PER_US,
            "cut": trace.cut,
        },
        "traceEvents": [*_names(trace, [track[0].lock for track in tracks]), *events],
    }


def lock_tracks(holds: Iterable[Hold]) -> list[list[Hold]]:
    """The holds, given by lock, then time, of each lock on as many tracks as keep them apart."""
    found: list[list[Hold]] = []
    for _, of_lock in itertools.groupby(holds, key=lambda hold: hold.lock):
        tracks: list[list[Hold]] = []
        for hold in of_lock:
            free = next((track for track in tracks if track[-1].end_ps <= hold.start_ps), None)
            if free is None:
                tracks.append([hold])
            else:
                free.append(hold)
        found += tracks
    return found


def _slices(trace: Trace, tracks: list[list[Hold]]) -> Iterator[dict[str, Any]]:
    for s in trace.spans:
        known = {"step": s.step, "primitive": s.primitive, "holds": s.holds}
        args = {name: value for name, value in known.items() if value}
        event = {"name": f"{s.state}: {s.step}", "cat": s.state, "pid": THREADS, "tid": s.thread + 1}
        yield {**event, **_time_of(s), "args": args}
    for tid, track in enumerate(tracks, start=FIRST_LOCK):
        for h in track:
            how = "read" if h.read else "held"
            event = {"name": f"thread {h.thread}", "cat": how, "pid": LOCKS, "tid": tid}
            yield {**event, **_time_of(h), "args": {"lock": h.lock, "thread": h.thread}}


def _time_of(one: Span | Hold) -> dict[str, Any]:
    """A complete event's start and duration, in us of whole ns."""
    start_ns, end_ns = one.start_ps // PS_PER_NS, one.end_ps // PS_PER_NS
    return {"ph": "X", "ts": start_ns / 1000, "dur": (end_ns - start_ns) / 1000}


def _names(trace: Trace, locks: list[str]) -> Iterator[dict[str, Any]]:
    """What the tracks are called, in the order in which they are to stand."""
    tracks = [(THREADS, thread + 1, f"thread {thread}") for thread in range(trace.threads)]
    tracks += [(LOCKS, FIRST_LOCK + k, name) for k, name in enumerate(locks)]
    for pid, name in ((THREADS, "threads"), (LOCKS, "locks: who holds")):
        yield _name("process_name", pid, 0, name=f"{name} ({trace.model}, simulated)")
    for order, (pid, tid, name) in enumerate(tracks):
        yield _name("thread_name", pid, tid, name=name)
        yield _name("thread_sort_index", pid, tid, sort_index=order)


def _name(what: str, pid: int, tid: int, **args: object) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": args}


# In the order in which they are drawn: the shortest and most telling on top.
COLOUR = {
    "sleeping": COLOURS[5],
    "spinning": COLOURS[4],
    "ready": COLOURS[3],
    "running": COLOURS[2],
    "holding": "#000000",  # one thread among dozens has to be seen, beside the orange of those that spin
}
MAX_BARS = 20_000
"""What a browser still draws and moves with ease."""
ROW_PX, FRAME_PX = 14, 160

HOVER = (
    "thread %{y}: %{fullData.name}, %{customdata[0]}<br>%{customdata[1]:.1f} ns from %{base:.4f} us"
    "%{customdata[2]}<extra></extra>"
)


def timeline(trace: Trace) -> go.Figure:
    """Who holds, who spins, who sleeps: threads downwards, time to the right, details on hover.

    Raises BadInput for more than 20 000 spans, which a browser cannot show.
    """
    check_bars(len(trace.spans))
    switches = [name for name, value in trace.parameters.items() if value is True]
    title = f"{', '.join([trace.model, *switches])}, {trace.threads} threads: who holds, spins, sleeps"
    calibrated = "calibrated" if trace.calibration else "not calibrated"
    says = "; ".join(filter(None, [f"simulated, {calibrated}, seed {trace.seed}", trace.cut]))
    drawn = figure(title, says, "time after the warm-up (us)", "thread", PAGE_PX)
    for state in COLOUR:
        spans = [span for span in trace.spans if span.state == state]
        if spans:
            drawn.add_trace(_bars(state, spans))
    height = FRAME_PX + ROW_PX * max(8, trace.threads)
    drawn.update_layout(barmode="overlay", bargap=0.1, height=height, hovermode="closest")
    drawn.update_yaxes(range=[trace.threads - 0.5, -0.5], showgrid=False, fixedrange=True)
    return drawn.update_xaxes(range=[trace.from_ps / PS_PER_US, trace.to_ps / PS_PER_US], showgrid=False)


def check_bars(count: int) -> None:
    if count > MAX_BARS:
        raise BadInput(
            f"a timeline of {count} bars is too much for a browser (at most {MAX_BARS}): trace a shorter "
            f"time, or write a .json and open it in ui.perfetto.dev"
        )


def _bars(state: str, spans: list[Span]) -> go.Bar:
    return go.Bar(
        name=state,
        orientation="h",
        y=[s.thread for s in spans],
        base=[s.start_ps / PS_PER_US for s in spans],
        x=[(s.end_ps - s.start_ps) / PS_PER_US for s in spans],
        customdata=[[s.step, (s.end_ps - s.start_ps) / PS_PER_NS, _locks(s)] for s in spans],
        hovertemplate=HOVER,
        # an outline, because a hold is often shorter than a pixel is wide
        marker={"color": COLOUR[state], "line": {"color": COLOUR[state], "width": int(state == "holding")}},
    )


def _locks(span: Span) -> str:
    on = f"<br>{span.primitive}" if span.primitive else ""
    return f"{on}<br>holds {span.holds}" if span.holds else on


VIEWERS = {".json": "ui.perfetto.dev", ".html": "a browser"}


def check_file(file: Path, spans: int = 0) -> None:
    """Raises BadInput for an ending that nothing opens, and for more spans than its viewer can show."""
    if file.suffix not in VIEWERS:
        raise BadInput(f"'{file}' does not end in .json (for Perfetto) or .html (a timeline)")
    if file.suffix == ".html":
        check_bars(spans)


def save_trace(trace: Trace, file: Path) -> Path:
    """Write the trace for Perfetto (.json) or as a page that needs no network (.html)."""
    check_file(file)
    if file.suffix == ".json":
        write_text(file, json.dumps(perfetto(trace), separators=(",", ":")) + "\n")
    else:
        write_text(file, page(timeline(trace), "timeline"))
    return file
