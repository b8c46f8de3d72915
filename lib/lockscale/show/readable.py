# SPDX-License-Identifier: MIT
"""How notebooks show tables, sentences and facts: whole texts, four digits, empty where nothing is known."""

import math
import re
from collections.abc import Iterable, Mapping
from html import escape
from numbers import Integral, Real
from typing import Any

import pandas as pd
from IPython.core.getipython import get_ipython
from IPython.display import HTML

DIGITS = 4
MOST_ROWS = 60
MANY_COLUMNS = 10
"""A wider table has smaller letters, names that break, and below it what is alike in all rows: else its last
columns, which hold the verdict, are not seen."""
INTERVAL = ("predicted", "value", "low", "high")
THOUSANDS = 10_000
WRAPS = {"flex_flow": "row wrap"}
"""Layout of a row of controls: a small window has them below one another."""
_CODE = re.compile(r"`([^`]+)`")
LEFT, RIGHT = ' style="text-align:left"', ""  # JupyterLab and repository pages have numbers' side by default


def show_tables_whole() -> None:
    """From here on a notebook shows each data frame as `html_of` writes it; elsewhere nothing changes."""
    shell = get_ipython()
    if shell is not None and shell.display_formatter is not None:
        shell.display_formatter.formatters["text/html"].for_type(pd.DataFrame, html_of)


def html_of(frame: pd.DataFrame) -> str:
    """A table with all of each text, numbers of DIGITS digits, and empty cells for what is not known.

    Its index is left out where it only counts the rows.
    """
    if frame.empty:
        return "<i>no rows</i>"
    whole = frame
    if not isinstance(frame.index, pd.RangeIndex):
        names = ["" if name is None else name for name in frame.index.names]
        whole = frame.reset_index(names=names, allow_duplicates=True)
    wide = whole.shape[1] > MANY_COLUMNS
    whole, alike = _without_alike(whole) if wide else (whole, "")
    shown = whole.head(MOST_ROWS)
    sides = [_side(whole.iloc[:, at]) for at in range(whole.shape[1])]
    text = _breakable if wide else escape
    head = "".join(f"<th{side}>{text(_name(n))}</th>" for n, side in zip(whole, sides, strict=True))
    rows = (
        "".join(f"<td{side}>{text(cell(v))}</td>" for v, side in zip(row, sides, strict=True))
        for row in shown.astype(object).itertuples(index=False, name=None)
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    size = ' style="font-size:85%"' if wide else ""
    left = len(whole) - len(shown)
    more = f"<div>and {left} more rows</div>" if left else ""
    return f"<table{size}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}{alike}"


def _without_alike(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The columns whose values differ between rows, and a line that says the others."""
    texts = [[cell(value) for value in frame.iloc[:, at]] for at in range(frame.shape[1])]
    differ = [at for at, column in enumerate(texts) if len(set(column)) > 1]
    if {*map(str, frame.columns[differ])} & {*INTERVAL}:  # its ends stay beside each other
        differ = [at for at, name in enumerate(frame.columns) if at in differ or name in INTERVAL]
    if len(frame) < 2 or not differ:
        return frame, ""
    said = {
        _name(frame.columns[at]): column[0]
        for at, column in enumerate(texts)
        if at not in differ and column[0]
    }
    line = "; ".join(f"{name} {value}" for name, value in said.items())
    return frame.iloc[:, differ], f"<div>in all rows: {escape(line)}</div>" if said else ""


def _breakable(text: str) -> str:
    """Markup of a text that may go on in the next line behind each underscore."""
    return escape(text).replace("_", "_<wbr>")


def _name(column: object) -> str:
    return ", ".join(map(str, column)) if isinstance(column, tuple) else str(column)


def _side(column: "pd.Series[Any]") -> str:
    known = [value for value in column if cell(value)]
    return RIGHT if known and all(isinstance(value, Real) for value in known) else LEFT


def cell(value: Any) -> str:
    """What stands in a cell for a value."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {cell(one)}" for name, one in value.items())
    if isinstance(value, list | tuple | set):
        return ", ".join(map(cell, value))
    return _number(value) if isinstance(value, Real) else str(value)


def _number(value: Any) -> str:
    if math.isinf(value):
        return "-inf" if value < 0 else "inf"
    if round(abs(value)) >= THOUSANDS:  # 9999.6 to four digits would be 1e+04
        return f"{round(value):,}"
    return str(value) if isinstance(value, Integral) else f"{value + 0.0:.{DIGITS}g}"  # no -0


def sentences(texts: str | Iterable[str]) -> HTML:
    """Each text as a paragraph of its own, which breaks between words."""
    return _html(_paragraphs([texts] if isinstance(texts, str) else texts))


def facts(found: Mapping[str, Any]) -> HTML:
    """What is known by name: sentences, then numbers, then the tables among them."""
    words = [value for value in found.values() if isinstance(value, str) and " " in value]
    tables = {name: value for name, value in found.items() if _is_table(value)}
    numbers = [
        {"name": name, "value": cell(value)}
        for name, value in found.items()
        if name not in tables and not (isinstance(value, str) and " " in value)
    ]
    parts = [_paragraphs(words), *([html_of(pd.DataFrame(numbers))] if numbers else [])]
    parts += [f"<p>{escape(name)}:</p>{html_of(pd.DataFrame(rows))}" for name, rows in tables.items()]
    return _html("".join(parts))


def _html(text: str) -> HTML:
    return HTML(text)  # type: ignore[no-untyped-call]


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _paragraphs(texts: Iterable[str]) -> str:
    """A command or a name between backticks is set as code."""
    marked = (_CODE.sub(r"<code>\1</code>", escape(one)) for one in texts)
    return "".join(f"<p>{one}</p>" for one in marked)
