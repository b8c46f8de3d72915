# SPDX-License-Identifier: MIT
"""Columns of a table of the user's own: `threads,value` with more where there is more, or our long form."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lockscale.errors import MOST_PRINTABLE, BadInput, printable
from lockscale.fitting.column import Column
from lockscale.fitting.rate_unit import KNOWN as RATES
from lockscale.fitting.rate_unit import TIME_S, RateUnit, rate_unit
from lockscale.queueing.columns import MAX_THREADS, FloatArray
from lockscale.queueing.model import LARGEST
from lockscale.queueing.points import SMALLEST

FRAME = "the data frame"
NEEDED = ("threads", "value")
APART = ("study", "arm", "target", "cpus", "tool", "test", "metric", "statistic", "unit", "origin")
"""Rows that differ in one of these are of different curves."""
REPEATS = ("run", "table", "arm_published", "kernel", "tool_version", "pair", "block", "iteration")
ASIDE = ("printed", "starred", "build_id", "started_utc")
_YES, _NO = ("true", "yes", "1", "1.0"), ("false", "no", "0", "0.0", "")
KNOWN = (*NEEDED, "runs", "profiled", *APART, *REPEATS, *ASIDE)


def own_columns(cells: pd.DataFrame, where: str) -> list[Column]:
    """Every curve of rates in a table of text or numbers whose index is the row to name.

    Rows marked `profiled` give no rate and are left out; so are, where there is a column `metric`, rows
    of other units than rates. Raises BadInput with row, column and what to do.
    """
    cells = cells.rename(columns=str)
    _check_names(list(cells.columns), where)
    if "profiled" in cells:
        cells = cells[~_profiled(cells, where)]
    if cells.empty:
        raise BadInput(f"{where} has no rows: add one for each thread count")
    _check_arms(cells, where)
    cells, scale = _in_one_unit(cells, where)
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
    head = where if where == FRAME else f"{where} row 1"
    has = f"it has {printable(', '.join(names))}"
    for name in NEEDED:
        if name not in names:
            raise BadInput(f"{head} names no column {name} ({has}): name its columns threads and value")
    if unknown := [name for name in names if name not in KNOWN]:
        raise BadInput(
            f"{head} names a column {_said(unknown[0])} that is not known: call it arm if its rows "
            f"are different curves, or drop it (known: {', '.join(KNOWN)})"
        )


def _profiled(cells: pd.DataFrame, where: str) -> "pd.Series[bool]":
    said = cells.profiled.fillna("").astype(str).str.strip().str.lower()
    unclear = ~said.isin([*_YES, *_NO])
    _refuse(unclear, cells.profiled, where, "write True where a profiler ran, else False")
    return said.isin(_YES)


def _check_arms(cells: pd.DataFrame, where: str) -> None:
    """Rows that name no arm among rows that do would be one more curve, of no name."""
    if "arm" in cells:
        blank = cells.arm.isna() | (cells.arm.astype(str).str.strip() == "")
        if not blank.all():
            _refuse(blank, cells.arm, where, "other rows name their arm, so name this one's too")


def _in_one_unit(cells: pd.DataFrame, where: str) -> "tuple[pd.DataFrame, pd.Series[float]]":
    """Rows of rates with their units by one name each, and how many of it one of a row's value is."""
    if "unit" not in cells:
        return cells, pd.Series(1.0, index=cells.index)
    known: dict[object, RateUnit] = {}
    for unit in cells.unit.unique():
        try:
            known[unit] = rate_unit(str(unit).strip())
        except ValueError as wrong:
            _, slash, time = str(unit).rpartition("/")
            if "metric" not in cells or (slash and time.strip() in TIME_S):
                row = cells.index[cells.unit.isin([unit])][0]
                raise BadInput(f"{where} row {row}, column unit: {wrong}") from None
    if not known:
        units = ", ".join(map(str, cells.unit.unique()))
        raise BadInput(f"{where} has no rates: its units are {printable(units)}; add rows in {RATES}")
    cells = cells[cells.unit.isin(list(known))]
    scale = cells.unit.map({unit: one.per_s for unit, one in known.items()})
    return cells.assign(unit=cells.unit.map({unit: one.name for unit, one in known.items()})), scale


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
        raise BadInput(f"{where} row {row}, column {column.name} is {_said(cell)}: {advice}")


def _said(cell: object) -> str:
    """As code, cut: a cell may be a whole file after a quote that nothing closes."""
    return repr(cell) if len(repr(cell)) <= MOST_PRINTABLE else repr(printable(cell))


def _curves(
    cells: pd.DataFrame,
    where: str,
    threads: "pd.Series[float]",
    rates: "pd.Series[float]",
    runs: "pd.Series[float] | None",
) -> list[Column]:
    keys = [name for name in APART if name in cells]
    named = _naming(cells, keys)
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


def _naming(cells: pd.DataFrame, keys: list[str]) -> list[str]:
    """The columns that tell the curves apart; unit and origin only where nothing else does."""
    several = [name for name in keys if cells[name].nunique() > 1]
    short = [name for name in several if name not in ("unit", "origin")]
    if short == several:
        return short
    told = len(cells[short].drop_duplicates()) if short else 1
    return short if told == len(cells[several].drop_duplicates()) else several


def _array(values: "pd.Series[float]", rows: pd.DataFrame) -> FloatArray:
    return np.asarray(values.loc[rows.index], dtype=np.float64)
