# SPDX-License-Identifier: MIT
"""The scale study as one figure: a panel for each path of ext4, its arms from 1 to 1024 CPUs."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from lockscale.report.template import COLOURS, HEIGHT_PX, WIDTH_PX, figure, log_ticks, style

COLUMNS = 2
SAYS = (
    "simulated; parameters fitted to published tables; bars: 95% by the fits' uncertainty; grey: beyond the "
    "most threads published"
)


def scale_figure(found: pd.DataFrame) -> go.Figure:
    """`scale_study()`'s rates, one panel a path, both axes logarithmic."""
    rates = found[found.metric == "throughput"]
    names = list(dict.fromkeys(rates.path))
    rows = -(-len(names) // COLUMNS)
    units = rates.groupby("path").unit.first()
    drawn = make_subplots(
        rows=rows, cols=COLUMNS, vertical_spacing=0.33, horizontal_spacing=0.1,
        subplot_titles=[f"{name} ({units[name]})" for name in names],
    )  # fmt: skip
    titles, width = drawn.layout.annotations, 2 * WIDTH_PX
    says = SAYS + _ended(rates)
    drawn.update_layout(figure("Where ext4's paths saturate next", says, "", "", width).layout)
    drawn.update_layout(
        annotations=titles, xaxis_title=None, yaxis_title=None, height=round(1.2 * rows * HEIGHT_PX),
        margin_t=drawn.layout.margin.t + 30, margin_b=130,
    )  # fmt: skip
    for k, name in enumerate(names):
        _panel(drawn, rates[rates.path == name], k // COLUMNS + 1, k % COLUMNS + 1)
    return drawn.update_xaxes(type="log", tickvals=[4**k for k in range(6)], title_text="CPUs")


def _ended(rates: pd.DataFrame) -> str:
    """What the caption says of curves that end before the others."""
    ends = rates.groupby(["path", "arm"]).threads.max()
    early = sorted(ends[ends < ends.max()].unique())
    if not early:
        return ""
    where = " or ".join(str(n) for n in early)
    return f"; a curve that ends at {where} CPUs was simulated no farther, as each point there takes long"


def _panel(drawn: go.Figure, here: pd.DataFrame, row: int, col: int) -> None:
    panel = f"legend{COLUMNS * (row - 1) + col + 1}"
    for k, (arm, one) in enumerate(here.groupby("arm", sort=False)):
        bars = {
            "type": "data",
            "symmetric": False,
            "array": one.high - one.value,
            "arrayminus": one.value - one.low,
            "color": COLOURS[k % len(COLOURS)],
        }
        drawn.add_scatter(
            x=one.threads, y=one.value, error_y=bars, name=str(arm), mode="lines+markers", legend=panel,
            **style(k), row=row, col=col,
        )  # fmt: skip
    drawn.add_vrect(
        x0=here.published_to.iloc[0], x1=1.1 * here.threads.max(), fillcolor="#eee", layer="below",
        line_width=0, row=row, col=col,
    )  # fmt: skip
    ticks = log_ticks(here.low.min(), here.high.max())
    drawn.update_yaxes(type="log", tickvals=ticks, row=row, col=col)
    place = drawn.get_subplot(row, col)
    below = {"x": place.xaxis.domain[0], "y": place.yaxis.domain[0] - 0.09, "xref": "paper", "yref": "paper"}
    drawn.update_layout({panel: {**below, "yanchor": "top", "orientation": "v"}})
