# SPDX-License-Identifier: MIT
"""Results as a person reads them: small HTML tables as Jupyter shows them, and numbers."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str]) -> str:
    """A title, a table of text cells (the first column to the left), and a line for each note."""
    body = "".join(_row("td", row) for row in rows)
    said = "".join(f"<div>{escape(note)}</div>" for note in notes)
    head = f"<thead>{_row('th', header)}</thead>"
    return f"<div><b>{escape(title)}</b></div><table>{head}<tbody>{body}</tbody></table>{said}"


def _row(tag: str, cells: Sequence[str]) -> str:
    sides = ["left"] + ["right"] * (len(cells) - 1)
    inside = [
        f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>'
        for side, cell in zip(sides, cells, strict=True)
    ]
    return f"<tr>{''.join(inside)}</tr>"


def short(number: float | None, digits: int = 4) -> str:
    """`digits` that count, without an exponent where there is room; `open` where there is no number."""
    if number is None:
        return "open"
    text = f"{number:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and number < 1e9 else text
