# SPDX-License-Identifier: MIT
"""Published rates and times that no model is of: rows of the scoreboard that say so."""

from collections.abc import Sequence
from typing import Any

from lockscale.tables import list_tables, published

NOT_THERE = (
    *("model", "free_parameters", "calibrated", "noise_pct", "noise_from", "mape_pct", "loo_pct"),
    *("extrapolation_pct", "coverage_pct", "target_pct", "target_loo_pct", "met"),
)


def unexplained_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One for each arm and metric of a table that has no row: table, column, kind `none`, points.

    Columns have the names of their arm and metric in them. Changes in % are no rates, and of function costs
    the scoreboard has the figures that a model gives.
    """
    found = []
    for table in list_tables():
        frame = published(table)
        if "total_us" not in frame:
            rates = frame[frame.unit != "%"]
            for (arm, metric), here in rates.groupby(["arm", "metric"], sort=False):
                if not any(_is_of(row, table, str(arm), str(metric)) for row in rows):
                    points = int(here.threads.nunique())
                    name = {"table": table, "column": f"{arm} {metric}", "kind": "none", "points": points}
                    found.append({**name, **dict.fromkeys(NOT_THERE), "curve": []})
    return found


def _is_of(row: dict[str, Any], table: str, arm: str, metric: str) -> bool:
    words = row["column"].split()
    return bool(row["table"] == table and words[0] == arm and metric in words)
