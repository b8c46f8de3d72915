# SPDX-License-Identifier: MIT
"""What was predicted of each arm, beside what is known of it, and what deleting the waits would say.

One picture a study: the gain as published, of real kernels in virtual time, and as predicted.
"""

import math

import pandas as pd
import plotly.graph_objects as go

from lockscale.show.figures.template import (
    COLOURS,
    TASKS,
    error_bars,
    figure,
    log_rates,
    log_ticks,
    name_log_axes,
    open_mark,
    style,
    thread_axis,
)
from lockscale.study.file import Study

PER_ARM_PX, FRAME_PX = 40, 230
BAND = "rgba(128, 128, 128, 0.28)"  # seen on white and on black
MARK_PX = 14
LETTER_PX = 16  # a picture of the first page is seen small
CLEAR = "rgba(0, 0, 0, 0)"  # of the legend: the band begins below it
OWN, BESIDE = COLOURS[1], COLOURS[0]


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


def gains_figure(study: Study, rows: pd.DataFrame) -> go.Figure:
    """rows: those of show/gains.py of one study. Of a load beside the study's own there is no prediction.

    One arm: the one with the most published gains over the unpatched one, of equals the patched one.
    """
    over = rows[rows.over == study.unpatched.name].sort_values("threads")
    arm = _shown_arm(study, over)
    here = over[over.arm == arm]
    own = here[here.load == study.operation]
    beside = [load for load in here.load.unique() if load != study.operation]
    title = f"{arm}: rate over that of {study.unpatched.name}"
    told = own.dropna(subset=["predicted"])
    before = f"predicted: 90%, from {study.unpatched.name} alone, before {arm} was booted; "
    says = (
        f"{before if len(told) else ''}virtual: the real kernels in virtual time, bars from lowest "
        f"to highest repeat"
        f"{'; published: on other hardware' if here.published.notna().any() else ''}"
    )
    drawn = figure(title, says, f"{TASKS} (log scale)", "gain (log scale)")
    if len(told):
        ends = [*told.predicted_high, *told.predicted_low[::-1]]
        drawn.add_scatter(
            x=[*told.threads, *told.threads[::-1]], y=ends, fill="toself", fillcolor=BAND, mode="lines",
            line={"width": 0}, name="predicted", hoverinfo="skip",
        )  # fmt: skip
    shown = [own, *(here[here.load == load] for load in beside if own.published.isna().all())]
    for of, colour, dash in zip(shown, (OWN, BESIDE), ("solid", "dash"), strict=False):
        _add_load(drawn, of, colour, dash)
    most = max(n for one in drawn.data for n in one.x)
    printed = own.dropna(subset=["published"]).threads
    drawn.update_xaxes(type="log", tickvals=_ticks(int(most), printed))
    names = ["virtual", "published", "predicted_low", "predicted_high"]
    known = pd.concat(shown)[names].stack().astype(float)
    low, high = float(known.min()), float(known.max())
    drawn.update_yaxes(type="log", tickvals=[tick for tick in log_ticks(low, high) if tick <= 1.2 * high])
    return _legend_inside(drawn, low, high)


def _ticks(most: int, printed: "pd.Series[int]") -> list[int]:
    """Powers of two, and what was published if there is room for it beside them."""
    apart = [int(n) for n in printed.unique() if 0.35 < math.log2(n) % 1 < 0.65]
    return sorted([2**k for k in range(most.bit_length())] + apart)


def _shown_arm(study: Study, over: pd.DataFrame) -> str:
    measured = over.dropna(subset=["virtual"])
    printed = over[over.arm.isin(measured.arm)].groupby("arm").published.count()
    best = printed[printed == printed.max()].index
    return study.patched.name if study.patched.name in best else str(best[0])


def _add_load(drawn: go.Figure, rows: pd.DataFrame, colour: str, dash: str) -> None:
    real, printed = rows.dropna(subset=["virtual"]), rows.dropna(subset=["published"])
    if len(real):
        drawn.add_scatter(
            x=real.threads, y=real.virtual, error_y=error_bars(real.virtual, real.low, real.high),
            name=f"virtual, {real.load.iloc[0]}", mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 3}, marker={"color": colour, "size": MARK_PX - 5},
        )  # fmt: skip
    if len(printed):
        marker = {"symbol": "diamond-open", "color": colour, "size": MARK_PX, "line": {"width": 2.5}}
        name = f"published, {printed.load.iloc[0]}"
        drawn.add_scatter(x=printed.threads, y=printed.published, name=name, mode="markers", marker=marker)


def _legend_inside(drawn: go.Figure, low: float, high: float) -> go.Figure:
    """Top left, with room above what is drawn."""
    place = {"xref": "paper", "x": 0, "yref": "paper", "y": 1, "yanchor": "top", "orientation": "v"}
    drawn.update_layout(legend=place, legend_bgcolor=CLEAR, legend_font_size=LETTER_PX)
    drawn.update_layout(margin_b=60, legend_entrywidth=None)
    share = 0.1 * sum(one.name is not None for one in drawn.data)
    bottom, top = math.log10(low) - 0.05, math.log10(high) + 0.05
    drawn.update_yaxes(range=[bottom, bottom + (top - bottom) / (1 - share)])
    return drawn.update_xaxes(tickfont_size=LETTER_PX).update_yaxes(tickfont_size=LETTER_PX)
