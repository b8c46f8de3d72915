# SPDX-License-Identifier: MIT
"""Which runs there are: study, target, origin, when, arms, rows, state, and their executed notebooks."""

import html
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.experiment.layout import Run, is_curated
from lockscale.experiment.run_files import read_provenance, read_study_file

COLUMNS = ["run", "study", "target", "origin", "began_utc", "arms", "rows", "state", "place", "notebooks"]
STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$")
DAMAGED = "damaged"


class Listed:
    """A frame of runs; in a notebook its runs and executed notebooks are links."""

    def __init__(self, frame: pd.DataFrame, linked: list[dict[str, str]]) -> None:
        self.frame, self._linked = frame, linked

    def __repr__(self) -> str:
        return self.frame.to_string(index=False) if len(self.frame) else "none"

    def _repr_html_(self) -> str:
        if not self._linked:
            return "<p>None.</p>"
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._linked[0])
        rows = ("".join(f"<td>{cell}</td>" for cell in row.values()) for row in self._linked)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def runs_table(study: str = "", target: str = "", origin: str = "", text: str = "") -> Listed:
    """The runs in runs/, of its batches and in data/measured, the latest first.

    Of those given each has to be equal; `text` has to be in some cell. Columns COLUMNS; `rows`: how many;
    `state`: complete, measured, unfinished, not measured or damaged.
    """
    wanted = {"study": study, "target": target, "origin": origin}
    found = []
    for run in find_runs():
        row = _row(run)
        if all(value in ("", row[name]) for name, value in wanted.items()) and text in str(row.values()):
            found.append((run, row))
    found.sort(key=lambda one: (one[1]["began_utc"] or "", one[1]["run"]), reverse=True)
    rows = [{**row, "notebooks": " ".join(path.stem for path in notebooks_of(run))} for run, row in found]
    return Listed(pd.DataFrame(rows, columns=COLUMNS), [_cells(run, row) for run, row in found])


def batches_table() -> Listed:
    """The batches in runs/: name, sets, failed ones, and the index of each."""
    found = [(path.parent, _batch(path)) for path in sorted(paths.RUNS.glob("*/batch.json"))]
    linked = [
        {k: html.escape(str(v)) for k, v in row.items()} | {"open": _link(folder / "index.html", "index")}
        for folder, row in found
    ]
    return Listed(pd.DataFrame([row for _, row in found], columns=["batch", "sets", "failed"]), linked)


def find_runs() -> Iterator[Run]:
    """Every folder with a study.json where runs lie: of a batch each set is one."""
    patterns = [
        (paths.RUNS, "*/study.json"),
        (paths.RUNS, "*/*/study.json"),
        (paths.MEASURED, "*/study.json"),
    ]
    for root, pattern in patterns:
        for path in sorted(root.glob(pattern)):
            yield Run(path.parent)


def notebooks_of(run: Run) -> list[Path]:
    """The executed notebooks of a run, in their order."""
    return sorted(run.notebooks.glob("**/*.ipynb"))


def _row(run: Run) -> dict[str, Any]:
    row = dict.fromkeys(COLUMNS[:-1]) | {"run": _name(run), "place": _place(run), "state": DAMAGED}
    try:
        said = read_study_file(run.folder)
        row |= {"study": str(said["name"]), "target": str(said["target"]), "origin": _origin(run)}
        rows = pd.read_csv(run.rows, usecols=["arm", "started_utc"]) if run.rows.is_file() else None
    except (BadInput, OSError, ValueError):
        return row
    arms = said["arms"] if rows is None else rows.arm.unique()
    began = _stamp(run.id) if rows is None or rows.empty else str(rows.started_utc.min())
    return row | {
        "began_utc": began,
        "arms": len(arms),
        "rows": 0 if rows is None else len(rows),
        "state": _state(run),
    }


def _name(run: Run) -> str:
    """What find_run() takes: the id, of a batch's set with the batch before it."""
    return (
        run.id if run.folder.parent in (paths.RUNS, paths.MEASURED) else f"{run.folder.parent.name}/{run.id}"
    )


def _place(run: Run) -> str:
    if is_curated(run):
        return "data/measured"
    return "runs" if run.folder.parent == paths.RUNS else f"batch {run.folder.parent.name}"


def _origin(run: Run) -> str | None:
    """What its provenance says: qemu, hardware and so on; None where nothing was measured."""
    return str(read_provenance(run.folder)["origin"]) if run.provenance.is_file() else None


def _stamp(text: str) -> str | None:
    found = STAMP.search(text)
    return "{}-{}-{}T{}:{}:{}Z".format(*found.groups()) if found else None


def _state(run: Run) -> str:
    if run.rows.is_file():
        return "complete" if run.changelog.is_file() else "measured"
    return "unfinished" if run.journal.is_file() else "not measured"


def _cells(run: Run, row: dict[str, Any]) -> dict[str, str]:
    cells = {name: "" if value is None else html.escape(str(value)) for name, value in row.items()}
    links = [_link(path, path.stem.partition("_")[0]) for path in notebooks_of(run)]
    return {**cells, "run": _link(run.folder, str(row["run"])), "notebooks": " ".join(links)}


def _link(path: Path, text: str) -> str:
    """A link as JupyterLab follows it from a notebook in notebooks/; text alone for what lies outside."""
    shown = html.escape(text)
    if not path.absolute().is_relative_to(paths.ROOT):
        return shown
    return f'<a href="{quote(os.path.relpath(path, paths.NOTEBOOKS))}">{shown}</a>'


def _batch(path: Path) -> dict[str, Any]:
    try:
        name = str(json.loads(path.read_text())["name"])
        rows = pd.read_csv(path.with_name("summary.csv"), usecols=["set", "status"])
    except (OSError, ValueError, KeyError, TypeError):
        return {"batch": path.parent.name, "sets": None, "failed": None}
    failed = rows[rows.status == "failed"].set.nunique()
    return {"batch": f"{name} ({path.parent.name})", "sets": int(rows.set.nunique()), "failed": int(failed)}
