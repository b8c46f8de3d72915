# SPDX-License-Identifier: MIT
"""Who waits for what as an icicle: a row's width is the mean number of threads that are there."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from lockscale.errors import BadInput
from lockscale.predict.answer import Waiting
from lockscale.report.template import COLOURS, figure

_WORKS = "#DDDDDD"
_ROW_PX, _HEAD_PX, _WIDTH_PX = 60, 130, 900


def waits_icicle(waits: Sequence[Waiting], says: str) -> go.Figure:
    """The operation on top and what it calls below; what waits is coloured. says: where it is from."""
    if not waits:
        raise BadInput("an icicle needs rows of who waits: there is none")
    says = f"{says}; threads by Little's law; coloured: waits"
    drawn = figure("Who waits for what", says, "", "", _WIDTH_PX)
    drawn.add_icicle(
        labels=[one.place for one in waits],
        parents=[one.within for one in waits],
        values=_widths(waits),
        text=[f"{one.threads:.1f} threads" for one in waits],
        customdata=[one.waits_for or "works" for one in waits],
        branchvalues="total",
        tiling={"orientation": "v"},
        sort=False,
        marker={
            "colors": [COLOURS[0] if one.waits_for else _WORKS for one in waits],
            "line": {"color": "white", "width": 1},
        },
        texttemplate="%{label}<br>%{text}",
        hovertemplate="%{label}<br>%{text}<br>%{customdata}<extra></extra>",
        pathbar={"visible": False},
    )
    within = {one.place: one.within for one in waits}
    depth = max(_depth(one.place, within) for one in waits)
    return drawn.update_layout(height=_HEAD_PX + _ROW_PX * depth, margin_b=20)


def waits_table(waits: Sequence[Waiting]) -> pd.DataFrame:
    """The same as numbers: place, within, threads, us_per_op, waits_for."""
    return pd.DataFrame([vars(one) for one in waits])


def _widths(waits: Sequence[Waiting]) -> list[float]:
    """Threads; less where parts overlap and overfill their whole, which plotly does not draw."""
    filled: dict[str, float] = {}
    for one in waits:
        filled[one.within] = filled.get(one.within, 0.0) + one.threads
    width: dict[str, float] = {}
    for one in waits:  # a whole stands before its parts
        room = width[one.within] / filled[one.within] if one.within else 1.0
        width[one.place] = one.threads * min(room, 1.0)
    return list(width.values())


def _depth(place: str, within: dict[str, str]) -> int:
    return 1 + _depth(within[place], within) if place else 0
