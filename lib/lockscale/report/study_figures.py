# SPDX-License-Identifier: MIT
"""The figures of any study, in the words of its file; each says where its numbers are from."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from lockscale.experiment.all_processes import note
from lockscale.experiment.where import is_benchmark, origin_of
from lockscale.report.published import origin
from lockscale.report.template import COLOURS, figure, log_ticks, style
from lockscale.study import Study


def published_beside_simulated(study: Study, points: pd.DataFrame, said: pd.DataFrame) -> go.Figure:
    """Simulated curves of the arms with what was published of them.

    `points`: arm, threads, value; `said` likewise, in the same unit, with a `note` on how it came into it.
    """
    source = origin(study.tables[0])
    says = f"lines: simulated, calibrated to published points; open marks: {source}{_first(said.note)}"
    drawn = figure(f"{study.name}: simulated and published", says, "processes", study.metric)
    for k, arm in enumerate(study.arms):
        curve, marks = points[points.arm == arm.name], said[said.arm == arm.name]
        if len(curve):
            name = f"{arm.name}, simulated"
            drawn.add_scatter(x=curve.threads, y=curve.value, name=name, mode="lines+markers", **_style(k))
        if len(marks):
            marker = {
                "size": 14,
                "symbol": "circle-open",
                "line": {"width": 2},
                "color": _style(k)["line"]["color"],
            }
            name = f"{arm.name}, published"
            drawn.add_scatter(x=marks.threads, y=marks.value, name=name, mode="markers", marker=marker)
    values = pd.concat([points.value, said.value])
    return drawn.update_yaxes(type="log", tickvals=log_ticks(values.min(), values.max()))


def measured_rates(study: Study, rates: pd.DataFrame, where: str) -> go.Figure:
    """Rates of the study's operation; those of a guest are a direction at most, never a benchmark."""
    says = f"measured {where}{'' if is_benchmark(origin_of(rates)) else ': not a benchmark'}"
    drawn = figure(f"{study.name}: measured rates{note(rates)}", says, "processes", study.metric)
    series = [(name, cpus) for name in study.arm_names for cpus in sorted(rates.cpus.unique())]
    for k, (arm, cpus) in enumerate(series):
        here = rates[(rates.arm == arm) & (rates.cpus == cpus)]
        error = {"type": "data", "array": here.sd}
        drawn.add_scatter(
            x=here.threads, y=here.value, error_y=error, name=f"{arm}, {cpus} CPU", mode="lines+markers",
            **_style(k),
        )  # fmt: skip
    return drawn.update_xaxes(type="log", tickvals=sorted(rates.threads.unique()))


def counted_against_upstream(study: Study, counts: pd.DataFrame, where: str) -> go.Figure:
    """The counter that carries the proof: of each arm what it has more than the upstream arm."""
    counter, upstream = str(counts.counter.iloc[0]), study.arm("upstream").name
    here = counts[counts.counter == counter]
    says = f"measured {where}; bars: interval by ranks; against {upstream}"
    drawn = figure(f"{counter}: more than {upstream}", says, "point", _first(here.unit, ""))
    for k, name in enumerate(study.arm_names):
        arm = here[here.arm == name]
        if arm.empty:
            continue
        label = [f"{c} CPU, {n} proc" for c, n in zip(arm.cpus, arm.threads, strict=True)]
        error = {
            "type": "data",
            "symmetric": False,
            "array": arm.high - arm.extra,
            "arrayminus": arm.extra - arm.low,
        }
        marker = _style(k)["marker"]
        drawn.add_scatter(x=label, y=arm.extra, error_y=error, mode="markers", name=name, marker=marker)
    return drawn


def _first(words: pd.Series, before: str = "; ") -> str:
    said = [word for word in words.unique() if word]
    return f"{before}{said[0]}" if said else ""


def _style(k: int) -> dict[str, Any]:
    """The k-th of up to twelve arms: from the seventh on the colours come again, with open marks."""
    one: dict[str, Any] = dict(style(k))
    if k >= len(COLOURS):
        other: Any = style(k + len(COLOURS) // 2)["line"]
        one["line"] = {**one["line"], "dash": other["dash"]}
        one["marker"] = {**one["marker"], "symbol": f"{one['marker']['symbol']}-open"}
    return one
