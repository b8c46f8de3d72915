# SPDX-License-Identifier: MIT
"""Columns of numbers from outside: right, or refused in one sentence that names the row."""

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput

FloatArray = npt.NDArray[np.float64]

MAX_THREADS = 100_000


def as_floats(what: str, column: npt.ArrayLike) -> FloatArray:
    """The column as finite floats, shape (n,). Raises BadInput and names the first bad row."""
    cells = np.atleast_1d(np.asarray(column, dtype=object))
    if cells.ndim != 1:
        raise BadInput(f"{what} must be one column of numbers, not an array of shape {cells.shape}.")
    try:
        numbers = cells.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{what} has a cell that is no number: {_first_text(cells)}.") from None
    if bad := np.flatnonzero(~np.isfinite(numbers)).tolist():
        row = f"{what} row {bad[0] + 1} is {numbers[bad[0]]}"
        raise BadInput(f"{row}: leave out rows without a value.")
    return numbers


def _first_text(cells: npt.NDArray[np.object_]) -> str:
    for row, cell in enumerate(cells, start=1):
        try:
            float(cell)
        except (TypeError, ValueError, OverflowError):
            return f"row {row} is {cell!r}"
    return "one of them"


def check_threads(threads: npt.ArrayLike) -> FloatArray:
    """Thread counts as floats, shape (n,). Raises BadInput unless whole and 1..MAX_THREADS."""
    n = as_floats("threads", threads)
    if bad := np.flatnonzero((n < 1) | (n > MAX_THREADS) | (n != np.round(n))).tolist():
        raise BadInput(
            f"threads row {bad[0] + 1} is {n[bad[0]]:g}: thread counts are whole numbers from 1 to "
            f"{MAX_THREADS}, so check that the columns are not swapped."
        )
    return n
