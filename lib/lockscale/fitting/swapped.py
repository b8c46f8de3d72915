# SPDX-License-Identifier: MIT
"""Columns that look as if threads and values had changed places."""

import warnings

import numpy as np

from lockscale.fitting.column import Column

MANY_THREADS = 4096
"""More threads than the simulator has; nobody's smallest count."""


def looks_swapped(column: Column) -> str:
    """A sentence, or none: values are small rising whole numbers, threads larger and not of a scale.

    A scale of thread counts rises and begins below MANY_THREADS. This is odd and not impossible.
    """
    n, x = column.threads, column.rates_per_s
    if len(n) < 3 or np.any(n <= x) or np.any(x != np.round(x)) or np.any(np.diff(x) <= 0):
        return ""
    if x[-1] > MANY_THREADS or (np.all(np.diff(n) > 0) and n[0] <= MANY_THREADS):
        return ""
    return (
        f"{column.table}, {column.name}: values {x[0]:g} to {x[-1]:g} look like thread counts and threads "
        f"{n[0]:g} to {n[-1]:g} like rates, so check that the columns are not swapped"
    )


def warn_if_swapped(column: Column) -> None:
    """The sentence as a warning, for a notebook."""
    if said := looks_swapped(column):
        warnings.warn(said, stacklevel=3)
