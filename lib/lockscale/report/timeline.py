# SPDX-License-Identifier: MIT
"""A simulated trace as a picture: a line for each thread, a colour for what it does."""

import plotly.graph_objects as go

from lockscale.errors import BadInput
from lockscale.report.template import COLOURS, figure
from lockscale.sim.delays import PS_PER_NS, PS_PER_US
from lockscale.sim.trace import Span, Trace

# In the order in which they are drawn: the shortest and most telling on top.
COLOUR = {
    "sleeping": COLOURS[5],
    "spinning": COLOURS[4],
    "ready": COLOURS[3],
    "running": COLOURS[2],
    "holding": COLOURS[0],
}
MAX_BARS = 20_000
"""What a browser still draws and moves with ease."""
WIDTH_PX, ROW_PX, FRAME_PX = 1000, 14, 160

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
    drawn = figure(title, says, "time after the warm-up (us)", "thread", WIDTH_PX)
    for state in COLOUR:
        spans = [span for span in trace.spans if span.state == state]
        if spans:
            drawn.add_trace(_bars(state, spans))
    drawn.update_layout(
        barmode="overlay",
        bargap=0.1,
        height=FRAME_PX + ROW_PX * max(8, trace.threads),
        hovermode="closest",
    )
    drawn.update_yaxes(range=[trace.threads - 0.5, -0.5], showgrid=False, fixedrange=True)
    return drawn.update_xaxes(range=[trace.from_ps / PS_PER_US, trace.to_ps / PS_PER_US], showgrid=False)


def check_bars(count: int) -> None:
    """Raises BadInput for more bars than a browser can show."""
    if count > MAX_BARS:
        raise BadInput(
            f"a timeline of {count} bars is too much for a browser, which draws {MAX_BARS}: "
            "trace a shorter time, or write a .json and open it in ui.perfetto.dev"
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
