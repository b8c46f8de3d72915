# SPDX-License-Identifier: MIT
"""One look for every figure: readable in grey and at column width, safe for colour-blind readers."""

import plotly.graph_objects as go
import plotly.io as pio

# Okabe and Ito's colours; a marker and a dash go with each, so that grey print still tells them apart.
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "cross")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "solid")

pio.templates["lockscale"] = go.layout.Template(
    layout={
        "font": {"family": "DejaVu Sans, sans-serif", "size": 13, "color": "#222"},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "colorway": list(COLOURS),
        "xaxis": {
            "showline": True,
            "linecolor": "#222",
            "ticks": "outside",
            "gridcolor": "#e5e5e5",
        },
        "yaxis": {
            "showline": True,
            "linecolor": "#222",
            "ticks": "outside",
            "gridcolor": "#e5e5e5",
        },
        "legend": {"orientation": "h", "yanchor": "top", "y": -0.22, "x": 0},
        "margin": {"l": 70, "r": 20, "t": 70, "b": 90},
    }
)
WIDTH_PX, HEIGHT_PX = 720, 460


def figure(title: str, says: str, x: str, y: str) -> go.Figure:
    """An empty figure; `says` is where the numbers come from (published, simulated, measured)."""
    drawn = go.Figure()
    drawn.update_layout(
        template="lockscale",
        title={"text": f"{title}<br><sup>{says}</sup>", "x": 0.02},
        xaxis_title=x,
        yaxis_title=y,
        width=WIDTH_PX,
        height=HEIGHT_PX,
    )
    return drawn


def style(k: int) -> dict[str, object]:
    """Colour, marker and dash of the k-th series."""
    return {
        "line": {"color": COLOURS[k % 6], "dash": DASHES[k % 6], "width": 2},
        "marker": {"color": COLOURS[k % 6], "symbol": MARKERS[k % 6], "size": 9},
    }
