# SPDX-License-Identifier: MIT
"""A published table as the scoreboard explains it: points, both models, an interval, residuals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from lockscale.report.template import COLOURS, HEIGHT_PX, WIDTH_PX, figure, style

BAND = "rgba(0,114,178,0.18)"


def scoreboard_numbers(rows: Sequence[dict[str, Any]], table: str) -> pd.DataFrame:
    """One row a point: column, unit, threads, value, simulated, low, high, residual_pct, queueing model's.

    value: published. low and high: 95% interval of one more run, by the simulator. queueing_pct: the
    residual of the best queueing model at that point, where the table has one.
    """
    queueing = {row["column"]: row for row in rows if row["kind"] == "queueing" and row["table"] == table}
    lines = []
    for row in rows:
        if row["kind"] == "simulator" and row["table"] == table:
            other = queueing.get(row["column"])
            known = {point["threads"]: point for point in other["curve"]} if other else {}
            lines += [
                {
                    "column": row["column"],
                    "unit": row["unit"],
                    **point,
                    "queueing": known.get(point["threads"], {}).get("model"),
                    "queueing_pct": known.get(point["threads"], {}).get("residual_pct"),
                }
                for point in row["curve"]
            ]
    return pd.DataFrame(lines).rename(columns={"model": "simulated"})


def scoreboard_figure(rows: Sequence[dict[str, Any]], table: str) -> go.Figure:
    """One panel a column of the table above its residuals: published, simulated, queueing."""
    numbers = scoreboard_numbers(rows, table)
    names = list(dict.fromkeys(numbers.column))
    drawn = _panels(table, names)
    for k, name in enumerate(names, start=1):
        _column(drawn, numbers[numbers.column == name], k)
    threads = sorted(numbers.threads.unique())
    shown = threads[:: max(1, len(threads) // 7)]
    drawn.update_xaxes(type="log", tickvals=shown, ticktext=[f"{n:g}" for n in shown])
    drawn.update_yaxes(rangemode="tozero", row=1)
    drawn.update_yaxes(title_text="rate (1/s)", row=1, col=1)
    drawn.update_yaxes(title_text="residual (%)", row=2, col=1)
    drawn.update_xaxes(title_text="threads", row=2)
    return drawn


def _panels(table: str, names: Sequence[str]) -> go.Figure:
    says = "points: published; lines: fitted; band: 95% for one more run, by the simulator"
    made = make_subplots(
        rows=2, cols=len(names), row_heights=[0.7, 0.3], shared_xaxes=True, vertical_spacing=0.08,
        subplot_titles=list(names),
    )  # fmt: skip
    titles = made.layout.annotations
    made.update_layout(figure(f"{table}: simulator and queueing model", says, "", "").layout)
    made.update_layout(annotations=[*made.layout.annotations, *titles])
    return made.update_layout(
        width=round(WIDTH_PX * (0.4 + 0.6 * len(names))), height=round(1.3 * HEIGHT_PX),
        xaxis_title=None, yaxis_title=None,
    )  # fmt: skip


def _column(drawn: go.Figure, here: pd.DataFrame, col: int) -> None:
    first = col == 1
    known = here.dropna(subset=["low", "high"])
    if len(known):
        x, y = [*known.threads, *known.threads[::-1]], [*known.high, *known.low[::-1]]
        drawn.add_scatter(
            x=x, y=y, fill="toself", mode="none", fillcolor=BAND, name="95%", showlegend=first, row=1, col=col
        )
    lines = (("simulated", "simulator", 1), ("queueing", "queueing model", 2))
    for field, name, look in lines:
        if np.any(here[field].notna()):
            drawn.add_scatter(
                x=here.threads, y=here[field], mode="lines", name=name, line=style(look)["line"],
                showlegend=first, row=1, col=col,
            )  # fmt: skip
    mark = style(0)["marker"]
    drawn.add_scatter(
        x=here.threads, y=here.value, mode="markers", name="published", marker=mark, showlegend=first,
        row=1, col=col,
    )  # fmt: skip
    for field, _, look in (("residual_pct", "", 1), ("queueing_pct", "", 2)):
        drawn.add_scatter(
            x=here.threads, y=here[field], mode="markers", marker=style(look)["marker"],
            name=f"residual of the {lines[look - 1][1]}", showlegend=False, row=2, col=col,
        )  # fmt: skip
    drawn.add_hline(y=0, line={"color": COLOURS[0], "width": 1}, row=2, col=col)
