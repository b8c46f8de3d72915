# SPDX-License-Identifier: MIT
"""What a person opens of a batch: index.html, and summary.csv with a row for each notebook of each set."""

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from lockscale.batch.journal import Entry, State, state_of
from lockscale.batch.page import PAGE, STYLE
from lockscale.batch.plan import Batch, Set
from lockscale.files import write_text

Entries = Mapping[tuple[str, str], Entry]
WORDS: dict[State, str] = {"done": "done", "failed": "failed", "left": "not run yet"}
COLOURS = """\
.done { color: #00543d } .failed { color: #8b0000; font-weight: bold } .left { color: #555 }
"""


def write_index(batch: Batch, folder: Path, entries: Entries) -> None:
    """Write both anew, whole: who has the index open reloads it."""
    write_text(folder / "summary.csv", summary(batch, entries).to_csv(index=False))
    write_text(folder / "index.html", index(batch, entries))


def summary(batch: Batch, entries: Entries) -> pd.DataFrame:
    """Columns set, each parameter of the grid, notebook, status, says, wall_s, started_utc, path, and the
    headlines' numbers, named with their units."""
    return pd.DataFrame([_row(one, name, entries) for one in batch.sets for name in batch.notebooks])


def _row(one: Set, name: str, entries: Entries) -> dict[str, Any]:
    entry = entries.get((one.id, name))
    row: dict[str, Any] = {
        "set": one.id,
        **{k: _text(v) for k, v in one.parameters.items()},
        "notebook": name,
    }
    row |= {"status": state_of([entry]), "says": "", "wall_s": None, "started_utc": None, "path": None}
    if entry:
        row |= {column: entry[column] for column in ("says", "wall_s", "started_utc")}
        row |= {"path": f"{one.id}/notebooks/{name}.ipynb"}
    return row | {k: v for k, v in (entry["numbers"] if entry else {}).items() if k not in row}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def index(batch: Batch, entries: Entries) -> str:
    """The page: every text escaped, no script, links to files of the batch alone."""
    states = [state_of(entries.get((one.id, name)) for name in batch.notebooks) for one in batch.sets]
    counts = ", ".join(f"{states.count(state)} {word}" for state, word in WORDS.items() if state in states)
    varied = list(dict.fromkeys(name for one in batch.sets for name in one.varied))
    head = ["set", *varied, "notebook", "status", "headline", "time (s)", "open"]
    rows = [_line(one, name, varied, entries) for one in batch.sets for name in batch.notebooks]
    noun = "set" if len(batch.sets) == 1 else "sets"
    body = [
        f"<h1>{html.escape(batch.name)}</h1>",
        f'<p>{len(batch.sets)} {noun}: {counts}. <a href="summary.csv">Summary as CSV</a></p>',
        '<div class="table"><table>',
        f"<thead><tr>{''.join(f'<th scope=col>{html.escape(one)}</th>' for one in head)}</tr></thead>",
        f"<tbody>\n{''.join(rows)}</tbody></table></div>",
    ]
    return PAGE.format(
        title=html.escape(f"batch {batch.name}"), style=STYLE + COLOURS, script="", body="\n".join(body)
    )


def _line(one: Set, name: str, varied: list[str], entries: Entries) -> str:
    entry = entries.get((one.id, name))
    state = state_of([entry])
    cells = [one.id, *(_text(one.varied[k]) for k in varied), name]
    shown = [f"<td>{html.escape(cell)}</td>" for cell in cells]
    shown += [
        f'<td class="{state}">{WORDS[state]}</td>',
        f"<td>{html.escape(entry['says'] if entry else '')}</td>",
    ]
    shown += [f"<td>{entry['wall_s']:.0f}</td>" if entry else "<td></td>"]
    links = [(f"{one.id}/pages/{name}.html", "page"), (f"{one.id}/notebooks/{name}.ipynb", "notebook")]
    opened = " ".join(f'<a href="{quote(path)}">{word}</a>' for path, word in links) if entry else ""
    return f"<tr>{''.join(shown)}<td>{opened}</td></tr>\n"
