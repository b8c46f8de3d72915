# SPDX-License-Identifier: MIT
"""The scoreboard: the best queueing model of each published curve, and the simulator beside it.

It is computed of all studies, kept in data/, so that what draws it fits nothing, and told to a person with
nothing left out that decides a figure. A queueing row and a simulator row have their errors by different
checks, and a table that no model is of has a row that says so.
"""

import contextlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import sha256_of, write_json
from lockscale.fitting.column import all_published_columns
from lockscale.fitting.fit_cache import cached
from lockscale.fitting.scoreboard_rows import column_row, simulated_rows
from lockscale.fitting.simulated_model import Simulated
from lockscale.progress import progress
from lockscale.studies.registry import left_out_if_broken, studies
from lockscale.tables import list_tables, published
from lockscale.text_table import text_table


def whole_scoreboard() -> list[dict[str, Any]]:
    """Rows of the shape `scoreboard` of the command line: queueing models first, then the simulator.

    Fits are kept in the cache by the content of tables, source and settings: of the queueing models each
    curve's, of the simulator each table's, whose columns are fitted at once. After an interrupt or a kill
    those are not made again.
    """
    simulated_tables()  # a study of the user's that is broken is told before minutes of fits
    return [*queueing_scoreboard(), *simulated_scoreboard()]


def queueing_scoreboard() -> list[dict[str, Any]]:
    """The queueing models' part, a curve at a time."""
    rows, columns = [], all_published_columns()
    with progress("scoreboard, queueing models", len(columns)) as shown:
        for done, one in enumerate(columns):
            shown.update(done, f"{one.table}, {one.name}")
            rows.append(cached(f"queueing-{one.table}", {"column": one.name}, partial(column_row, one)))
        shown.update(len(columns))
    return rows


def simulated_tables() -> list[Simulated]:
    """Those of all studies. The more parameters are fitted the longer it takes: the longest come first."""
    found = [of for one in studies() for of in one.simulated]
    return sorted(found, key=lambda of: -len(of.free))


def simulated_scoreboard() -> list[dict[str, Any]]:
    """The simulator's part, a table at a time."""
    rows, tables = [], simulated_tables()
    with progress("scoreboard, simulator", len(tables)) as shown:
        for done, one in enumerate(tables):
            shown.update(done, one.table)
            with left_out_if_broken() if one.source else contextlib.nullcontext():
                rows += cached(one.table, _settings(one), partial(_simulated_rows, one))
        shown.update(len(tables))
    return rows


def _simulated_rows(of: Simulated) -> list[dict[str, Any]]:
    found = simulated_rows(of)
    return [*found, *of.checked(found)] if of.checked else found


def _settings(of: Simulated) -> Mapping[str, Any]:
    found = {"model": str(of.model), "free": of.free, "held": of.held, "operations": of.operations}
    found |= {"source": of.source} if of.source else {}
    is_file = isinstance(of.model, Path) or str(of.model).endswith(".py")
    return found | ({"model_source": sha256_of(Path(str(of.model)))} if is_file else {})


KEPT = paths.DATA / "scoreboard.json"
TABLE_COLUMNS = (
    *("table", "column", "kind", "model", "points", "free_parameters", "calibrated", "noise_pct"),
    *("mape_pct", "loo_pct", "extrapolation_pct", "extrapolation_from", "coverage_pct", "coverage_from"),
    *("target_pct", "target_loo_pct", "met"),
)


def keep_scoreboard(rows: Sequence[dict[str, Any]]) -> None:
    """Rows as `lockscale scoreboard --json` prints them, parameters and curves included."""
    write_json(KEPT, rows)


def kept_scoreboard() -> list[dict[str, Any]]:
    """Those rows; raises BadInput where the file is not there or not whole."""
    try:
        return list(json.loads(KEPT.read_text()))
    except (OSError, ValueError) as error:
        raise BadInput(f"{KEPT} cannot be read: make it with `lockscale scoreboard --keep`") from error


def scoreboard_table(tables: Collection[str]) -> pd.DataFrame:
    """Errors and targets of the kept rows of these tables, both models of a curve together."""
    rows = [row for row in kept_scoreboard() if row["table"] in tables]
    found = pd.DataFrame(rows, columns=list(TABLE_COLUMNS))
    return found.sort_values(["table", "column"], kind="stable", ignore_index=True)


def first_explained(tables: Iterable[str]) -> str | None:
    """The first of these tables that the simulator explains; a file of one's own has no kept fit."""
    known = explained_tables()
    return next((name for name in tables if name in known), None)


def explained_tables() -> list[str]:
    """The tables that the simulator was fitted to, or checked against."""
    return list(dict.fromkeys(row["table"] for row in kept_scoreboard() if row["kind"] == "simulator"))


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
    return [
        row | {f"{n}_from": None if row[f"{n}_pct"] is None else HOW[row["kind"]][n] for n in HOW["queueing"]}
        for row in rows
    ]


HEADER = (
    "table", "column", "model", "points", "free", "in sample %", "leave-one-out %", "small N to large %",
    "coverage %", "noise %", "target %", "met",
)  # fmt: skip


def scoreboard_text(rows: Sequence[dict[str, Any]], why_short: Mapping[str, str] | None = None) -> str:
    """A line for each curve, one more where thread counts are left out of it; then why, and how chosen.

    why_short: of tables whose targets the simulator misses, why.
    """
    queueing, simulated = ([row for row in rows if row["kind"] == kind] for kind in HOW)
    parts = [_table(queueing), "", *_notes(queueing)]
    if simulated:
        parts += ["", "Explained by the simulator:", _table(simulated), ""]
        parts += _simulated_notes(simulated, why_short or {})
    left = [f"{row['table']}, {row['column']}" for row in rows if row["kind"] == "none"]
    if left:
        parts.append(f"Explained by no model (data/README.md says why): {'; '.join(left)}.")
    return "\n".join(parts)


def _table(rows: Sequence[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        lines.append(_cells(row, row, row["column"]))
        if all_points := row.get("all_points"):
            lines.append(_cells(row, {**all_points, "coverage_pct": None}, "  the same, all points"))
    return text_table(pd.DataFrame(lines, columns=list(HEADER))).rstrip() if lines else "none"


def _cells(row: dict[str, Any], figures: dict[str, Any], name: str) -> list[str]:
    """A line of the table, with the row's own figures or others; calibrated is said in the place of met."""
    targets = [f"{row[key]:g}" for key in ("target_pct", "target_loo_pct") if row[key]]
    of_all = f" of {row['points_in_table']}" if row["kind"] == "queueing" else ""
    errors = ("mape_pct", "loo_pct", "extrapolation_pct", "coverage_pct", "noise_pct")
    return [
        row["table"],
        name,
        figures["model"],
        f"{figures['points']}{of_all}",
        str(figures["free_parameters"]),
        *(_pct(figures[key]) for key in errors),
        " / ".join(targets) or "-",
        "calibrated" if row.get("calibrated") else {True: "yes", False: "no", None: "-"}[figures["met"]],
    ]


def _simulated_notes(rows: Sequence[dict[str, Any]], why_short: Mapping[str, str]) -> list[str]:
    notes = [
        "All columns of a table are fitted at once and share their parameters; free are those on which the "
        "column depends. Small N to large: fitted to N <= 8, the error beyond; coverage: how many of those "
        "rates are in the 95% intervals of that fit, which are wide where N <= 8 leaves a parameter open. "
        "The form of each model was chosen with all its points in view.",
    ]
    notes += [
        f"{row['column']}: leave-one-out not determined at N = {_list(at)}."
        for row in rows
        for at in row["not_determined"].values()
    ]
    short = dict.fromkeys(row["table"] for row in rows if row["met"] is False)
    notes += [f"{table}: {why_short[table]}" for table in short if table in why_short]
    return list(dict.fromkeys(notes))


def _pct(error: float | None) -> str:
    return "-" if error is None else f"{error:.1f}"


def _notes(rows: Sequence[dict[str, Any]]) -> list[str]:
    most = max((row["candidates"] for row in rows), default=0)
    notes = [
        "Mean absolute errors. Small N to large: fitted to the smaller half of thread counts, the error at "
        "the others; - where that half has no more thread counts than the model has parameters, or does not "
        "determine the rates. Coverage: how many rates are in the 95% interval of a fit without them. "
        "Noise: the error of a perfect model; - where there are no repeats.",
        f"Each row has the model with the smallest leave-one-out error of up to {most}: as the best of "
        f"many, that error is smaller than it would be for a new thread count.",
    ]
    notes += [
        f"{row['table']}: thread counts below {row['n_min']} are left out. {row['n_min_because']}"
        for row in rows
        if row["n_min"] > 1
    ]
    for row in (row for row in rows if row["not_laws"]):
        errors = ((one["model"], _pct(one["mape_pct"]), _pct(one["loo_pct"])) for one in row["not_laws"])
        laws = ", ".join(f"{model} ({mape} / {loo})" for model, mape, loo in errors)
        notes.append(f"{row['column']}: no candidates, with their errors: {laws}. {row['not_laws_because']}")
    differ = "leave-one-out not determined (equally good fits of the rest differ)"
    for row in (row for row in rows if row["not_determined"]):
        models = "; ".join(f"{model} at N = {_list(at)}" for model, at in row["not_determined"].items())
        notes.append(f"{row['column']}: {differ}: {models}.")
    return list(dict.fromkeys(notes))


def _list(threads: Sequence[int]) -> str:
    return ", ".join(map(str, threads))
