# SPDX-License-Identifier: MIT
"""The curves of a table: published, a CSV file of one's own, or a data frame."""

import operator
from pathlib import Path
from typing import SupportsIndex

import pandas as pd

from lockscale.errors import BadInput, printable
from lockscale.fitting.column import Column
from lockscale.fitting.own_file import read_cells
from lockscale.fitting.own_frame import plain_frame
from lockscale.fitting.own_table import FRAME, own_columns
from lockscale.fitting.published_table import published_columns
from lockscale.tables.audit_file import own_path

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
        raise BadInput(f"column is {column!r} but the table has {len(found)}: choose of {names}")
    return chosen[0].between(*threads)


def thread_range(n_min: int, n_max: int | None) -> tuple[int, int | None]:
    """Both as Python's whole numbers; BadInput for what is none."""
    return _whole("n_min", n_min), None if n_max is None else _whole("n_max", n_max)


def _whole(name: str, n: object) -> int:
    """A number of threads, also one of numpy's."""
    if isinstance(n, bool) or not isinstance(n, SupportsIndex) or operator.index(n) < 1:
        raise BadInput(f"{name} is {n!r}: give a whole number of threads")
    return operator.index(n)
