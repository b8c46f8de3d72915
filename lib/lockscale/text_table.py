# SPDX-License-Identifier: MIT
"""A data frame as columns of ASCII, as kernel changelogs and terminals take them."""

import math

import numpy as np
import pandas as pd


def text_table(frame: pd.DataFrame) -> str:
    """One header line and one line a row; numbers to four digits that count, right-aligned.

    Columns are two or more spaces apart, no cell holds two, and an empty one is `-`: the text can be
    read back.
    """
    columns = [[cell_text(name), *(cell_text(value) for value in frame[name])] for name in frame.columns]
    widths = [max(map(len, column)) for column in columns]
    right = [pd.api.types.is_numeric_dtype(frame[name]) for name in frame.columns]
    lines = [
        "  ".join(
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(cells, widths, right, strict=True)
        ).rstrip()
        for cells in zip(*columns, strict=True)
    ]
    return "\n".join(lines) + "\n"


def yes_no(value: object) -> object:
    """A truth value in words; anything else, and what is not known, as it is."""
    return ("no", "yes")[bool(value)] if isinstance(value, bool | np.bool_) else value


def from_to(low: float | None, high: float | None) -> str | None:
    """An interval in one cell, to two decimals; None where an end is not known."""
    return None if low is None or high is None else f"{low:.2f} to {high:.2f}"


def cell_text(value: object) -> str:
    """A number to four digits that count, a text in one line, a list with commas, `-` for nothing."""
    if isinstance(value, list | tuple):
        return ", ".join(map(cell_text, value)) or "-"
    if value is None or value is pd.NA or value is pd.NaT:
        return "-"
    if isinstance(value, float):
        if math.isnan(value):
            return "-"
        return f"{value:.0f}" if abs(value) >= 1000 or value.is_integer() else f"{value:.4g}"
    return " ".join(str(value).split()) or "-"
