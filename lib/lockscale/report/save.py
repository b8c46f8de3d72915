# SPDX-License-Identifier: MIT
"""One stem = one figure: the svg, and the numbers in it as csv and text."""

import re
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from lockscale.errors import BadInput
from lockscale.files import write_text
from lockscale.progress import progress
from lockscale.report.text_table import text_table
from lockscale.tools import need


def save(drawn: go.Figure, numbers: pd.DataFrame, folder: Path, stem: str) -> Path:
    """Write <stem>.svg, .csv and .txt; returns the svg's path."""
    write_text(folder / f"{stem}.csv", numbers.to_csv(index=False))
    write_text(folder / f"{stem}.txt", text_table(numbers))
    write_text(folder / f"{stem}.svg", _svg(drawn, stem))
    return folder / f"{stem}.svg"


def _svg(drawn: go.Figure, stem: str) -> str:
    need("chromium")
    for k, trace in enumerate(drawn.data):
        trace.uid = f"{stem}-{k}"  # plotly would draw a random one
    with progress(f"draw {stem}.svg") as shown:
        shown.update(0, "Chromium starts")
        try:
            text = str(drawn.to_image(format="svg"), "utf-8")
        except Exception as error:  # kaleido wraps whatever its browser said in types of its own
            first = (str(error).strip().splitlines() or ["no reason given"])[0]
            raise BadInput(f"Chromium did not draw {stem}.svg ({first}): check `lockscale doctor`") from error
    random_ids = dict.fromkeys(re.findall(r'id="defs-([0-9a-f]+)"', text))
    for k, found in enumerate(random_ids):
        text = text.replace(found, f"{stem}{k}")
    return text
