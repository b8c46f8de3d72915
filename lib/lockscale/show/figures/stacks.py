# SPDX-License-Identifier: MIT
"""Who is where: folded stacks as a flame graph and as a table, and the waits of an answer as an icicle."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from lockscale.errors import BadInput
from lockscale.predict.answer import Waiting
from lockscale.show.figures.template import COLOURS, PAGE_PX, figure
from lockscale.tools.perf_record import Folded

_ROW_PX, _FRAME_PX = 19, 130
LEAST_PCT = 0.2
"""Narrower frames are a pixel or two wide, and thousands: they are left out."""
MOST_STACKS, MOST_FRAMES = 20, 8

# functions that take a lock, or wait for one spinning, queued or asleep
_LOCKS = re.compile(
    r"_spin_lock|spin_lock_slowpath|queued_\w+_lock_slowpath|osq_lock|__lock_buffer|bit_wait"
    r"|(?:mutex|rwsem|down|rt_mutex|percpu)_\w*(?:lock|read|write|slowpath|spin)\w*|wait_transaction_locked"
)
_OTHER = "#DDDDDD"
_ICICLE = {
    "branchvalues": "total", "sort": False, "textfont": {"color": "#111111"}, "pathbar": {"visible": False}
}  # fmt: skip


def flame_graph(folded: Folded, title: str, says: str) -> go.Figure:
    """Processes at the bottom and what they called above, width by samples; lock functions in colour.

    says: where the samples are from. Frames below 0.2% are left out. BadInput where there is no sample.
    """
    if not folded.samples:
        raise BadInput("a flame graph needs samples, but there are none: was the load running?")
    frames = _frames(folded)
    names = [path[-1] for path in frames]
    depth = max(map(len, frames))
    samples = f"{folded.samples} samples of {folded.event}"
    drawn = figure(title, f"{says}; {samples}; coloured: lock functions", "", "", PAGE_PX)
    drawn.add_icicle(
        ids=[";".join(path) for path in frames],
        labels=names,
        parents=[";".join(path[:-1]) for path in frames],
        values=list(frames.values()),
        tiling={"orientation": "v", "flip": "y"},
        marker={
            "colors": [COLOURS[0] if _LOCKS.search(name) else _OTHER for name in names],
            "line": {"color": "white", "width": 0.5},
        },
        hovertemplate="%{label}<br>%{value} samples, %{percentRoot:.1%}<extra></extra>",
        **_ICICLE,
    )
    return drawn.update_layout(height=_FRAME_PX + _ROW_PX * depth)


def top_stacks(folded: Folded, most: int = MOST_STACKS) -> pd.DataFrame:
    """The commonest stacks: share_pct, samples, process, and stack: who ran, its caller, and so on to 8."""
    found = sorted(folded.stacks.items(), key=lambda item: (-item[1], item[0]))[:most]
    return pd.DataFrame(
        {
            "share_pct": [100 * count / folded.samples for _, count in found],
            "samples": [count for _, count in found],
            "process": [stack[0] for stack, _ in found],
            "stack": [_innermost_first(stack) for stack, _ in found],
        }
    )


def _frames(folded: Folded) -> Mapping[tuple[str, ...], int]:
    """Every path from a process up that is wide enough, with its samples; a parent before its children."""
    samples: Counter[tuple[str, ...]] = Counter()
    for stack, count in folded.stacks.items():
        for depth in range(len(stack)):
            samples[stack[: depth + 1]] += count
    least = folded.samples * LEAST_PCT / 100
    return {path: samples[path] for path in sorted(samples) if samples[path] >= least}


def _innermost_first(stack: tuple[str, ...]) -> str:
    shown = stack[:0:-1]
    return " < ".join(shown[:MOST_FRAMES]) + (" < ..." if len(shown) > MOST_FRAMES else "")


_ICICLE_ROW_PX, _ICICLE_HEAD_PX, _ICICLE_WIDTH_PX = 60, 130, 900


def waits_icicle(waits: Sequence[Waiting], says: str) -> go.Figure:
    """The operation on top and what it calls below; what waits is coloured. says: where it is from."""
    if not waits:
        raise BadInput("a figure of who waits needs at least one row, but there is none")
    says = f"{says}; threads: of all, by share of the operation's time; coloured: waits"
    drawn = figure("Who waits for what", says, "", "", _ICICLE_WIDTH_PX)
    drawn.add_icicle(
        labels=[one.place for one in waits],
        parents=[one.within for one in waits],
        values=_widths(waits),
        root={"color": "white"},
        text=[f"{one.threads:.1f} threads" for one in waits],
        customdata=[one.waits_for or "works" for one in waits],
        tiling={"orientation": "v"},
        marker={
            "colors": [COLOURS[0] if one.waits_for else _OTHER for one in waits],
            "line": {"color": "white", "width": 1},
        },
        texttemplate=["%{label}<br>%{text}"] * len(waits),  # one would also be that of a root around several
        hovertemplate="%{label}<br>%{text}<br>%{customdata}<extra></extra>",
        **_ICICLE,
    )
    within = {one.place: one.within for one in waits}
    depth = max(_depth(one.place, within) for one in waits)
    return drawn.update_layout(height=_ICICLE_HEAD_PX + _ICICLE_ROW_PX * depth, margin_b=20)


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
        room = width[one.within] / (filled[one.within] or 1.0) if one.within else 1.0
        width[one.place] = one.threads * min(room, 1.0)
    return list(width.values())


def _depth(place: str, within: dict[str, str]) -> int:
    return 1 + _depth(within[place], within) if place else 0
