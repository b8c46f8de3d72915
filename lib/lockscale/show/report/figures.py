# SPDX-License-Identifier: MIT
"""Figures of a report: how one stands in the page, and the prediction beside what is known."""

import pandas as pd
import plotly.graph_objects as go

from lockscale.show.figures.formats import svg
from lockscale.show.figures.template import (
    error_bars,
    figure,
    log_rates,
    room_for_legend,
    style,
    thread_axis,
)
from lockscale.show.report.page import ReportFigure

OPEN = {"size": 14, "line": {"width": 2}}


def in_report(stem: str, drawn: go.Figure) -> ReportFigure:
    """A figure that says itself where its numbers are from."""
    return ReportFigure(drawn.layout.meta["says"], svg(room_for_legend(drawn), stem))


def prediction_figure(rows: pd.DataFrame, known: str, says: str, y: str) -> go.Figure:
    """Of rows with arm, threads, predicted, low, high and the column `known`: those of arms that have it.

    Intervals where something was predicted, open marks where the other is known. `y`: what it is of.
    """
    rows = rows[rows.arm.isin(rows.arm[rows[known].notna()])]
    drawn = figure(f"Predicted and {known}", says, "processes", y)
    for k, (arm, here) in enumerate(rows.groupby("arm", sort=False)):
        look, marks = style(k), here.dropna(subset=[known])
        marker: dict[str, object] = dict(look["marker"])  # type: ignore[call-overload]
        drawn.add_scatter(
            x=here.threads, y=here.predicted, error_y=error_bars(here.predicted, here.low, here.high),
            name=f"{arm}, predicted", mode="lines+markers", **look,
        )  # fmt: skip
        marker |= {"symbol": f"{marker['symbol']}-open", **OPEN}
        drawn.add_scatter(
            x=marks.threads, y=marks[known], name=f"{arm}, {known}", mode="markers", marker=marker
        )
    thread_axis(drawn, rows.threads)
    values = pd.concat([rows[name].dropna().astype(float) for name in ("predicted", "low", "high", known)])
    above = values[values > 0]
    return log_rates(drawn, above.min(), above.max())
