# SPDX-License-Identifier: MIT
"""A CSV file of the user's own as cells of text: right, or refused in one sentence."""

import csv
import io
import re
import warnings
from pathlib import Path

import pandas as pd

from lockscale.errors import BadInput, printable

SHAPE = "write a header and rows such as threads,value and 8,12500"
PLAIN = "quote text with commas, and write 1234.5 for a number"
_SPARE = "cells beyond the header"
_NO_NAME = "Unnamed:"  # pandas' own word where it writes or reads an index


def read_cells(path: Path) -> pd.DataFrame:
    """Cells of text by column; the index is the row as an editor counts it, header and all.

    Rows that are empty altogether are left out, and so is a column without a name that is empty or only
    counts rows. The file is read once, so it may be a pipe. Raises BadInput with file and row.
    """
    text = _text(path)
    header = _header(path, text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            cells = pd.read_csv(
                io.StringIO(text),
                header=None,
                names=[*header, _SPARE],
                skiprows=1,
                dtype=str,
                keep_default_na=False,
                skip_blank_lines=False,
                index_col=False,
                skipinitialspace=True,
            )
    except pd.errors.ParserWarning:
        raise BadInput(f"{path} has rows with more cells than the header has names: {PLAIN}") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise BadInput(f"{path} is no CSV file: {_said(error)}; {SHAPE}") from error
    cells.index = pd.RangeIndex(2, len(cells) + 2)
    cells = cells.fillna("")
    spare = cells.pop(_SPARE)
    if (more := spare[spare != ""]).size:
        raise BadInput(f"{path} row {more.index[0]} has more cells than the header has names: {PLAIN}")
    return _named(path, cells[(cells != "").any(axis=1)])


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is no CSV file in UTF-8: {SHAPE}") from error
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; give the path of a CSV file") from error
    if "\0" in text:
        raise BadInput(f"{path} is no CSV file but a binary one: {SHAPE}")
    return text


def _header(path: Path, text: str) -> list[str]:
    """The names in row 1; those of columns without one say which column it is."""
    try:
        names = [name.strip() for name in next(csv.reader(io.StringIO(text, newline=""), strict=True), [])]
    except csv.Error as error:
        raise BadInput(f"{path} row 1 is no header of a CSV file ({error}): {SHAPE}") from error
    if not any(names):
        raise BadInput(f"{path} row 1 is empty: {SHAPE}")
    for mark, called in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and mark in names[0]:
            raise BadInput(f"{path} row 1 has {called} between the names: write commas")
    if twice := sorted({name for name in names if name and names.count(name) > 1}):
        name = printable(twice[0])
        raise BadInput(f"{path} row 1 names column {name!r} twice: give each column a name of its own")
    return [name or f"{_NO_NAME} {place}" for place, name in enumerate(names)]


def _named(path: Path, cells: pd.DataFrame) -> pd.DataFrame:
    """Without the columns that a trailing comma or a data frame's index makes."""
    for name in [name for name in cells if str(name).startswith(_NO_NAME)]:
        column = cells[name]
        counts = name == f"{_NO_NAME} 0" and column.str.isdecimal().all() and column.is_unique
        if not counts and (column != "").any():
            place = int(str(name).removeprefix(_NO_NAME)) + 1
            raise BadInput(
                f"{path} row 1 has no name for column {place}: name it as known columns are, or drop it"
            )
        cells = cells.drop(columns=name)
    return cells


def _said(error: Exception) -> str:
    """What pandas found; it counts the rows of an open quote from 0."""
    said = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
    return re.sub(
        r"EOF inside string starting at row (\d+)",
        lambda found: f"row {int(found[1]) + 1} has a quote that nothing closes",
        said,
    )
