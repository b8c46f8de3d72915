# SPDX-License-Identifier: MIT
"""The curves of a table: published, a CSV file of one's own, or a data frame."""

from pathlib import Path

import pandas as pd

from lockscale.errors import BadInput
from lockscale.fitting.column import Column
from lockscale.fitting.own_file import read_cells
from lockscale.fitting.own_table import own_columns
from lockscale.fitting.published_table import published_columns

Table = str | Path | pd.DataFrame


def read_columns(table: Table, n_min: int = 1, n_max: int | None = None) -> list[Column]:
    """Every curve with thread counts from n_min to n_max.

    table: the name of a published table, the path of a CSV file (it ends in .csv or has a slash), or a
    data frame with columns threads and value. Raises BadInput for what cannot be used.
    """
    for name, n in (("n_min", n_min), ("n_max", n_max)):
        if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
            raise BadInput(f"{name} is {n!r}: give a whole number of threads")
    return [column.between(n_min, n_max) for column in _all_columns(table)]


def read_column(table: Table, column: str | None = None, n_min: int = 1, n_max: int | None = None) -> Column:
    """The one curve of a table, or the one that `column` names."""
    found = read_columns(table, n_min, n_max)
    chosen = [one for one in found if column in (None, one.name)]
    if len(chosen) != 1:
        names = ", ".join(repr(one.name) for one in found)
        raise BadInput(f"column is {column!r} but the table has {len(found)}: choose of {names}")
    return chosen[0]


def _all_columns(table: Table) -> list[Column]:
    if isinstance(table, pd.DataFrame):
        return own_columns(table.reset_index(drop=True).rename(index=lambda k: k + 1), "the data frame")
    if isinstance(table, Path) or table.endswith(".csv") or "/" in table:
        return own_columns(read_cells(Path(table)), str(table))
    return published_columns(table)
