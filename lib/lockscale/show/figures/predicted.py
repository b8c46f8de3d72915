# SPDX-License-Identifier: MIT
"""What was predicted of each arm, beside what is known of it, and what deleting the waits would say."""

import pandas as pd
import plotly.graph_objects as go

from lockscale.show.figures.template import (
    error_bars,
    figure,
    log_rates,
    log_ticks,
    name_log_axes,
    open_mark,
    style,
    thread_axis,
)

PER_ARM_PX, FRAME_PX = 40, 230


def predicted_line(judged: pd.DataFrame) -> go.Figure:
    """A line an arm, at the most threads of the first metric of `judge_published`'s rows."""
    rows = most_threads(judged)
    metric, unit = str(rows.metric.iloc[0]).replace("_", " "), rows.unit.iloc[0]
    threads = " and ".join(f"{n:g}" for n in sorted(rows.threads.unique()))
    known = rows[rows.published.notna()]
    marks = "; open marks: published" if len(known) else ""
    says = f"predicted from the unpatched kernel alone, bars: low to high (their level: notebook 03){marks}"
    drawn = figure(f"Predicted at {threads} threads", says, f"{metric} ({unit})", "")
    bars = error_bars(rows.predicted, rows.low, rows.high)
    drawn.add_scatter(
        x=rows.predicted, y=rows.arm, error_x=bars, mode="markers", name="predicted", **_look(1)
    )
    drawn.add_scatter(x=rows.naive_value, y=rows.arm, mode="markers", name="if waits vanished", **_look(4))
    if len(known):
        drawn.add_scatter(
            x=known.published, y=known.arm, mode="markers", name="published", **_look(0, "-open")
        )
    shown = pd.concat([rows[name] for name in ("low", "high", "naive_value")] + [known.published]).astype(
        float
    )
    drawn.update_xaxes(type="log", tickvals=log_ticks(shown.min(), shown.max()))
    drawn.update_yaxes(type="category", autorange="reversed", automargin=True)
    return name_log_axes(drawn).update_layout(height=FRAME_PX + PER_ARM_PX * len(rows))


def most_threads(judged: pd.DataFrame) -> pd.DataFrame:
    """Of each arm the row of the first metric with the most threads."""
    first = judged[judged.metric == judged.metric.iloc[0]]
    last: pd.DataFrame = first.loc[first.groupby("arm", sort=False).threads.idxmax()]
    return last.reset_index(drop=True)


def _look(k: int, ending: str = "") -> dict[str, object]:
    marker = style(k)["marker"]
    more = {"symbol": f"{marker['symbol']}{ending}", "size": 12, "line": {"width": 2}}
    return {"orientation": "h", "marker": marker | more}


def prediction_figure(rows: pd.DataFrame, known: str, says: str, y: str) -> go.Figure:
    """Of rows with arm, threads, predicted, low, high and the column `known`: those of arms that have it.

    Intervals where something was predicted, open marks where the other is known. `y`: what it is of.
    """
    rows = rows[rows.arm.isin(rows.arm[rows[known].notna()])]
    drawn = figure(f"Predicted and {known}", says, "processes", y)
    for k, (arm, here) in enumerate(rows.groupby("arm", sort=False)):
        look, marks = style(k), here.dropna(subset=[known])
        drawn.add_scatter(
            x=here.threads, y=here.predicted, error_y=error_bars(here.predicted, here.low, here.high),
            name=f"{arm}, predicted", mode="lines+markers", **look,
        )  # fmt: skip
        drawn.add_scatter(
            x=marks.threads, y=marks[known], name=f"{arm}, {known}", mode="markers",
            marker=open_mark(look["marker"]),
        )  # fmt: skip
    thread_axis(drawn, rows.threads)
    values = pd.concat([rows[name].dropna().astype(float) for name in ("predicted", "low", "high", known)])
    above = values[values > 0]
    return log_rates(drawn, above.min(), above.max())
