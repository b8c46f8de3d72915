# SPDX-License-Identifier: MIT
"""A figure in words, for those who do not see it: where its numbers are from, its axes, its series."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

MOST_SERIES = 12


def alt_text(drawn: go.Figure) -> str:
    """One paragraph of plain text; its numbers are those drawn, to three digits."""
    meta, layout = drawn.layout.meta or {}, drawn.layout
    titles = (layout.xaxis.title.text, layout.yaxis.title.text)
    axes = [text.replace("<br>", " ") for text in titles if text]
    series = [said for trace in drawn.data[:MOST_SERIES] if (said := _series(trace))]
    left = len(drawn.data) - MOST_SERIES
    parts = [
        _sentence(meta.get("title") or _plain(layout.title.text or "Figure")),
        _sentence(meta.get("says", "")),
        _sentence(f"Axes: {', '.join(axes)}" if axes else ""),
        *series,
        f"And {left} more series." if left > 0 else "",
    ]
    return " ".join(filter(None, parts))


def _series(trace: Any) -> str:
    name = trace.name or trace.type
    x, y = (_list(getattr(trace, axis, None)) for axis in "xy")
    if trace.type not in ("scatter", "bar") or not x or not y or getattr(trace, "base", None) is not None:
        return f"{name}: a {trace.type}." if trace.type != "table" else ""
    if trace.orientation == "h":
        x, y = y, x
    return _sentence(f"{name}: {_points(x, y)}")


def _points(x: Sequence[Any], y: Sequence[Any]) -> str:
    """Few points one by one, many by their ends and their highest."""
    known = [(a, float(b)) for a, b in zip(x, y, strict=True) if b is not None and not np.isnan(b)]
    if not known:
        return "no points"
    if len(known) <= 6:
        return ", ".join(f"{_value(b)} at {_value(a)}" for a, b in known)
    (a, b), (c, d), (e, f) = known[0], known[-1], max(known, key=lambda point: point[1])
    return f"{_value(b)} at {_value(a)} to {_value(d)} at {_value(c)}, highest {_value(f)} at {_value(e)}"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value.replace("<br>", " ")
    return f"{float(f'{value:.3g}'):,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _list(values: Any) -> list[Any]:
    return [] if values is None else [v.item() if hasattr(v, "item") else v for v in values]


def _plain(text: str) -> str:
    return text.partition("<br>")[0]


def _sentence(text: str) -> str:
    return f"{text.rstrip('.')}." if text else ""
