# SPDX-License-Identifier: MIT
"""One look for every figure: readable in grey and at column width, safe for colour-blind readers."""

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
from plotly.subplots import make_subplots

Numbers: TypeAlias = "pd.Series[float]"

# Okabe and Ito's colours; a marker and a dash go with each, so that grey print still tells them apart.
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "cross")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")

# In a column 85 mm wide the letters of axes and legend are 6.5 points high, those under the title 6.
WIDTH_PX, HEIGHT_PX = 520, 400
PAGE_PX = 940  # a cell of JupyterLab shows 948 in a window of 1400
FONT_PX, TITLE_PX, SAYS_PX = 14, 16, 13
BELOW_PX, LEGEND_LINE_PX = 90, 20  # under the axes: ticks, title and two lines of legend
LETTERS_OF_HALF = 22  # of a name of which two stand beside each other
BUTTONS = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["sendChartToCloud", "lasso2d", "select2d"],
    "toImageButtonOptions": {"filename": "lockscale", "format": "svg"},
}
"""Nothing leaves this machine: plotly's own "Share chart..." would upload it."""
TASKS = "processes or threads"  # of a load, a table, a model: one name on every axis
LETTER = 0.58  # mean width of a letter of DejaVu Sans, of its size

_AXIS = {
    "showline": True, "linecolor": "#222", "ticks": "outside", "gridcolor": "#e5e5e5", "automargin": True,
    "zeroline": False, "title": {"font": {"size": FONT_PX}, "standoff": 8},
}  # fmt: skip

pio.renderers["plotly_mimetype"].config.update(BUTTONS)
pio.templates["lockscale"] = go.layout.Template(
    layout={
        "font": {"family": "DejaVu Sans, sans-serif", "size": FONT_PX, "color": "#222"},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "colorway": list(COLOURS),
        "hoverlabel": {"namelength": -1},  # of names that begin alike the first 15 letters tell nothing
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "legend": {
            "orientation": "h",
            "xref": "container",
            "x": 0,
            "yref": "container",
            "yanchor": "bottom",
            "y": 0,
        },
        "margin": {"l": 70, "r": 20, "b": BELOW_PX},
    }
)


def figure(title: str, says: str, x: str, y: str, width_px: int = WIDTH_PX) -> go.Figure:
    """An empty figure; `says` is where the numbers come from (published, simulated, measured)."""
    if width_px > PAGE_PX:
        raise ValueError(f"a figure of {width_px} pixels is cut off on a page of {PAGE_PX}")
    heads, tails = _wrapped(title, width_px, TITLE_PX), _wrapped(says, width_px, SAYS_PX)
    text = "<br>".join([*heads, *(f'<span style="font-size:{SAYS_PX}px">{line}</span>' for line in tails)])
    drawn = go.Figure()
    drawn.update_layout(
        template="lockscale",
        title={"text": text, "x": 0.02, "yref": "container", "y": 1, "yanchor": "top", "pad_t": TITLE_PX},
        title_font_size=TITLE_PX,
        margin_t=20 + 21 * len(heads) + 20 * len(tails),
        meta={"title": title, "says": says},
        legend={"entrywidth": 0.48, "entrywidthmode": "fraction"} if width_px <= WIDTH_PX else {},
        legend_font_size=SAYS_PX,
        xaxis_title=x,
        yaxis_title="<br>".join(_wrapped(y, HEIGHT_PX // 2, FONT_PX)),
        width=width_px,
        height=HEIGHT_PX,
    )
    return drawn


def panels(title: str, says: str, width_px: int, height_px: float, **grid: Any) -> go.Figure:
    """Several pairs of axes under one title; `grid` as plotly's make_subplots takes it."""
    drawn = make_subplots(**grid)
    titles = drawn.layout.annotations
    drawn.update_layout(figure(title, says, "", "", width_px).layout)
    return drawn.update_layout(
        annotations=titles, xaxis_title=None, yaxis_title=None, height=round(height_px)
    )


def error_bars(value: Numbers, low: Numbers, high: Numbers) -> dict[str, Any]:
    """An interval, which need not be the same both ways."""
    return {"type": "data", "symmetric": False, "array": high - value, "arrayminus": value - low}


def band(x: Sequence[float], low: Sequence[float], high: Sequence[float]) -> dict[str, Any]:
    """The trace that fills what lies between two curves."""
    outline = {"x": [*x, *x[::-1]], "y": [*high, *low[::-1]]}
    return {**outline, "fill": "toself", "mode": "none", "fillcolor": "rgba(0,114,178,0.18)"}


Look: TypeAlias = dict[str, dict[str, Any]]


def style(k: int) -> Look:
    """Colour, marker and dash of the k-th series; from the seventh on colours come again with other marks."""
    colour, look = COLOURS[k % 6], (k + k // 6) % 6
    return {
        "line": {"color": colour, "dash": DASHES[look], "width": 2},
        "marker": {"color": colour, "symbol": MARKERS[look], "size": 9},
    }


def open_mark(marker: dict[str, Any]) -> dict[str, Any]:
    """The same marker as a large outline: of what is known beside what is simulated or predicted."""
    symbol = f"{marker['symbol'].removesuffix('-open')}-open"
    return {**marker, "symbol": symbol, "size": 14, "line": {"width": 2}}


def room_for_legend(drawn: go.Figure) -> go.Figure:
    """The same figure, higher by the lines of a legend below it beyond two: else they eat the axes."""
    named = [one.name for one in drawn.data if one.name and getattr(one, "showlegend", None) is not False]
    inside = drawn.layout.legend.yref == "paper"
    if inside or len(named) < 2 or drawn.layout.width > WIDTH_PX:
        return drawn
    columns = 2 if max(map(len, named)) <= LETTERS_OF_HALF else 1
    below = BELOW_PX + LEGEND_LINE_PX * max(0, math.ceil(len(named) / columns) - 2)
    more = below - (drawn.layout.margin.b or BELOW_PX)
    return drawn.update_layout(
        height=drawn.layout.height + more, margin_b=below, legend_entrywidth=0.48 if columns == 2 else 1
    )


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, ... from below `low` to above `high`: plotly's own are one a decade, or bare digits."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]


def log_rates(drawn: go.Figure, low: float, high: float, **place: int) -> go.Figure:
    """The same figure with a logarithmic y that says so, and shows a decade at least."""
    drawn.update_yaxes(type="log", tickvals=log_ticks(low, high), **place)
    if high < 10 * low:
        middle = math.log10(low * high) / 2
        drawn.update_yaxes(range=[middle - 0.55, middle + 0.55], **place)
    return name_log_axes(drawn)


LOG = "(log scale)"


def name_log_axes(drawn: go.Figure) -> go.Figure:
    """The same figure; the title of each logarithmic axis says that it is one."""
    for axis in (*drawn.select_xaxes(), *drawn.select_yaxes()):
        title = axis.title.text
        if axis.type == "log" and title and LOG not in title:
            axis.title.text = f"{title} {LOG}"
    return drawn


def thread_axis(drawn: go.Figure, threads: Iterable[int]) -> go.Figure:
    """The same figure; powers of two stand evenly, with a tick each."""
    counts = sorted({int(n) for n in threads})
    if all(n & (n - 1) == 0 for n in counts):
        drawn.update_xaxes(type="log", tickvals=counts)
    return name_log_axes(drawn)


def _wrapped(text: str, width_px: int, letter_px: int) -> list[str]:
    """Lines that fit; a clause that ends in ; stays whole where it can."""
    columns = int(0.96 * width_px / (LETTER * letter_px))
    lines: list[str] = []
    for clause in re.split(r"(?<=;) ", text):
        if lines and len(lines[-1]) + 1 + len(clause) <= columns:
            lines[-1] += f" {clause}"
        else:
            lines += textwrap.wrap(clause, columns, break_on_hyphens=False)
    return lines
