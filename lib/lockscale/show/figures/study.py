# SPDX-License-Identifier: MIT
"""The figures of any study, in the words of its file, and of the scale study.

Each says where its numbers are from.
"""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from lockscale.errors import BadInput
from lockscale.measure.rows import ORIGINS, is_benchmark, origin_in_words, origin_of, rate_note
from lockscale.show.figures.tables import label
from lockscale.show.figures.template import (
    COLOURS,
    HEIGHT_PX,
    PAGE_PX,
    TASKS,
    WIDTH_PX,
    Look,
    Numbers,
    error_bars,
    figure,
    log_rates,
    name_log_axes,
    open_mark,
    panels,
    style,
    thread_axis,
)
from lockscale.sim import load_model
from lockscale.sim.models import is_shipped
from lockscale.studies.registry import study_parts
from lockscale.study.file import Study
from lockscale.study.tables import StudyTable

APART = 1.5
LEGEND_LETTERS = 55
"""As many fit on a line of a legend."""


def table_beside_simulated(
    study: Study, points: pd.DataFrame, in_table: pd.DataFrame, table: StudyTable
) -> go.Figure:
    """Simulated curves of the arms with what a table says of them, and its further arms if it is a file.

    `points`: arm, threads, value, low, high; `in_table`: arm, threads, value in the same unit, origin, with a
    `note` on how it came into it.
    """
    points = points.astype({"low": float, "high": float})  # None of a single replication
    shown = in_table[in_table.arm.isin(study.arm_names)] if not table.path else in_table
    marked = f"; open marks: {label(table)}{_first(in_table.note)}" if len(shown) else ""
    points = points.assign(apart=_apart(points.runs))
    points[["low", "high"]] = points[["low", "high"]].mask(points.apart)
    dots = (
        f"; dots: single runs, where they differ by more than {APART:g} times" if points.apart.any() else ""
    )
    lines, drawn_of = "no arm is simulated", [_whence(table)] if len(shown) else []
    if len(points):
        lines = f"lines: simulated, {_calibrated(study, table)}; bars: 95%{_cut(points.low)}{dots}"
        drawn_of = ["simulated", *drawn_of]
    title = f"{study.name}: {' and '.join(drawn_of) or 'no arm is simulated'}"
    drawn = figure(title, f"{lines}{marked}", TASKS, study.metric)
    arms = [*study.arm_names, *(in_table.arm if table.path else ())]
    for k, arm in enumerate(dict.fromkeys(arms)):
        curve, marks = points[points.arm == arm], in_table[in_table.arm == arm]
        if len(curve):
            drawn.add_scatter(
                x=curve.threads, y=curve.value, error_y=_rate_bars(curve.value, curve.low, curve.high),
                name=f"{arm}, simulated", mode="lines+markers", **_style(k),
            )  # fmt: skip
            if (several := curve[curve.apart]).size:
                _dots(drawn, several.threads, several.runs, _style(k), name=f"{arm}, single runs")
        if len(marks):
            marker = open_mark(_style(k)["marker"])  # the line's, for grey print
            said = f"{arm}, {origin_in_words(marks.origin.iloc[0])}"
            apart = "<br>" if len(said) + len(table.name) > LEGEND_LETTERS else " "
            name = f"{said}{apart}({table.name})" if table.path else said
            drawn.add_scatter(x=marks.threads, y=marks.value, name=name, mode="markers", marker=marker)
    thread_axis(drawn, [*points.threads, *in_table.threads])
    values = pd.concat([points.value, in_table.value])
    return log_rates(drawn, values.min(), values.max())


def _calibrated(study: Study, table: StudyTable) -> str:
    """To what the models of the simulated arms are calibrated, in the words that fit a figure."""
    models = [load_model(name) for name in {study.model_of(arm) for arm in study.arms if arm.simulated}]
    if not all(one.calibration for one in models):
        return "not calibrated"
    if table.path and any(table.name in one.calibration for one in models):
        return f"calibrated to points {' and '.join(map(origin_in_words, table.origins))} ({table.name})"
    if all(map(is_shipped, models)):
        return f"calibrated to published points{_but_for(study)}"
    return "calibrated as the model's file says"


def _whence(table: StudyTable) -> str:
    """The origin of a table's numbers; the name of the file where it does not state it."""
    known = bool(table.origins) and set(table.origins) <= ORIGINS.keys()
    return " and ".join(map(origin_in_words, table.origins)) if known else table.kind


def _but_for(study: Study) -> str:
    """The arms whose own parameters no published number sets."""
    scenes = study_parts(study.name).scenes
    try:
        arms = dict.fromkeys(arm for one in (scenes(study) if scenes else ()) for arm in one.assumed)
    except BadInput:  # a scene of an arm that the study does not have any more
        return ""
    return f" ({', '.join(arms)}: assumed)" if arms else ""


def measured_rates(study: Study, rates: pd.DataFrame, where: str) -> go.Figure:
    """Rates of the study's operation; those of a guest are a direction at most, never a benchmark."""
    low, high = rates.value - rates.sd, rates.value + rates.sd
    worth = "" if is_benchmark(origin_of(rates)) else ": not a benchmark"
    guests = sorted(rates.cpus.unique())
    one = f", {guests[0]:g} CPUs" if len(guests) == 1 else ""
    says = f"measured {where}{one}{worth}; bars: 1 standard deviation{_cut(low)}"
    drawn = figure(f"{study.name}: measured rates{rate_note(rates)}", says, TASKS, study.metric)
    for k, (arm, cpus) in enumerate((name, cpus) for name in study.arm_names for cpus in guests):
        at = (rates.arm == arm) & (rates.cpus == cpus)
        bars = _rate_bars(rates.value[at], low[at], high[at])
        drawn.add_scatter(
            x=rates.threads[at], y=rates.value[at], error_y=bars, mode="lines+markers", **_style(k),
            name=_with_role(study, arm) + ("" if one else f", {cpus:g} CPUs"),
        )  # fmt: skip
    drawn.update_yaxes(rangemode="nonnegative")
    return name_log_axes(drawn.update_xaxes(type="log", tickvals=sorted(rates.threads.unique())))


def counted_against_unpatched(study: Study, counts: pd.DataFrame, where: str) -> go.Figure:
    """The counter that carries the proof: of each arm its change from the unpatched arm."""
    counter, unpatched = str(counts.counter.iloc[0]), study.unpatched.name
    here = counts[counts.counter == counter]
    sure = f"filled marks: significant with all points together (Holm, 5%), {int(here.significant.sum())} of"
    says = f"counted {where}; bars: {_levels(here.level_pct)}%, rank-based; {sure} {len(here)}"
    drawn = figure(f"{counter}: change from {unpatched}", says, f"{TASKS} on CPUs", _first(here.unit, ""))
    for k, name in enumerate(study.arm_names):
        arm = here[here.arm == name]
        if arm.empty:
            continue
        label = [f"{n}<br>on {c}" for c, n in zip(arm.cpus, arm.threads, strict=True)]
        bars, marker = error_bars(arm.change, arm.low, arm.high), _style(k)["marker"]
        filled = marker["symbol"].removesuffix("-open")
        marker["symbol"] = [filled if sure else f"{filled}-open" for sure in arm.significant]
        drawn.add_scatter(
            x=label, y=arm.change, error_y=bars, mode="markers", name=_with_role(study, name), marker=marker
        )
    return drawn.update_layout(scattermode="group", showlegend=True).update_xaxes(tickangle=0)


def _with_role(study: Study, arm: str) -> str:
    """An arm's name does not tell a reader on which side of the patch it is."""
    roles = {study.unpatched.name: " (unpatched)", study.patched.name: " (patched)"}
    return f"{arm}{roles.get(arm, '')}"


def _levels(percent: Numbers) -> str:
    """What the intervals cover: the fewer the repeats, the less; of several points the least and the most."""
    return " to ".join(
        dict.fromkeys(f"{one:.1f}".removesuffix(".0") for one in (percent.min(), percent.max()))
    )


def function_shares(
    before: pd.DataFrame, after: pd.DataFrame, names: tuple[str, str], says: str
) -> go.Figure:
    """Time in each traced function per arm, in seconds; times include callees and waits."""
    wide = 1.4 * WIDTH_PX  # beside long names of functions a legend in two columns is cut off
    drawn = figure("Where the time goes", says, "total time (s)", "", round(wide))
    sides = [f"{name} ({role})" for name, role in zip(names, ("unpatched", "patched"), strict=True)]
    for k, (name, cost) in enumerate(zip(sides, (before, after), strict=True)):
        seconds, colour = cost.total_us / 1e6, COLOURS[k]
        drawn.add_bar(y=cost.function, x=seconds, orientation="h", name=name, marker_color=colour)
    return drawn.update_yaxes(autorange="reversed", automargin=True)


def _dots(drawn: go.Figure, threads: Numbers, several: "pd.Series[str]", look: Look, **place: Any) -> None:
    """One small dot for each number of `several`, which are texts of numbers."""
    found = [(n, float(rate)) for n, text in zip(threads, several, strict=True) for rate in text.split()]
    x, y = ([pair[k] for pair in found] for k in (0, 1))
    marker = {"color": look["marker"]["color"], "size": 5, "opacity": 0.5}
    drawn.add_scatter(x=x, y=y, mode="markers", marker=marker, showlegend=False, **place)


def _apart(runs: "pd.Series[str]") -> "pd.Series[bool]":
    """Where runs of one point differ so much that a mean with a width is none of them."""
    rates = runs.map(lambda text: [float(rate) for rate in text.split()])
    return rates.map(max) > APART * rates.map(min)


def _rate_bars(value: Numbers, low: Numbers, high: Numbers) -> dict[str, Any]:
    """No rate is below zero, whatever an interval that is drawn the same both ways says."""
    return error_bars(value, low.clip(lower=0), high)


def _cut(low: Numbers) -> str:
    return ", cut at 0" if (low < 0).any() else ""


def _first(words: "pd.Series[str]", before: str = "; ") -> str:
    found = next(filter(None, words.unique()), "")
    return f"{before}{found}" if found else ""


def _style(k: int) -> Look:
    """The k-th of up to twelve arms: from the seventh on the colours come again, with open marks."""
    look = style(k)
    if k >= len(COLOURS):
        look["line"]["dash"] = style(k + len(COLOURS) // 2)["line"]["dash"]
        look["marker"]["symbol"] += "-open"
    return look


COLUMNS = 2
SAYS = (
    "simulated; parameters fitted to published tables; dots: 20 draws within the fits' uncertainty; grey: "
    "beyond the highest published thread count"
)


def scale_figure(found: pd.DataFrame) -> go.Figure:
    """`scale_study()`'s rates, one panel a path, both axes logarithmic."""
    rates = found[found.metric == "throughput"]
    names = list(dict.fromkeys(rates.path))
    rows = -(-len(names) // COLUMNS)
    drawn = panels(
        "Where ext4's paths saturate next", SAYS + _ended(rates), PAGE_PX, 1.2 * rows * HEIGHT_PX,
        rows=rows, cols=COLUMNS, vertical_spacing=0.33, horizontal_spacing=0.1,
        subplot_titles=names,
    )  # fmt: skip
    drawn.update_layout(margin_t=drawn.layout.margin.t + 30, margin_b=130)
    for k, name in enumerate(names):
        _panel(drawn, rates[rates.path == name], k // COLUMNS + 1, k % COLUMNS + 1)
    drawn.update_xaxes(type="log", tickvals=[4**k for k in range(6)], title_text="CPUs")
    return name_log_axes(drawn)


def _ended(rates: pd.DataFrame) -> str:
    """What the caption says of curves that end before the others."""
    ends = rates.groupby(["path", "arm"]).threads.max()
    early = " or ".join(map(str, sorted(ends[ends < ends.max()].unique())))
    why = f"; curves that end at {early} CPUs do so because points beyond are slow to simulate"
    return why if early else ""


def _panel(drawn: go.Figure, here: pd.DataFrame, row: int, col: int) -> None:
    panel = f"legend{COLUMNS * (row - 1) + col + 1}"
    for k, (arm, one) in enumerate(here.groupby("arm", sort=False)):
        drawn.add_scatter(
            x=one.threads, y=one.value, name=str(arm), mode="lines+markers", legend=panel, **style(k),
            row=row, col=col,
        )  # fmt: skip
        _dots(drawn, one.threads, one.draws, style(k), name=f"{arm}, draws", row=row, col=col)
    drawn.add_vrect(
        x0=here.published_to.iloc[0], x1=1.1 * here.threads.max(), fillcolor="#eee", layer="below",
        line_width=0, row=row, col=col,
    )  # fmt: skip
    drawn.update_yaxes(title_text=here.unit.iloc[0], row=row, col=col)
    log_rates(drawn, here.low.min(), here.high.max(), row=row, col=col)
    place = drawn.get_subplot(row, col)
    below = {"x": place.xaxis.domain[0], "y": place.yaxis.domain[0] - 0.09, "xref": "paper", "yref": "paper"}
    drawn.update_layout({panel: {**below, "yanchor": "top", "orientation": "v"}})
