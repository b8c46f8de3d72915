# SPDX-License-Identifier: MIT
"""A data frame of the user's own as a table whose index is the row to name."""

import datetime

import numpy as np
import pandas as pd

from lockscale.errors import BadInput

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
        raise BadInput(f"the data frame has column {name!r} twice: give each column a name of its own")
    for name in NUMBERS:
        if name in plain:
            plain[name] = _cells(plain[name])
    return plain


def _cells(column: "pd.Series[float]") -> "pd.Series[float]":
    """The column as it is, or, where that is neither numbers nor text, cell by cell as objects."""
    if pd.api.types.is_numeric_dtype(column) and column.dtype.kind in "iuf":
        return column
    if isinstance(column.dtype, pd.StringDtype):
        return column
    cells = column.astype(object)
    for row, cell in cells.items():
        if isinstance(cell, _NO_NUMBERS) or (isinstance(cell, int) and abs(cell) > 10**300):
            raise BadInput(
                f"the data frame row {row}, column {column.name} is {str(cell)[:40]!r}: write plain numbers"
            )
    return cells
