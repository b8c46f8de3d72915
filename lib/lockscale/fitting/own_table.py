# SPDX-License-Identifier: MIT
"""Columns of a table of the user's own: `threads,value` with more where there is more, or our long form."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lockscale.errors import BadInput
from lockscale.fitting.column import Column
from lockscale.fitting.rate_unit import per_s
from lockscale.queueing.columns import MAX_THREADS, FloatArray
from lockscale.queueing.model import LARGEST
from lockscale.queueing.points import SMALLEST

NEEDED = ("threads", "value")
APART = ("study", "arm", "target", "cpus", "tool", "test", "metric", "statistic", "unit", "origin")
"""Rows that differ in one of these are of different curves."""
REPEATS = ("run", "table", "arm_published", "kernel", "tool_version", "pair", "block", "iteration")
ASIDE = ("printed", "starred", "build_id", "started_utc")
KNOWN = (*NEEDED, "runs", "profiled", *APART, *REPEATS, *ASIDE)


def own_columns(cells: pd.DataFrame, where: str) -> list[Column]:
    """Every curve of rates in a table of text or numbers whose index is the row to name.

    Rows marked `profiled` give no rate and are left out; so are, where there is a column `metric`, rows
    of other units than rates. Raises BadInput with row, column and what to do.
    """
    cells = cells.rename(columns=str)
    _check_names(list(cells.columns), where)
    if "profiled" in cells:
        cells = cells[~cells.profiled.astype(str).str.lower().isin(["true", "1"])]
    if cells.empty:
        raise BadInput(f"{where} has no rows: add one for each thread count")
    scale = _scales(cells, where)
    cells, scale = cells[scale.notna()], scale[scale.notna()]
    threads = _numbers(cells, "threads", where)
    _refuse(
        (threads < 1) | (threads > MAX_THREADS) | (threads != threads.round()),
        cells.threads,
        where,
        f"thread counts are whole numbers from 1 to {MAX_THREADS}, so check that the columns are not swapped",
    )
    rates = _positive(cells, "value", where) * scale
    runs = _positive(cells, "runs", where) if "runs" in cells else None
    return _curves(cells, where, threads, rates, runs)


def _check_names(names: Sequence[str], where: str) -> None:
    has = f"it has {', '.join(names)}"
    for name in NEEDED:
        if name not in names:
            raise BadInput(
                f"{where} row 1 names no column {name} ({has}): name its columns threads and value"
            )
    if unknown := [name for name in names if name not in KNOWN]:
        raise BadInput(
            f"{where} row 1 names a column {unknown[0]!r} that is not known: call it arm if its rows are "
            f"different curves, or leave it out (known: {', '.join(KNOWN)})"
        )


def _scales(cells: pd.DataFrame, where: str) -> "pd.Series[float]":
    """Operations per second in one unit of each row; NaN for rows that are no rates."""
    if "unit" not in cells:
        return pd.Series(1.0, index=cells.index)
    factors: dict[object, float] = {}
    for unit in cells.unit.unique():
        try:
            factors[unit] = per_s(str(unit).strip())
        except ValueError as wrong:
            if "metric" not in cells:
                row = cells.index[cells.unit == unit][0]
                raise BadInput(f"{where} row {row}, column unit: {wrong}") from None
    if not factors:
        raise BadInput(f"{where} has no rates: its units are {', '.join(map(str, cells.unit.unique()))}")
    return cells.unit.map(factors)


def _numbers(cells: pd.DataFrame, name: str, where: str) -> "pd.Series[float]":
    numbers = pd.to_numeric(cells[name], errors="coerce").astype("float64")
    empty = cells[name].isna() | (cells[name] == "")
    _refuse(empty, cells[name], where, "leave out rows without a value")
    advice = "write plain numbers such as 1234.5, and leave out runs that did not work"
    _refuse(numbers.isna() | numbers.isin([np.inf, -np.inf]), cells[name], where, advice)
    return numbers


def _positive(cells: pd.DataFrame, name: str, where: str) -> "pd.Series[float]":
    numbers = _numbers(cells, name, where)
    advice = f"give {SMALLEST:g} to {LARGEST:g}, so check the unit and leave out runs that did not work"
    _refuse((numbers < SMALLEST) | (numbers > LARGEST), cells[name], where, advice)
    return numbers


def _refuse(bad: "pd.Series[bool]", column: "pd.Series[str]", where: str, advice: str) -> None:
    if bad.any():
        row, cell = next(
            (row, cell) for row, cell, wrong in zip(bad.index, column, bad, strict=True) if wrong
        )
        raise BadInput(f"{where} row {row}, column {column.name} is {cell!r}: {advice}")


def _curves(
    cells: pd.DataFrame,
    where: str,
    threads: "pd.Series[float]",
    rates: "pd.Series[float]",
    runs: "pd.Series[float] | None",
) -> list[Column]:
    keys = [name for name in APART if name in cells]
    named = [name for name in keys if name not in ("unit", "origin") and cells[name].nunique() > 1]
    found = []
    for _, rows in cells.groupby(keys, sort=False, dropna=False) if keys else [((), cells)]:
        first = rows.iloc[0]
        name = " ".join(str(first[key]) for key in named) or "value"
        found.append(
            Column(
                table=where,
                name=name,
                threads=_array(threads, rows),
                rates_per_s=_array(rates, rows),
                runs=None if runs is None else _array(runs, rows),
                unit=str(first["unit"]) if "unit" in rows else "",
                origin=str(first["origin"]) if "origin" in rows else "not stated",
            )
        )
    return found


def _array(values: "pd.Series[float]", rows: pd.DataFrame) -> FloatArray:
    return np.asarray(values.loc[rows.index], dtype=np.float64)
