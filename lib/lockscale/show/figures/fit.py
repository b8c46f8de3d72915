# SPDX-License-Identifier: MIT
"""A fit as one figure: points, curve, prediction band, knee, residuals, and the parameters beside them."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from lockscale.fitting.column import Column
from lockscale.fitting.table_fit import fit
from lockscale.fitting.user_table import Table, read_column
from lockscale.measure.rows import ORIGINS
from lockscale.queueing.diagnosis import Diagnosis, diagnose
from lockscale.queueing.fitted import Estimate, Fit, short
from lockscale.queueing.model import FloatArray
from lockscale.show.figures.template import (
    COLOURS,
    HEIGHT_PX,
    PAGE_PX,
    TASKS,
    band,
    name_log_axes,
    panels,
    style,
)

CURVE_POINTS = 40
MOST_ROWS = 1000  # beyond that the figure shows the mean of each thread count
GREY = "#666"


def fit_figure(
    table: Table,
    model: str | None = None,
    *,
    column: str | None = None,
    n_min: int = 1,
    n_max: int | None = None,
    fixed: Mapping[str, float] | None = None,
) -> go.Figure:
    """One curve of a table with a model, or with the best of all; arguments of `fitting.fit` but share."""
    one = fit(table, model, column=column, n_min=n_min, n_max=n_max, fixed=fixed)
    return draw_fit(read_column(table, column, n_min, n_max), one)


def draw_fit(column: Column, one: Fit) -> go.Figure:
    """The figure of a fit of this column; its title says where the points are from."""
    landmarks = () if column.given else diagnose(one)
    held_out = "" if one.loo_pct is None else f", {one.loo_pct:.1f}% held out"
    how = f", {column.made_of}" if column.made_of else ""
    points = f"{ORIGINS.get(column.origin, 'origin not stated')} ({column.table}{how})"
    interval = "" if one.noise is None else "; band: 95% for one more run"
    drawn = _panels(
        f"{column.name}: {one.model}, error {one.mape_pct:.1f}%{held_out}",
        f"points: {points}; line: fitted{interval}",
        # a unit may also be bytes, or threads' work
        "operations per second" if column.unit in ("", "ops/s") else column.unit,
    )
    _draw_curve(drawn, column, one)
    _draw_points(drawn, column, one)
    for knee in landmarks[:1]:
        _draw_knee(drawn, knee)
    drawn.add_scatter(
        x=one.points.threads, y=one.residuals_pct, mode="markers", marker=style(0)["marker"],
        name="residual", showlegend=False, row=2, col=1,
    )  # fmt: skip
    drawn.add_hline(y=0, line={"color": COLOURS[1], "width": 1}, row=2, col=1)
    _draw_table(drawn, one, landmarks)
    return name_log_axes(drawn)


def fit_numbers(column: Column, one: Fit) -> pd.DataFrame:
    """The numbers of the figure: threads, value, model, low, high, residual_pct, unit, origin.

    value is the mean of each thread count; low and high are the 95% interval of one more run.
    """
    band = one.predict(one.points.threads)
    return pd.DataFrame(
        {
            "threads": one.points.threads.astype(int),
            "value": one.points.rate_per_s,
            "model": band.value,
            "low": band.low,
            "high": band.high,
            "residual_pct": one.residuals_pct,
            "unit": column.unit,
            "origin": column.origin,
        }
    )


def _panels(title: str, says: str, rate: str) -> go.Figure:
    drawn = panels(
        title, says, PAGE_PX, 1.15 * HEIGHT_PX, rows=2, cols=2, shared_xaxes=True,
        specs=[[{}, {"type": "table", "rowspan": 2}], [{}, None]], column_widths=[0.56, 0.44],
        row_heights=[0.72, 0.28], horizontal_spacing=0.03, vertical_spacing=0.08,
    )  # fmt: skip
    drawn.update_yaxes(title_text=rate, rangemode="tozero", row=1, col=1)
    drawn.update_yaxes(title_text="residual (%)", row=2, col=1)
    drawn.update_xaxes(title_text=TASKS, row=2, col=1)
    return drawn


def _draw_curve(drawn: go.Figure, column: Column, one: Fit) -> None:
    threads = one.points.threads
    grid = threads[:: max(1, len(threads) // CURVE_POINTS)]
    if column.given is None:  # else nothing is known between the points
        grid = np.union1d(grid, np.round(np.geomspace(threads[0], threads[-1], CURVE_POINTS)))
    found = one.predict(grid)
    if one.noise is not None:
        far = 3 * max(found.value.max(), one.points.rate_per_s.max())  # an open end reaches to infinity
        interval = band(grid.tolist(), found.low.tolist(), np.minimum(found.high, far).tolist())
        drawn.add_scatter(**interval, name="95% for one more run", row=1, col=1)
    line = style(1)["line"]
    drawn.add_scatter(x=grid, y=found.value, mode="lines", name=one.model, line=line, row=1, col=1)


def _draw_points(drawn: go.Figure, column: Column, one: Fit) -> None:
    single = len(column.threads) <= MOST_ROWS
    x, y = (column.threads, column.rates_per_s) if single else (one.points.threads, one.points.rate_per_s)
    name = ORIGINS.get(column.origin, "each row") if single else "mean of each thread count"
    drawn.add_scatter(x=x, y=y, mode="markers", name=name, marker=style(0)["marker"], row=1, col=1)
    drawn.update_xaxes(type="log", tickvals=_ticks(one.points.threads), row=1, col=1)
    drawn.update_xaxes(type="log", tickvals=_ticks(one.points.threads), row=2, col=1)


def _ticks(threads: FloatArray) -> list[int]:
    """The thread counts themselves, or powers of two where they are many."""
    if len(threads) <= 10:
        return [int(n) for n in threads]
    return [2**k for k in range(17) if threads[0] <= 2**k <= threads[-1]]


def _draw_knee(drawn: go.Figure, knee: Diagnosis) -> None:
    if knee.value is None or knee.extrapolated:
        return
    at = float(np.log10(knee.value))  # plotly puts annotations, but not lines, at the logarithm
    drawn.add_vline(x=knee.value, line={"color": GREY, "dash": "dot"}, row=1, col=1)
    note = {"text": f"knee {knee.value:.3g}", "showarrow": False, "textangle": -90, "xanchor": "right"}
    drawn.add_annotation(x=at, y=0, yanchor="bottom", **note, row=1, col=1)


def _draw_table(drawn: go.Figure, one: Fit, landmarks: Sequence[Diagnosis]) -> None:
    found: list[Estimate | Diagnosis] = [*one.reported, *landmarks]
    look = {"align": "left", "fill_color": "white", "font": {"size": 11}}
    header = {"values": ["", "value", "95% interval", "status"], **look}
    cells = {"values": [*zip(*map(_cells, found), strict=True)], **look}
    drawn.add_table(header=header, cells=cells, columnwidth=[11, 5, 9, 6], name="parameters", row=1, col=2)


def _cells(found: Estimate | Diagnosis) -> tuple[str, str, str, str]:
    if found.value is None:
        return found.name, "none", f"beyond {short(found.low, 3)}" if found.low else "", found.status
    interval = f"{short(found.low, 3)} to {short(found.high, 3)}"
    if found.status in ("fixed", "calibrated"):
        interval = ""
    return found.name, short(found.value, 3), interval, found.status
