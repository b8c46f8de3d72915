# SPDX-License-Identifier: MIT
"""The score of the casebook as one figure: predicted intervals of the gain against published gains."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from lockscale.errors import BadInput
from lockscale.files import need_place_for_file
from lockscale.predict.change_kind import BY_NAME, LEFT
from lockscale.show.figures.formats import FORMATS, save
from lockscale.show.figures.template import HEIGHT_PX, figure, log_ticks, name_log_axes, style

OPEN_KIND = "not known"
_NAMES = {"kept": "another algorithm", "less": "fewer or shorter holds", "gone": "split, lockless"}
MOST_SHOWN = 30  # of published gains: a few that are far beyond would squeeze all others together
SIZE_PX = 6
_ROOM = 1.15  # beyond the smallest and the largest number


def casebook_figure(score: Mapping[str, Any]) -> go.Figure:
    """Both axes logarithmic; on the diagonal a prediction is exact, a bar that crosses it holds."""
    rows = casebook_numbers(score)
    within = (rows.published <= MOST_SHOWN) | (rows.published.min() > MOST_SHOWN)
    shown = rows[within]
    says = (
        "published gains; predicted from unpatched sides and cases of other families: "
        f"{score['held_pct']:.0f}% of intervals hold (each case counts once), "
        f"median width {score['median_width']:.1f}"
    )
    beyond = rows[~within]
    if len(beyond):
        says += f"; {len(beyond)} gains above {MOST_SHOWN} are not shown, {beyond.held.sum()} of them held"
    drawn = figure(
        "Published gain of each patch against its prediction", says, "published gain", "predicted gain"
    )
    low = min(shown.published.min(), shown.low.min()) / _ROOM
    high = max(shown.published.max(), shown.high.max()) * _ROOM
    drawn.add_scatter(
        x=[low, high], y=[low, high], mode="lines", name="exact", line={"color": "#888", "dash": "dot"}
    )
    for k, left in enumerate([*LEFT, None]):
        here = shown[shown.left == left] if left else shown[shown.left.isna()]
        if len(here):
            drawn.add_scatter(
                x=here.published,
                y=here.value,
                error_y={"type": "data", "array": here.high - here.value, "arrayminus": here.value - here.low,
                         "thickness": 1, "width": 2},
                mode="markers",
                name=_NAMES[left] if left else OPEN_KIND,
                marker=style(k)["marker"],
                text=here.id,
            )  # fmt: skip
    drawn.update_traces(marker_size=SIZE_PX)
    ticks = {"type": "log", "tickvals": log_ticks(low, high)}
    most = shown.published.max() * _ROOM
    drawn.update_xaxes(ticks, range=[math.log10(low), math.log10(most)])
    drawn.update_yaxes(ticks, range=[math.log10(low), math.log10(high)])
    return name_log_axes(drawn).update_layout(height=HEIGHT_PX + 80)


GAINS = ["published", "low", "value", "high"]
HEAD, MOST_HEAD_BYTES = b"published", 200


def casebook_numbers(score: Mapping[str, Any]) -> pd.DataFrame:
    """One row a judged prediction: id, label, kind, left, threads, published, low, value, high, held."""
    rows = pd.DataFrame([row for row in score["cases"] if row["published"] is not None])
    if rows.empty:
        raise BadInput("no case has a published gain: there is nothing to draw")
    rows["left"] = [BY_NAME[kind].left if kind else None for kind in rows.kind]
    # processors differ in the last digits
    gains = rows[GAINS].map(lambda gain: float(f"{gain:.9g}"))
    return rows.assign(**gains)[["id", "label", "kind", "left", "threads", *GAINS, "held"]]


def need_casebook_figure(file: Path) -> str:
    """The form that the file's ending names. Raises BadInput for another ending, and where it cannot be."""
    ending = file.suffix.lstrip(".")
    if ending not in FORMATS:
        raise BadInput(
            f"{file}: a figure is written as {', '.join(FORMATS)}: use one of these as the file name's ending"
        )
    need_place_for_file(file)
    # a table of somebody's own may have any name that ends so; a picture of that name is meant to be replaced
    if ending in ("csv", "txt") and file.exists() and HEAD not in file.read_bytes()[:MOST_HEAD_BYTES]:
        raise BadInput(
            f"{file} exists and is no table of the casebook's figure: remove it, or name another file"
        )
    return ending


def save_casebook_figure(score: Mapping[str, Any], file: Path) -> Path:
    """Write it in the form of need_casebook_figure()."""
    form = need_casebook_figure(file)
    save(casebook_figure(score), casebook_numbers(score), file.parent, file.stem, (form,))
    return file
