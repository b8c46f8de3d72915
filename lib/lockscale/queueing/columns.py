# SPDX-License-Identifier: MIT
"""Columns of numbers from outside: right, or refused in one sentence that names the row."""

from typing import Any

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput

FloatArray = npt.NDArray[np.float64]

MAX_THREADS = 100_000


def as_floats(what: str, column: npt.ArrayLike) -> FloatArray:
    """The column as finite floats, shape (n,). Raises BadInput and names the first bad row."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
        cells: npt.NDArray[Any] = np.atleast_1d(column)
    else:
        try:
            cells = np.atleast_1d(np.asarray(column, dtype=object))
        except ValueError:  # numpy cannot make rows of unlike shapes one array
            raise BadInput(f"{what} must be one column of numbers, not rows of several.") from None
    if cells.ndim != 1:
        raise BadInput(f"{what} must be one column of numbers, not an array of shape {cells.shape}.")
    if cells.dtype == object and (wrong := _not_a_number(cells)):
        raise BadInput(f"{what} has a cell that is no number: {wrong}.")
    numbers = cells.astype(np.float64)
    if bad := np.flatnonzero(~np.isfinite(numbers)).tolist():
        row = f"{what} row {bad[0] + 1} is {numbers[bad[0]]}"
        raise BadInput(f"{row}: leave out rows without a value.")
    return numbers


def _not_a_number(cells: npt.NDArray[np.object_]) -> str:
    """The first cell that is none, with its row, or an empty text."""
    for row, cell in enumerate(cells, start=1):
        try:
            if isinstance(cell, bool | np.bool_ | np.datetime64 | np.timedelta64):
                raise TypeError
            float(cell)
        except (TypeError, ValueError, OverflowError):
            return f"row {row} is {str(cell)[:40]!r}"
    return ""


def check_threads(threads: npt.ArrayLike) -> FloatArray:
    """Thread counts as floats, shape (n,). Raises BadInput unless whole and 1..MAX_THREADS."""
    n = as_floats("threads", threads)
    if bad := np.flatnonzero((n < 1) | (n > MAX_THREADS) | (n != np.round(n))).tolist():
        raise BadInput(
            f"threads row {bad[0] + 1} is {n[bad[0]]:g}: thread counts are whole numbers from 1 to "
            f"{MAX_THREADS}, so check that the columns are not swapped."
        )
    return n
