# SPDX-License-Identifier: MIT
"""How the scoreboard's errors were got: a queueing row and a simulator row have them by different checks."""

from collections.abc import Mapping, Sequence
from typing import Any

HOW: Mapping[str, Mapping[str, str]] = {
    "queueing": {
        "extrapolation": "a fit to the smaller half of thread counts",
        "coverage": "fits without each thread count in turn",
    },
    "simulator": {
        "extrapolation": "a fit of all columns to N <= 8",
        "coverage": "a fit of all columns to N <= 8",
    },
}
"""Kind of row -> the fits by which its `extrapolation_pct` and `coverage_pct` judge the points left out."""


def with_how(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with `extrapolation_from` and `coverage_from`; None where there is no such figure."""
    return [{**row, **{f"{name}_from": _how(row, name) for name in HOW["queueing"]}} for row in rows]


def _how(row: Mapping[str, Any], name: str) -> str | None:
    return None if row[f"{name}_pct"] is None else HOW[row["kind"]][name]
