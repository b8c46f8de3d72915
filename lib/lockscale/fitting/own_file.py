# SPDX-License-Identifier: MIT
"""A CSV file of the user's own as cells of text: right, or refused in one sentence."""

import csv
import warnings
from pathlib import Path

import pandas as pd

from lockscale.errors import BadInput

SHAPE = "write a header and rows such as threads,value and 8,12500"
PLAIN = "quote text with commas, and write 1234.5 for a number"
_SPARE = "cells beyond the header"


def read_cells(path: Path) -> pd.DataFrame:
    """Cells of text by column; the index is the row as an editor counts it, header and all.

    Rows that are empty altogether are left out. Raises BadInput with file and row.
    """
    header = _header(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            cells = pd.read_csv(
                path,
                header=None,
                names=[*header, _SPARE],
                skiprows=1,
                dtype=str,
                keep_default_na=False,
                skip_blank_lines=False,
                index_col=False,
                encoding="utf-8-sig",
                skipinitialspace=True,
            )
    except pd.errors.ParserWarning:
        raise BadInput(f"{path} has rows with more cells than the header has names: {PLAIN}") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError, OSError) as error:
        raise BadInput(f"{path} is no CSV file: {_said(error)}; {SHAPE}") from error
    cells.index = pd.RangeIndex(2, len(cells) + 2)
    cells = cells.fillna("")
    spare = cells.pop(_SPARE)
    if (more := spare[spare != ""]).size:
        raise BadInput(f"{path} row {more.index[0]} has more cells than the header has names: {PLAIN}")
    return cells[(cells != "").any(axis=1)]


def _header(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            names = [name.strip() for name in next(csv.reader(lines), [])]
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path} is no CSV file in UTF-8: {SHAPE}") from error
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; give the path of a CSV file") from error
    if not any(names):
        raise BadInput(f"{path} row 1 is empty: {SHAPE}")
    for mark, called in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and mark in names[0]:
            raise BadInput(f"{path} row 1 has {called} between the names: write commas")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BadInput(f"{path} row 1 names column {twice[0]!r} twice: give each column a name of its own")
    return names


def _said(error: Exception) -> str:
    return " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
