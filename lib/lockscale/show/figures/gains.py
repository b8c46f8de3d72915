# SPDX-License-Identifier: MIT
"""One picture a study: published gains, those of real kernels in virtual time, and the predicted band."""

import pandas as pd
import plotly.graph_objects as go

from lockscale.show.figures.template import error_bars, figure, log_ticks, style, thread_axis
from lockscale.study.file import Study

BAND = "rgba(0, 0, 0, 0.10)"
OPEN_PX = 13


def gains_figure(study: Study, rows: pd.DataFrame) -> go.Figure:
    """rows: those of show/gains.py of one study, and of its own load. The band is the patched arm's."""
    here = rows[(rows.load == study.operation) & (rows.over == study.unpatched.name)]
    told = here[here.arm == study.patched.name].dropna(subset=["predicted"]).sort_values("threads")
    says = (
        "lines: a real kernel in virtual time; open marks: published; grey: 90% predicted for "
        f"{study.patched.name} from the rates of {study.unpatched.name} alone, before it was booted"
    )
    drawn = figure(f"{study.name}: gain over {study.unpatched.name}", says, "threads", "gain (log scale)")
    if len(told):
        ends = [*told.predicted_high, *told.predicted_low[::-1]]
        drawn.add_scatter(
            x=[*told.threads, *told.threads[::-1]], y=ends, fill="toself", fillcolor=BAND, mode="lines",
            line={"width": 0}, name="predicted", hoverinfo="skip",
        )  # fmt: skip
    for k, arm in enumerate(name for name in study.arm_names if name in set(here.arm)):
        _add_arm(drawn, here[here.arm == arm].sort_values("threads"), arm, k)
    thread_axis(drawn, here.threads)
    names = ("virtual", "published", "predicted_low", "predicted_high")
    known = pd.concat([here[name].dropna().astype(float) for name in names])
    return drawn.update_yaxes(type="log", tickvals=log_ticks(known.min(), known.max()))


def _add_arm(drawn: go.Figure, rows: pd.DataFrame, arm: str, k: int) -> None:
    look, real, printed = style(k), rows.dropna(subset=["virtual"]), rows.dropna(subset=["published"])
    if len(real):
        drawn.add_scatter(
            x=real.threads, y=real.virtual, error_y=error_bars(real.virtual, real.low, real.high), name=arm,
            mode="lines+markers", **look,
        )  # fmt: skip
    if len(printed):
        marker: dict[str, object] = dict(look["marker"])  # type: ignore[call-overload]
        marker |= {"symbol": f"{marker['symbol']}-open", "size": OPEN_PX, "line": {"width": 2}}
        name = f"{arm}, published"
        drawn.add_scatter(x=printed.threads, y=printed.published, name=name, mode="markers", marker=marker)
