# SPDX-License-Identifier: MIT
"""What of a batch is done, and what a person opens of it: index.html, and summary.csv.

Its journal has one fsynced line for each notebook of each set, written when all of it is on disk; a line
that a kill tore is dropped: that notebook runs again. An executed notebook becomes a web page that needs no
Jupyter and no network.
"""

import html
import json
import os
import posixpath
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict
from urllib.parse import quote

import pandas as pd

from lockscale.errors import BadInput
from lockscale.files import write_text
from lockscale.journal import add_line, drop_torn_line, read_lines
from lockscale.show.batch.plan import Batch, Set
from lockscale.show.figures.template import BUTTONS
from lockscale.show.notebooks import PLOTLY, WIDGET

State = Literal["done", "failed", "left"]


class NotebookEntry(TypedDict):
    """key: hash of all that decides what the notebook says. says, numbers: its headline, or why it failed."""

    set: str
    notebook: str
    key: str
    status: Literal["done", "failed"]
    says: str
    numbers: dict[str, float]
    wall_s: float
    started_utc: str


@dataclass
class BatchJournal:
    """The last entry of each notebook of each set."""

    path: Path
    entries: dict[tuple[str, str], NotebookEntry] = field(default_factory=dict)

    def add(self, entry: NotebookEntry) -> None:
        """The notebook ran: its line is whole on disk, or BadInput and it is not there at all."""
        add_line(self.path, entry)
        self.entries[entry["set"], entry["notebook"]] = entry

    def entry(self, one: str, notebook: str, key: str) -> NotebookEntry | None:
        """What is known of that notebook as it is now."""
        found = self.entries.get((one, notebook))
        return found if found and found["key"] == key else None


def state_of(found: Iterable[NotebookEntry | None]) -> State:
    """Of a notebook by its entry, of a set by those of its notebooks; None: nothing is known of it."""
    states = {entry["status"] if entry else "left" for entry in found}
    return "failed" if "failed" in states else "left" if "left" in states else "done"


def open_journal(path: Path) -> BatchJournal:
    """The journal at `path`, new or as far as it came. Raises BadInput where it is none of a batch."""
    read = read_lines(path, _entry, "delete the line to run its notebook again")
    drop_torn_line(path)
    return BatchJournal(path, {(one["set"], one["notebook"]): one for one in read})


def _entry(line: bytes) -> NotebookEntry:
    try:
        value = json.loads(line)
        found: NotebookEntry = {name: value[name] for name in NotebookEntry.__annotations__}  # type: ignore
        return found
    except (ValueError, KeyError, TypeError):
        raise BadInput("is not one of a batch") from None


SHOWN = ("text/html", "image/svg+xml", "image/png", "text/markdown", "text/plain")
SCRIPT = "plotly.min.js"
LINK = re.compile(r'<a href="(?!#|https?:)([^"]*)">(.*?)</a>', re.DOTALL)
STYLE = """\
body { font: 16px/1.5 sans-serif; color: #1a1a1a; background: #fff; max-width: 70em; margin: 2em auto;
  padding: 0 1em }
pre { font: 13px/1.4 monospace; overflow-x: auto; margin: 0.5em 0 }
.input_area pre { background: #f4f4f4; padding: 0.5em }
.output_area pre { white-space: pre-wrap }
.prompt, .anchor-link { display: none }
.output_error pre { color: #8b0000 }
table { border-collapse: collapse; font-size: 14px }
th, td { border: 1px solid #ccc; padding: 0.2em 0.6em; text-align: left; vertical-align: top }
.table { overflow-x: auto }
"""
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>{script}</head>
<body>
{body}
</body>
</html>
"""


def page_of(notebook: str, title: str, name: str, names: Collection[str], pages: Path, folder: Path) -> str:
    """The page of a notebook's text, to be written to <pages>/<name>.html somewhere in `folder`, the batch's.

    Its links to notebooks of `names` lead to their pages; other files are not beside it, and named alone.
    """
    import nbformat  # takes a second or more, which every command would pay
    from nbconvert import HTMLExporter
    from plotly.offline import get_plotlyjs

    nodes: Any = nbformat.reads(notebook, as_version=4)  # type: ignore[no-untyped-call]
    drawn = [_showable(output) for cell in nodes.cells for output in cell.get("outputs", ())]
    for cell in nodes.cells:
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if output.get("data") != {}]
    exporter: Any = HTMLExporter
    body, _ = exporter(template_name="basic").from_notebook_node(nodes)
    body = LINK.sub(lambda found: _relinked(found[1], found[2], name, names), body)
    up, script = html.escape(os.path.relpath(folder, (pages / name).parent)), ""
    if any(drawn):
        script = f'\n<script src="{up}/{SCRIPT}"></script>'
        if not (folder / SCRIPT).is_file():
            write_text(folder / SCRIPT, get_plotlyjs())
    way = f'<p><a href="{up}/index.html">Back to the batch</a></p>\n'
    return PAGE.format(title=html.escape(title), style=STYLE, script=script, body=way + body)


def _relinked(path: str, text: str, name: str, names: Collection[str]) -> str:
    stem, ending = posixpath.splitext(path)
    known = ending == ".ipynb" and posixpath.normpath(posixpath.join(posixpath.dirname(name), stem)) in names
    return f'<a href="{stem}.html">{text}</a>' if known else text


def _showable(output: Any) -> bool:
    """Leave of an output what a page can show; whether it is a figure."""
    import plotly.io

    data = output.get("data", {})
    figure = data.get(PLOTLY)
    if figure is not None:
        data["text/html"] = plotly.io.to_html(
            figure, config=BUTTONS, include_plotlyjs=False, full_html=False, validate=False
        )
    elif WIDGET in data:
        data["text/html"] = "<p>Interactive controls: open the notebook in JupyterLab.</p>"
    for kind in [kind for kind in data if kind not in SHOWN]:
        del data[kind]
    return figure is not None


NotebookEntries = Mapping[tuple[str, str], NotebookEntry]
WORDS: dict[State, str] = {"done": "done", "failed": "failed", "left": "not run yet"}
COLOURS = """\
.done { color: #00543d } .failed { color: #8b0000; font-weight: bold } .left { color: #555 }
"""


def write_index(batch: Batch, folder: Path, entries: NotebookEntries) -> None:
    """Write both anew, whole: who has the index open reloads it."""
    write_text(folder / "summary.csv", summary(batch, entries).to_csv(index=False))
    write_text(folder / "index.html", index(batch, entries))


def summary(batch: Batch, entries: NotebookEntries) -> pd.DataFrame:
    """Columns set, each parameter of the grid, notebook, status, says, wall_s, started_utc, path, and the
    headlines' numbers, named with their units."""
    return pd.DataFrame([_row(one, name, entries) for one in batch.sets for name in batch.notebooks])


def _row(one: Set, name: str, entries: NotebookEntries) -> dict[str, Any]:
    entry = entries.get((one.id, name))
    known: dict[str, Any] = dict(entry) if entry else {"says": "", "numbers": {}}
    row = {
        "set": one.id,
        **{k: _text(v) for k, v in one.parameters.items()},
        "notebook": name,
        "status": state_of([entry]),
        **{column: known.get(column) for column in ("says", "wall_s", "started_utc")},
        "path": f"{one.id}/notebooks/{name}.ipynb" if entry else None,
    }
    return row | {name: value for name, value in known["numbers"].items() if name not in row}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def index(batch: Batch, entries: NotebookEntries) -> str:
    """The page: every text escaped, no script, links to files of the batch alone."""
    states = [state_of(entries.get((one.id, name)) for name in batch.notebooks) for one in batch.sets]
    counts = ", ".join(f"{states.count(state)} {word}" for state, word in WORDS.items() if state in states)
    varied = list(dict.fromkeys(name for one in batch.sets for name in one.varied))
    head = ["set", *varied, "notebook", "status", "headline", "time (s)", "open"]
    rows = [_line(one, name, varied, entries) for one in batch.sets for name in batch.notebooks]
    noun = "set" if len(batch.sets) == 1 else "sets"
    cells = "".join(f"<th scope=col>{html.escape(one)}</th>" for one in head)
    body = f"""<h1>{html.escape(batch.name)}</h1>
<p>{len(batch.sets)} {noun}: {counts}. <a href="summary.csv">Summary as CSV</a></p>
<div class="table"><table>
<thead><tr>{cells}</tr></thead>
<tbody>
{"".join(rows)}</tbody></table></div>"""
    return PAGE.format(title=f"batch {html.escape(batch.name)}", style=STYLE + COLOURS, script="", body=body)


def _line(one: Set, name: str, varied: list[str], entries: NotebookEntries) -> str:
    entry = entries.get((one.id, name))
    state = state_of([entry])
    says, wall_s, opened = "", "", ""
    if entry:
        says, wall_s = html.escape(entry["says"]), f"{entry['wall_s']:.0f}"
        links = {"page": f"{one.id}/pages/{name}.html", "notebook": f"{one.id}/notebooks/{name}.ipynb"}
        opened = " ".join(f'<a href="{quote(path)}">{word}</a>' for word, path in links.items())
    names = [html.escape(cell) for cell in (one.id, *(_text(one.varied[k]) for k in varied), name)]
    cells = "".join(f"<td>{cell}</td>" for cell in names)
    cells += f'<td class="{state}">{WORDS[state]}</td><td>{says}</td><td>{wall_s}</td><td>{opened}</td>'
    return f"<tr>{cells}</tr>\n"
