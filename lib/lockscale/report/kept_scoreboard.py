# SPDX-License-Identifier: MIT
"""The scoreboard as it was last kept: what draws it fits nothing."""

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pandas as pd

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import write_json

FILE = paths.DATA / "scoreboard.json"
COLUMNS = (
    *("table", "column", "kind", "model", "points", "free_parameters", "calibrated", "noise_pct"),
    *("mape_pct", "loo_pct", "extrapolation_pct", "extrapolation_from", "coverage_pct", "coverage_from"),
    *("target_pct", "target_loo_pct", "met"),
)


def keep_scoreboard(rows: Sequence[dict[str, Any]]) -> None:
    """Rows as `lockscale scoreboard --json` prints them, parameters and curves included."""
    write_json(FILE, rows)


def kept_scoreboard() -> list[dict[str, Any]]:
    """Those rows; raises BadInput where the file is not there or not whole."""
    try:
        rows: list[dict[str, Any]] = json.loads(FILE.read_text())
    except (OSError, ValueError) as error:
        raise BadInput(f"{FILE} cannot be read: make it with `lockscale scoreboard --keep`") from error
    return rows


def scoreboard_table(tables: Collection[str]) -> pd.DataFrame:
    """Errors and targets of the kept rows of these tables, both models of a curve together."""
    rows = [row for row in kept_scoreboard() if row["table"] in tables]
    found = pd.DataFrame([{name: row[name] for name in COLUMNS} for row in rows], columns=list(COLUMNS))
    return found.sort_values(["table", "column"], kind="stable", ignore_index=True)


def first_explained(tables: Iterable[str]) -> str | None:
    """The first of these tables that the simulator explains; a file of one's own has no kept fit."""
    known = explained_tables()
    return next((name for name in tables if name in known), None)


def explained_tables() -> list[str]:
    """The tables that the simulator was fitted to, or checked against."""
    return list(dict.fromkeys(row["table"] for row in kept_scoreboard() if row["kind"] == "simulator"))
