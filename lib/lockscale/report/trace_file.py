# SPDX-License-Identifier: MIT
"""A trace in a file: its ending says for which viewer."""

import json
from pathlib import Path

from lockscale.errors import BadInput
from lockscale.files import write_text
from lockscale.report.perfetto import perfetto
from lockscale.report.timeline import check_bars, timeline
from lockscale.sim.trace import Trace

ENDINGS = {".json": "Perfetto", ".html": "a browser"}


def check_ending(file: Path) -> None:
    """Raises BadInput unless the ending is one that ``save_trace`` knows."""
    if file.suffix not in ENDINGS:
        raise BadInput(f"'{file}' ends neither in .json (for Perfetto) nor in .html (a timeline)")


def check_size(file: Path, spans: int) -> None:
    """Raises BadInput for more spans than the file's viewer can show."""
    if file.suffix == ".html":
        check_bars(spans)


def save_trace(trace: Trace, file: Path) -> Path:
    """Write the trace for Perfetto (.json) or as a page that needs no network (.html)."""
    check_ending(file)
    if file.suffix == ".json":
        write_text(file, json.dumps(perfetto(trace), separators=(",", ":")) + "\n")
    else:
        write_text(file, timeline(trace).to_html(include_plotlyjs=True, div_id="timeline"))
    return file
