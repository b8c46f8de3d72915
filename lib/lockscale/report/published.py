# SPDX-License-Identifier: MIT
"""A table as one figure: a curve for each arm, its repeats, or what its functions cost."""

import pandas as pd
import plotly.graph_objects as go

from lockscale.measure.where import in_words
from lockscale.report.template import figure, log_ticks, style, thread_axis
from lockscale.study.tables import StudyTable, published_table
from lockscale.tables import describe

FEWEST = 3  # thread counts of a curve
MOST_FUNCTIONS = 12
LOG_FROM = 5  # largest over smallest value
COUNTED = {"mean_per_container": "containers", "mean_of_5": "threads"}


def published_figure(table: str) -> go.Figure:
    """What the source printed, and nothing else; its percentages stay in the table's csv."""
    return table_figure(published_table(table))


def table_figure(table: StudyTable) -> go.Figure:
    """The same of a table that a study names; of a file of its own the curves of rates."""
    frame = table.frame
    if "total_us" in frame:
        return _costs(table, frame)
    rows = frame[frame.unit != "%"]
    return _curves(table, rows) if rows.threads.nunique() >= FEWEST else _repeats(table, rows)


def origin(table: str) -> str:
    """For instance "published in S4 (s4_creat_clo)"."""
    return f"published in {table.split('_')[0].upper()} ({table})"


def label(table: StudyTable) -> str:
    """The same of any table: of a file what it says of itself, for instance "simulated (rates.csv)"."""
    if table.path is None:
        return origin(table.name)
    return f"{' and '.join(map(in_words, table.origins))} ({table.name})"


def _curves(table: StudyTable, rows: pd.DataFrame) -> go.Figure:
    first = rows.iloc[0]
    says = "; ".join(filter(None, [label(table), _words(first.statistic)]))
    drawn = figure(
        _title(table), says, COUNTED.get(first.statistic, "threads"), f"{_words(first.metric)} ({first.unit})"
    )
    for k, (arm, here) in enumerate(rows.groupby("arm", sort=False)):
        here = here.sort_values("threads", kind="stable")
        mode = "markers" if here.threads.duplicated().any() else "lines+markers"  # repeats make no line
        drawn.add_scatter(x=here.threads, y=here.value, name=str(arm), mode=mode, **style(k))
    return _scaled(thread_axis(drawn, rows.threads), rows)


def _repeats(table: StudyTable, rows: pd.DataFrame) -> go.Figure:
    drawn = figure(_title(table), label(table), "arm", _units(rows))
    for k, ((metric, statistic), here) in enumerate(rows.groupby(["metric", "statistic"], sort=False)):
        name = _words(str(metric)) + ("" if statistic == "single" else f", {_words(str(statistic))}")
        drawn.add_scatter(x=here.arm, y=here.value, name=name, mode="markers", marker=style(k)["marker"])
    arms = rows.arm.nunique()
    return _scaled(drawn, rows).update_xaxes(range=[-0.5, arms - 0.5])


def _costs(table: StudyTable, frame: pd.DataFrame) -> go.Figure:
    rows = frame.nlargest(MOST_FUNCTIONS, "total_us")
    left = len(frame) - len(rows)
    says = "; ".join([label(table), "times include callees and waits"])
    says += f"; {left} cheaper functions are left out" if left else ""
    drawn = figure(_title(table), says, "total time (s)", "")
    text = [
        f"{n:.3g} M x {us:,.0f} us" if us >= 1000 else f"{n:.3g} M x {us:.3g} us"
        for n, us in zip(rows["count"] / 1e6, rows.avg_us, strict=True)
    ]
    arm = str(frame.arm.iloc[0])
    drawn.add_bar(
        y=rows.function, x=rows.total_us / 1e6, orientation="h", name=arm, text=text,
        marker_color=style(0)["line"]["color"], textposition="outside", cliponaxis=False,  # type: ignore[index]
    )  # fmt: skip
    drawn.update_xaxes(range=[0, 2 * float(rows.total_us.max()) / 1e6])
    return drawn.update_yaxes(autorange="reversed").update_layout(height=140 + 26 * len(rows))


def _scaled(drawn: go.Figure, rows: pd.DataFrame) -> go.Figure:
    if rows.value.max() / rows.value.min() > LOG_FROM:
        return drawn.update_yaxes(type="log", tickvals=log_ticks(rows.value.min(), rows.value.max()))
    return drawn.update_yaxes(rangemode="tozero")


def _title(table: StudyTable) -> str:
    return str(describe(table.name)["title"]) if table.path is None else table.name


def _units(rows: pd.DataFrame) -> str:
    return " and ".join(dict.fromkeys(rows.unit))


def _words(name: str) -> str:
    return name.replace("_", " ")
