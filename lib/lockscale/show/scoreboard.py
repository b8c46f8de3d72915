# SPDX-License-Identifier: MIT
"""The whole scoreboard: the best queueing model of each published curve, and the simulator beside it."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lockscale.files import sha256_of
from lockscale.fitting.column import all_published_columns
from lockscale.fitting.fit_cache import cached
from lockscale.fitting.scoreboard import column_row, simulated_rows
from lockscale.fitting.simulated_model import Simulated
from lockscale.progress import progress
from lockscale.studies.registry import studies


def whole_scoreboard() -> list[dict[str, Any]]:
    """Rows of the shape `scoreboard` of the command line: queueing models first, then the simulator.

    Fits are kept in the cache by the content of tables, source and settings: of the queueing models each
    curve's, of the simulator each table's, whose columns are fitted at once. After an interrupt or a kill
    those are not made again.
    """
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
            rows += cached(one.table, _settings(one), partial(_rows, one))
        shown.update(len(tables))
    return rows


def _rows(of: Simulated) -> list[dict[str, Any]]:
    found = simulated_rows(of)
    return [*found, *of.checked(found)] if of.checked else found


def _settings(of: Simulated) -> Mapping[str, Any]:
    found = {"model": str(of.model), "free": of.free, "held": of.held, "operations": of.operations}
    own = {"source": of.source} if of.source else {}
    own |= {"model_source": sha256_of(of.model)} if isinstance(of.model, Path) else {}
    return found | own
