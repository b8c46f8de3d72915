# SPDX-License-Identifier: MIT
"""A published table as one figure: as printed, and as the scoreboard explains it.

As printed: a curve for each arm, its repeats, or what its functions cost. Explained: points, both models,
an interval, residuals.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from lockscale.measure.rows import origin_in_words
from lockscale.show.figures.template import (
    COLOURS,
    HEIGHT_PX,
    PAGE_PX,
    TASKS,
    WIDTH_PX,
    band,
    error_bars,
    figure,
    log_rates,
    name_log_axes,
    panels,
    style,
    thread_axis,
)
from lockscale.study.tables import StudyTable, published_table
from lockscale.tables import describe

MOST_FUNCTIONS = 12
LOG_FROM = 5  # largest over smallest value


def published_figure(table: str) -> go.Figure:
    """What the source printed, and nothing else; its percentages stay in the table's csv."""
    return table_figure(published_table(table))


def table_figure(table: StudyTable) -> go.Figure:
    """The same of a table that a study names; of a file of its own the curves of rates."""
    frame = table.frame
    if "total_us" in frame:
        return _costs(table, frame)
    rows = frame[frame.unit != "%"]
    return _curves(table, rows) if rows.threads.nunique() > 1 else _repeats(table, rows)


def origin(table: str) -> str:
    """For instance "published in S9 (s9_rates)": a table's name begins with its source's."""
    return f"published in {table.split('_')[0].upper()} ({table})"


def label(table: StudyTable) -> str:
    """The same of any table: of a file what it says of itself, for instance "simulated (rates.csv)"."""
    if table.path is None:
        return origin(table.name)
    return f"{' and '.join(map(origin_in_words, table.origins))} ({table.name})"


def _curves(table: StudyTable, rows: pd.DataFrame) -> go.Figure:
    first = rows.iloc[0]
    says = "; ".join(filter(None, [label(table), _words(first.statistic)]))
    drawn = figure(_title(table), says, TASKS, f"{_words(first.metric)} ({first.unit})")
    for k, (arm, here) in enumerate(rows.groupby("arm", sort=False)):
        here = here.sort_values("threads", kind="stable")
        mode = "markers" if here.threads.duplicated().any() else "lines+markers"  # repeats make no line
        drawn.add_scatter(x=here.threads, y=here.value, name=str(arm), mode=mode, **style(k))
    thread_axis(drawn, rows.threads)
    if rows.value.max() / rows.value.min() > LOG_FROM:
        return log_rates(drawn, rows.value.min(), rows.value.max())
    return drawn.update_yaxes(rangemode="tozero")


def _repeats(table: StudyTable, rows: pd.DataFrame) -> go.Figure:
    """Arms at one number of threads: a bar from 0 for each repeat, and the ratio of two arms in words."""
    metrics = [(_metric(*of), here) for of, here in rows.groupby(["metric", "statistic"], sort=False)]
    gains = "; ".join(filter(None, (_gain(name, here) for name, here in metrics)))
    says = "; ".join(filter(None, [label(table), gains]))
    drawn = figure(_title(table), says, "arm", " and ".join(rows.unit.unique()))
    for k, (name, here) in enumerate(metrics):
        nth = here.groupby("arm", sort=False).cumcount()
        for repeat in sorted(nth.unique()):
            one = here[nth == repeat]
            drawn.add_bar(
                x=one.arm, y=one.value, name=name, legendgroup=name, showlegend=bool(repeat == 0),
                marker={"color": COLOURS[k % len(COLOURS)], "line": {"color": "white", "width": 1}},
            )  # fmt: skip
    return drawn.update_layout(barmode="group").update_yaxes(rangemode="tozero")


def _metric(metric: object, statistic: object) -> str:
    return _words(str(metric)) + ("" if statistic in ("single", "") else f", {_words(str(statistic))}")


def _gain(name: str, here: pd.DataFrame) -> str:
    """The mean of the last arm over that of the first, where there are two."""
    means = here.groupby("arm", sort=False).value.mean()
    return f"{name}: {means.iloc[-1] / means.iloc[0]:.3g} times" if len(means) == 2 else ""


def _costs(table: StudyTable, frame: pd.DataFrame) -> go.Figure:
    rows = frame.nlargest(MOST_FUNCTIONS, "total_us")
    left = len(frame) - len(rows)
    says = "; ".join([label(table), "times include callees and waits"])
    says += f"; {left} cheaper functions not shown" if left else ""
    drawn = figure(_title(table), says, "total time (s)", "")
    text = [
        f"{n:.3g} M x {us:,.0f} us" if us >= 1000 else f"{n:.3g} M x {us:.3g} us"
        for n, us in zip(rows["count"] / 1e6, rows.avg_us, strict=True)
    ]
    arm = str(frame.arm.iloc[0])
    drawn.add_bar(
        y=rows.function, x=rows.total_us / 1e6, orientation="h", name=arm, text=text,
        marker_color=style(0)["line"]["color"], textposition="outside", cliponaxis=False,
    )  # fmt: skip
    drawn.update_xaxes(range=[0, 2 * float(rows.total_us.max()) / 1e6])
    return drawn.update_yaxes(autorange="reversed").update_layout(height=140 + 26 * len(rows))


def _title(table: StudyTable) -> str:
    return str(describe(table.name)["title"]) if table.path is None else table.name


def _words(name: str) -> str:
    return name.replace("_", " ")


NUMBERS = (
    *("column", "unit", "threads", "published", "simulated", "low", "high", "residual_pct"),
    *("queueing_model", "queueing", "queueing_pct"),
)
MODELS = (("simulated", "residual_pct", "simulator", 1), ("queueing", "queueing_pct", "queueing model", 2))


def scoreboard_numbers(rows: Sequence[dict[str, Any]], table: str) -> pd.DataFrame:
    """One row a point, with the columns NUMBERS.

    low and high: 95% interval of one more run, by the simulator. queueing_model: the best one of that
    column, queueing its value and queueing_pct its residual, where the table has one.
    """
    here = [row for row in rows if row["table"] == table]
    queueing = {row["column"]: row for row in here if row["kind"] == "queueing"}
    lines = []
    for row in (row for row in here if row["kind"] == "simulator"):
        other = queueing.get(row["column"], {"model": None, "curve": []})
        known = {point["threads"]: point for point in other["curve"]}
        for point in row["curve"]:
            fitted = known.get(point["threads"], {})
            beside = {"queueing": fitted.get("model"), "queueing_pct": fitted.get("residual_pct")}
            beside |= {"queueing_model": other["model"], "column": row["column"], "unit": row["unit"]}
            lines.append({**point, **beside})
    numbers = ["low", "high", "queueing", "queueing_pct"]
    found = pd.DataFrame(lines).rename(columns={"value": "published", "model": "simulated"})
    return found[list(NUMBERS)].astype(dict.fromkeys(numbers, float))


def scoreboard_figure(rows: Sequence[dict[str, Any]], table: str) -> go.Figure:
    """Curves with residuals below; of a table at one number of threads each figure over the published one."""
    numbers, fitted = scoreboard_numbers(rows, table), _fitted(rows, table)
    several = numbers.threads.nunique() > 1
    return (_explained_curves if several else _ratios)(table, numbers, fitted)


def _fitted(rows: Sequence[dict[str, Any]], table: str) -> str:
    """How many parameters were fitted to how many points, of all columns of a machine at once."""
    found = next(row for row in rows if row["table"] == table and row["kind"] == "simulator")
    free, points = found["free_parameters_of_all_columns"], found["points_of_all_columns"]
    said = f"{free} parameters fitted to {points} published points of all columns at once"
    return said if free < points else f"{said}, so the match proves nothing"


def _explained_curves(table: str, numbers: pd.DataFrame, fitted: str) -> go.Figure:
    """One panel a column of the table above its residuals: published, simulated, queueing."""
    names = list(dict.fromkeys(numbers.column))
    says = f"points: {origin(table)}; simulator: {fitted}; band: 95% for one more run, by the simulator"
    width = min(PAGE_PX, round(WIDTH_PX * (0.4 + 0.6 * len(names))))
    drawn = panels(
        f"{table}: simulator and queueing model", says, width, 1.3 * HEIGHT_PX, rows=2, cols=len(names),
        row_heights=[0.7, 0.3], shared_xaxes=True, vertical_spacing=0.08,
        subplot_titles=[name.replace(" ", "<br>", 1) for name in names],
    )  # fmt: skip
    drawn.update_layout(margin_t=drawn.layout.margin.t + 40, legend_entrywidth=None)
    for k, name in enumerate(names, start=1):
        _column(drawn, numbers[numbers.column == name], k)
    shown = _apart(sorted(numbers.threads.unique()))
    drawn.update_xaxes(type="log", tickvals=shown, ticktext=[f"{n:g}" for n in shown])
    drawn.update_yaxes(rangemode="tozero", row=1)
    drawn.update_yaxes(title_text="rate (1/s)", row=1, col=1)
    drawn.update_yaxes(title_text="residual (%)", row=2, col=1)
    return name_log_axes(drawn.update_xaxes(title_text=TASKS, row=2))


def _apart(threads: Sequence[float]) -> list[float]:
    """The first, and each that is so far from the one before that both labels have room."""
    shown = [threads[0]]
    for n in threads[1:]:
        if n >= 1.3 * shown[-1]:
            shown.append(n)
    return shown


def _column(drawn: go.Figure, here: pd.DataFrame, col: int) -> None:
    first = col == 1
    known = here.dropna(subset=["low", "high"])
    if len(known):
        interval = band(list(known.threads), list(known.low), list(known.high))
        drawn.add_scatter(**interval, name="95%", showlegend=first, row=1, col=col)
    for field, residual, name, look in MODELS:
        if np.any(here[field].notna()):
            drawn.add_scatter(
                x=here.threads, y=here[field], mode="lines", name=name, line=style(look)["line"],
                showlegend=first, row=1, col=col,
            )  # fmt: skip
            drawn.add_scatter(
                x=here.threads, y=here[residual], mode="markers", marker=style(look)["marker"],
                name=f"residual of the {name}", showlegend=False, row=2, col=col,
            )  # fmt: skip
    drawn.add_scatter(
        x=here.threads, y=here.published, mode="markers", name="published", marker=style(0)["marker"],
        showlegend=first, row=1, col=col,
    )  # fmt: skip
    drawn.add_hline(y=0, line={"color": COLOURS[0], "width": 1}, row=2, col=col)


def _ratios(table: str, numbers: pd.DataFrame, fitted: str) -> go.Figure:
    says = f"simulated over {origin(table)}"
    bars = f"; {fitted}; bars: 95% for one more run"
    says += bars if numbers.low.notna().any() else "; nothing was fitted to it"
    drawn = figure(f"{table}: simulator", says, "", "simulated over published (%)")
    ratio, low, high = (100 * numbers[of] / numbers.published for of in ("simulated", "low", "high"))
    intervals = error_bars(ratio, low, high)
    names = [name.replace(" ", "<br>", 1) for name in numbers.column]
    drawn.add_scatter(
        x=names, y=ratio, error_y=intervals, mode="markers", name="simulator", marker=style(1)["marker"]
    )
    drawn.add_hline(y=100, line={"color": COLOURS[0], "width": 1})
    return drawn.update_xaxes(range=[-0.5, len(names) - 0.5])
