# SPDX-License-Identifier: MIT
"""Curves of a table of the user's own, a CSV file or a data frame: right, or refused in one sentence.

Columns are `threads,value`, with more where there is more, or those of our long form.
"""

import csv
import datetime
import io
import operator
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import SupportsIndex

import numpy as np
import pandas as pd

from lockscale.errors import MOST_PRINTABLE, BadInput, printable
from lockscale.fitting.column import Column, published_columns
from lockscale.fitting.rate_unit import KNOWN as RATES
from lockscale.fitting.rate_unit import TIME_S, RateUnit, rate_unit
from lockscale.queueing.model import LARGEST, MAX_THREADS
from lockscale.queueing.points import SMALLEST
from lockscale.tables.audit_file import own_path

SHAPE = "write a header and rows such as threads,value and 8,12500"
PLAIN = "quote text with commas, and write 1234.5 for a number"
MOST_COLUMNS = 1000
MOST_BYTES = 64 << 20
_NO_NAME = "Unnamed:"  # pandas' own word where it writes or reads an index


def read_cells(path: Path) -> pd.DataFrame:
    """Cells of text by column; the index is the row as an editor counts it, header and all.

    Rows that are empty altogether are left out, and so is a column without a name that is empty or only
    counts rows. The file is read once, so it may be a pipe. Raises BadInput with file and row.
    """
    text = _text(path)
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # an open quote's cell is the rest
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True):
            rows.append(row)
    except csv.Error as error:
        ended = str(error) == "unexpected end of data"
        what = "has an unclosed quote" if ended else f"is not valid CSV ({error})"
        raise BadInput(f"{path} row {len(rows) + 1} {what}: {SHAPE}") from error
    names = _header(path, rows.pop(0) if rows else [])
    for number, row in enumerate(rows, start=2):
        if any(row[len(names) :]):
            raise BadInput(f"{path} row {number} has more cells than the header has names: {PLAIN}")
        row[len(names) :] = [""] * (len(names) - len(row))
    cells = pd.DataFrame(rows, columns=names, index=pd.RangeIndex(2, len(rows) + 2), dtype=str)
    return _named(path, cells[(cells != "").any(axis=1)])


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise BadInput(f"{path} has more than {MOST_BYTES >> 20} MiB: keep a row for each rate")
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not a CSV file in UTF-8: {SHAPE}") from error
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; give the path of a CSV file") from error
    if "\0" in text:
        raise BadInput(f"{path} is a binary file, not CSV: {SHAPE}")
    return text


def _header(path: Path, row: Sequence[str]) -> list[str]:
    """The names in row 1; those of columns without one say which column it is."""
    names = [name.strip() for name in row]
    if len(names) > MOST_COLUMNS:
        raise BadInput(f"{path} row 1 has {len(names)} names, and at most {MOST_COLUMNS} are read: {SHAPE}")
    if not any(names):
        raise BadInput(f"{path} row 1 is empty: {SHAPE}")
    if names[0].startswith("#"):
        raise BadInput(f"{path} row 1 is a comment: begin with the header, and leave comments out")
    for mark, called in ((";", "semicolons"), ("\t", "tabs"), (" ", "blanks")):
        if len(names) == 1 and mark in names[0]:
            raise BadInput(f"{path} row 1 has {called} between the names: write commas, also in the rows")
    if twice := sorted({name for name in names if name and names.count(name) > 1}):
        name = printable(twice[0])
        raise BadInput(f"{path} row 1 names column {name!r} twice: give each column a different name")
    return [name or f"{_NO_NAME} {place}" for place, name in enumerate(names)]


def _named(path: Path, cells: pd.DataFrame) -> pd.DataFrame:
    """Without the columns that a trailing comma or a data frame's index makes."""
    without = [name for name in cells if str(name).startswith(_NO_NAME)]
    for name in without:
        column = cells[name]
        counts = name == f"{_NO_NAME} 0" and column.str.isdecimal().all() and column.is_unique
        if not counts and (column != "").any():
            place = int(str(name).removeprefix(_NO_NAME)) + 1
            raise BadInput(
                f"{path} row 1 has no name for column {place}: name it like a known column, or drop it"
            )
    return cells.drop(columns=without)  # all at once: each time copies the table


NUMBERS = ("threads", "value", "runs")
_TIMES = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)
_NO_NUMBERS = (*_TIMES, bool, np.bool_, complex, np.complexfloating, bytes)


def plain_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows counted from 1. Raises BadInput for columns of two names, of one name, or of what is no number."""
    if frame.columns.nlevels > 1:
        raise BadInput("the data frame has columns of several levels: give each one name, such as threads")
    plain = frame.rename(columns=str).reset_index(drop=True).rename(index=lambda row: row + 1)
    if (twice := plain.columns.duplicated()).any():
        name = plain.columns[twice][0]
        raise BadInput(f"the data frame has column {name!r} twice: give each column a different name")
    for name in {*APART, "profiled"} & {*plain}:  # an empty cell is as in a file, categories are as text
        plain[name] = plain[name].astype(object).where(plain[name].notna(), "")
    for name in NUMBERS:
        if name in plain and not (plain[name].dtype.kind in "iuf" or plain[name].dtype == "string"):
            plain[name] = plain[name].astype(object)
            _refuse(plain[name].map(_is_no_number), plain[name].map(str), FRAME, "write plain numbers")
    return plain


def _is_no_number(cell: object) -> bool:
    return isinstance(cell, _NO_NUMBERS) or (isinstance(cell, int) and abs(cell) > 10**300)


FRAME = "the data frame"
NEEDED = ("threads", "value")
APART = ("study", "arm", "target", "cpus", "tool", "test", "metric", "statistic", "unit", "origin")
"""Rows that differ in one of these are of different curves."""
REPEATS = ("run", "table", "arm_published", "kernel", "tool_version", "pair", "block", "iteration")
ASIDE = ("printed", "starred", "build_id", "started_utc")
_STEERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
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
    for name in (name for name in APART if name in cells):
        # not str.contains(): where pyarrow is installed, pandas asks it, which knows no \u in a pattern
        steers = cells[name].map(lambda one: _STEERS.search(str(one)) is not None).astype(bool)
        _refuse(steers, cells[name], where, "leave out control characters, as they would reach a terminal")
    if "statistic" in cells:
        means = cells.statistic.astype(str).str.startswith("mean_per_")
        _refuse(
            means,
            cells.statistic,
            where,
            "give the rate of all together, that of one times how many there are",
        )
    cells, scale = _in_one_unit(cells, where)
    threads = _numbers(cells, "threads", where)
    _refuse(
        (threads < 1) | (threads > MAX_THREADS) | (threads != threads.round()),
        cells.threads,
        where,
        f"thread counts are whole numbers from 1 to {MAX_THREADS}, so check that the columns are not swapped",
    )
    cells = cells.assign(threads=threads, value=_positive(cells, "value", where) * scale)
    if "runs" in cells:
        runs = _numbers(cells, "runs", where)
        advice = "it is how many runs a row is the mean of, a whole number from 1 on"
        _refuse((runs < 1) | (runs > LARGEST) | (runs != runs.round()), cells.runs, where, advice)
        cells = cells.assign(runs=runs)
    return _curves(cells, where)


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
            _refuse(blank, cells.arm, where, "other rows name their arm, so this one needs one too")


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
    names = {unit: one.name for unit, one in known.items()}
    _check_one_unit(cells, names, where)
    cells = cells[cells.unit.isin(list(known))]
    scale = cells.unit.map({unit: one.per_s for unit, one in known.items()})
    return cells.assign(unit=cells.unit.map(names)), scale


def _check_one_unit(cells: pd.DataFrame, names: Mapping[object, str], where: str) -> None:
    """A curve of rates has no row without a unit, and no two units that share no thread count.

    names: of the units of rates, one for each meaning. Rows of other units are left out, and so would be
    points of such a curve.
    """
    units = cells.unit.astype(object).where(cells.unit.notna(), "").map(lambda unit: names.get(unit, unit))
    cells = cells.assign(unit=units)
    keys = [name for name in APART if name in cells and name != "unit"]
    for _, rows in cells.groupby(keys, sort=False, dropna=False) if keys else [((), cells)]:
        of_unit = {unit: set(of.threads) for unit, of in rows.groupby("unit", sort=False)}
        if len(of_unit) == 1 or of_unit.keys().isdisjoint(names.values()):
            continue
        if "" in of_unit or len(set().union(*of_unit.values())) == sum(map(len, of_unit.values())):
            first = rows.unit.iloc[0]
            before = f"are in {printable(first)}" if first else "have none"
            advice = f"rows before it {before}, so give the whole curve in one unit"
            _refuse(rows.unit != first, rows.unit, where, advice)


def _numbers(cells: pd.DataFrame, name: str, where: str) -> "pd.Series[float]":
    numbers = pd.to_numeric(cells[name], errors="coerce").astype("float64")
    empty = cells[name].isna() | (cells[name] == "")
    _refuse(empty, cells[name], where, "leave out rows without a value")
    advice = "write plain numbers such as 1234.5, and leave out failed runs"
    _refuse(numbers.isna() | numbers.isin([np.inf, -np.inf]), cells[name], where, advice)
    return numbers


def _positive(cells: pd.DataFrame, name: str, where: str) -> "pd.Series[float]":
    numbers = _numbers(cells, name, where)
    advice = f"give {SMALLEST:g} to {LARGEST:g}, so check the unit and leave out failed runs"
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


def _curves(cells: pd.DataFrame, where: str) -> list[Column]:
    keys = [name for name in APART if name in cells]
    named = _naming(cells, keys)
    found = []
    for _, rows in cells.groupby(keys, sort=False, dropna=False) if keys else [((), cells)]:
        first = rows.iloc[0]
        found.append(
            Column(
                table=where,
                name=" ".join(filter(None, (str(first[key]) for key in named))) or "value",
                threads=rows.threads.to_numpy(float),
                rates_per_s=rows.value.to_numpy(float),
                runs=rows.runs.to_numpy(float) if "runs" in rows else None,
                unit=str(first["unit"]) if "unit" in rows else "",
                origin=str(first.get("origin", "")).strip() or "not stated",
            )
        )
    if twice := [name for name, times in Counter(one.name for one in found).items() if times > 1]:
        raise BadInput(f"{where} has two curves called {_said(twice[0])}: give them different names in arm")
    return found


def _naming(cells: pd.DataFrame, keys: list[str]) -> list[str]:
    """The columns that tell the curves apart; unit and origin only where nothing else does."""
    several = [name for name in keys if cells[name].nunique(dropna=False) > 1]
    short = [name for name in several if name not in ("unit", "origin")]
    if short == several:
        return short
    told = len(cells[short].drop_duplicates()) if short else 1
    return short if told == len(cells[several].drop_duplicates()) else several


Table = str | Path | pd.DataFrame


def read_columns(table: Table) -> list[Column]:
    """Every curve of a table.

    table: the name of a published table, the path of a CSV file (it is there, or has a dot or slash), or a
    data frame with columns threads and value. Raises BadInput for what cannot be used.
    """
    if isinstance(table, pd.DataFrame):
        return own_columns(plain_frame(table), FRAME)
    if isinstance(table, Path):
        return own_columns(read_cells(table), str(table))
    if not isinstance(table, str):
        raise BadInput(
            f"the table is {printable(type(table).__name__)}: give a published table's name, the path of a "
            "CSV file, or a data frame with columns threads and value (lockscale.queueing.fit takes arrays)"
        )
    if own := own_path(table):
        return own_columns(read_cells(own), table)
    return published_columns(table)


def read_column(table: Table, column: str | None = None, n_min: int = 1, n_max: int | None = None) -> Column:
    """The one curve of a table, or the one that `column` names, with thread counts from n_min to n_max."""
    threads = thread_range(n_min, n_max)
    found = read_columns(table)
    chosen = [one for one in found if column in (None, one.name)]
    if len(chosen) != 1:
        names = ", ".join(repr(one.name) for one in found)
        raise BadInput(f"column is {column!r} but the table has {len(found)}: choose one of {names}")
    return chosen[0].between(*threads)


def thread_range(n_min: int, n_max: int | None) -> tuple[int, int | None]:
    """Both as Python's whole numbers; BadInput for what is none."""
    return whole_threads("n_min", n_min), None if n_max is None else whole_threads("n_max", n_max)


def whole_threads(name: str, n: object) -> int:
    """A number of threads, also one of numpy's."""
    if isinstance(n, bool) or not isinstance(n, SupportsIndex) or operator.index(n) < 1:
        raise BadInput(f"{name} is {n!r}: give a whole number of threads")
    return operator.index(n)
