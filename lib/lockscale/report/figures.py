# SPDX-License-Identifier: MIT
"""The figures of a study; each says whether its numbers are published, simulated or measured."""

import pandas as pd
import plotly.graph_objects as go

from lockscale.experiment.all_processes import note
from lockscale.experiment.where import is_benchmark, origin_of
from lockscale.report.template import figure, log_ticks, style
from lockscale.study import Study


def published_rates(rates: pd.DataFrame) -> go.Figure:
    """S1's table: each repeat of creation and removal as a point, by arm."""
    drawn = figure("Rates at 48 processes", "published (S1)", "arm", "operations per second")
    for k, (metric, rows) in enumerate(rates.groupby("metric", sort=False)):
        drawn.add_scatter(x=rows.arm, y=rows.value, mode="markers", name=str(metric), **_marker(k))
    return drawn.update_yaxes(type="log", tickvals=log_ticks(rates.value.min(), rates.value.max()))


def published_against_simulated(study: Study, points: pd.DataFrame, rates: pd.DataFrame) -> go.Figure:
    """Simulated curves of the arms with the published repeats on them."""
    says = "lines: simulated, calibrated to the two published rates, bars: 95%; open marks: published (S1)"
    drawn = figure("The retry storm and its cure", says, "processes", "creates per second")
    for k, arm in enumerate(study.arms):
        here = points[points.arm == arm.name]
        drawn.add_scatter(
            x=here.threads,
            y=here.value,
            error_y=_interval(here.value, here.low, here.high),
            name=f"{arm.name}, simulated",
            mode="lines+markers",
            **style(k),
        )
        said = rates[(rates.arm == arm.name) & (rates.metric == "create_rate")]
        marker = {"size": 14, "symbol": "circle-open", "line": {"width": 2}}
        drawn.add_scatter(
            x=said.threads,
            y=said.value,
            name=f"{arm.name}, published",
            mode="markers",
            marker={**marker, "color": style(k)["line"]["color"]},  # type: ignore[index]
        )
    return drawn.update_yaxes(type="log", tickvals=log_ticks(points.value.min(), points.value.max()))


def extra_calls(study: Study, extra: pd.DataFrame, where: str) -> go.Figure:
    """Extra get_write_access calls a create with intervals, beside the base's own spread."""
    before = study.arm("before").name
    says = f"measured {where}; bars: interval by ranks; line: repeat spread of the base"
    title = f"Extra get_write_access calls under {before}"
    drawn = figure(title, says, "processes on CPUs", "calls per create")
    label = [f"{n} on {c}" for c, n in zip(extra.cpus, extra.threads, strict=True)]
    error = _interval(extra.extra, extra.low, extra.high)
    drawn.add_scatter(x=label, y=extra.extra, error_y=error, mode="markers", name="extra calls", **_marker(0))
    drawn.add_scatter(x=label, y=extra.spread, mode="lines+markers", name="spread of the base", **style(1))
    return drawn


def measured_rates(study: Study, rates: pd.DataFrame, where: str) -> go.Figure:
    """Creation rates; those of a guest are a direction at most, never a benchmark."""
    says = f"measured {where}{'' if is_benchmark(origin_of(rates)) else '; not a benchmark'}; bars: 1 SD"
    drawn = figure(f"Creation rate{note(rates)}", says, "processes", "creates per second")
    series = [(a.name, cpus) for a in study.arms for cpus in sorted(rates.cpus.unique())]
    for k, (arm, cpus) in enumerate(series):
        here = rates[(rates.arm == arm) & (rates.cpus == cpus)]
        drawn.add_scatter(
            x=here.threads,
            y=here.value,
            error_y=_interval(here.value, (here.value - here.sd).clip(lower=0), here.value + here.sd),
            name=f"{arm}, {cpus} CPU",
            mode="lines+markers",
            **style(k),
        )
    drawn.update_yaxes(rangemode="nonnegative")
    return drawn.update_xaxes(type="log", tickvals=sorted(rates.threads.unique()))


def function_shares(
    before: pd.DataFrame, after: pd.DataFrame, names: tuple[str, str], says: str
) -> go.Figure:
    """Time in each traced function per arm, in milliseconds; times include callees and waits."""
    drawn = figure("Where the time goes", says, "total time (ms)", "")
    for k, (name, cost) in enumerate(zip(names, (before, after), strict=True)):
        colour = style(k)["line"]["color"]  # type: ignore[index]
        drawn.add_bar(
            y=cost.function, x=cost.total_us / 1000, orientation="h", name=name, marker_color=colour
        )
    return drawn.update_yaxes(autorange="reversed", automargin=True)


def _interval(
    value: "pd.Series[float]", low: "pd.Series[float]", high: "pd.Series[float]"
) -> dict[str, object]:
    return {"type": "data", "symmetric": False, "array": high - value, "arrayminus": value - low}


def _marker(k: int) -> dict[str, object]:
    return {"marker": style(k)["marker"]}
