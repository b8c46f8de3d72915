# SPDX-License-Identifier: MIT
"""One stem = one figure: the picture in the forms asked for, and the numbers in it as csv and text."""

from collections.abc import Collection
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from lockscale.files import write_bytes, write_text
from lockscale.report.picture import page, pdf, svg
from lockscale.report.template import room_for_legend
from lockscale.report.text_table import text_table

FORMATS = ("svg", "pdf", "html", "txt", "csv")
USUAL = ("csv", "txt", "svg")


def save(
    drawn: go.Figure, numbers: pd.DataFrame, folder: Path, stem: str, formats: Collection[str] = USUAL
) -> Path:
    """Write <stem>.<format> for each format; returns the path of the svg, written or not.

    The numbers come first: they need no browser.
    """
    room_for_legend(drawn)
    if "csv" in formats:
        write_text(folder / f"{stem}.csv", numbers.to_csv(index=False))
    if "txt" in formats:
        write_text(folder / f"{stem}.txt", text_of(drawn, numbers))
    if "html" in formats:
        write_text(folder / f"{stem}.html", page(drawn, stem))
    if "svg" in formats:
        write_text(folder / f"{stem}.svg", svg(drawn, stem))
    if "pdf" in formats:
        write_bytes(folder / f"{stem}.pdf", pdf(drawn, stem))
    return folder / f"{stem}.svg"


def text_of(drawn: go.Figure, numbers: pd.DataFrame) -> str:
    """The numbers below the figure's title and a line that says where they are from."""
    meta = drawn.layout.meta or {}
    head = [meta[key] for key in ("title", "says") if meta.get(key)]
    return "\n".join([*head, "", text_table(numbers)] if head else [text_table(numbers)])
