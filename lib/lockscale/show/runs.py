# SPDX-License-Identifier: MIT
"""The runs on this machine and in data/measured, to look through: which there are, and two side by side.

In JupyterLab there are filters above the table and two runs to compare below it, all by keyboard.
Between two runs there is no test of significance: machines drift from run to run, blocks of one do not.
"""

import html
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import ipywidgets as w  # type: ignore[import-untyped]
import pandas as pd

from lockscale import paths
from lockscale.errors import BadInput, near, printable
from lockscale.measure.compare_arms import counted, proof_of, rates, unit_of
from lockscale.measure.resume import state_of
from lockscale.measure.rows import origin_of, refuse_changed
from lockscale.measure.run_folder import Run, find_run, is_curated, read_provenance, read_study_file
from lockscale.measure.significance import POINT
from lockscale.show.readable import WRAPS, html_of
from lockscale.show.story import open_story

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
            return "<p>Nothing here.</p>"
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._linked[0])
        rows = ("".join(f"<td>{cell}</td>" for cell in row.values()) for row in self._linked)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def runs_table(study: str = "", target: str = "", origin: str = "", text: str = "") -> Listed:
    """The runs in runs/, of its batches and in data/measured, the latest first.

    Of those given each has to be equal; `text` has to be in some cell. Columns COLUMNS; `rows`: how many;
    `state`: that of state_of(), or damaged. Raises BadInput for a study of no run.
    """
    wanted = {"study": study, "target": target, "origin": origin}
    known = [(run, _row(run)) for run in find_runs()]
    studies = {str(row["study"]) for _, row in known if row["study"]}
    if study and studies and study not in studies:
        raise BadInput(f"there is no run of a study {printable(study)}{near(study, studies)}")
    found = [
        (run, row)
        for run, row in known
        if all(value in ("", row[name]) for name, value in wanted.items()) and text in str(row.values())
    ]
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
    for root, pattern in ((paths.RUNS, "*"), (paths.RUNS, "*/*"), (paths.MEASURED, "*")):
        for path in sorted(root.glob(f"{pattern}/study.json")):
            yield Run(path.parent)


def notebooks_of(run: Run) -> list[Path]:
    return sorted(run.notebooks.glob("**/*.ipynb"))


def _row(run: Run) -> dict[str, Any]:
    """Those of COLUMNS that can be read; `origin` is what the provenance says, if anything was measured."""
    row: dict[str, Any] = dict.fromkeys(COLUMNS[:-1]) | _name_and_place(run) | {"state": DAMAGED}
    try:
        study = read_study_file(run.folder)
        row |= {"study": str(study["name"]), "target": str(study["target"])}
        row |= {"origin": str(read_provenance(run.folder)["origin"])} if run.provenance.is_file() else {}
        refuse_changed(run.rows)
        rows = pd.read_csv(run.rows, usecols=["arm", "started_utc"]) if run.rows.is_file() else None
    except (BadInput, OSError, ValueError):
        return row
    arms = study["arms"] if rows is None else rows.arm.unique()
    stamp = STAMP.search(run.id)
    began = "{}-{}-{}T{}:{}:{}Z".format(*stamp.groups()) if stamp else None
    if rows is not None and len(rows):
        began = str(rows.started_utc.min())
    count = 0 if rows is None else len(rows)
    return row | {"began_utc": began, "arms": len(arms), "rows": count, "state": state_of(run)}


def _name_and_place(run: Run) -> dict[str, str]:
    """`run` is what find_run() takes: the id, of a batch's set with the batch before it."""
    if is_curated(run):
        return {"run": run.id, "place": "data/measured"}
    parent = run.folder.parent
    if parent == paths.RUNS:
        return {"run": run.id, "place": "runs"}
    return {"run": f"{parent.name}/{run.id}", "place": f"batch {parent.name}"}


def _cells(run: Run, row: dict[str, Any]) -> dict[str, str]:
    cells = {name: "" if value is None else html.escape(str(value)) for name, value in row.items()}
    links = [_link(path, path.stem.partition("_")[0]) for path in notebooks_of(run)]
    # JupyterLab follows no link to a folder
    first = run.changelog if run.changelog.is_file() else run.folder / "study.json"
    return {**cells, "run": _link(first, str(row["run"])), "notebooks": " ".join(links)}


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


KEY = ["arm", *POINT, "what", "unit"]


def latest_two() -> tuple[str, str] | None:
    """The latest two measured runs of one study and origin, the older first; None where there are none."""
    frame = runs_table().frame
    measured = frame[frame.rows.fillna(0) > 0]
    for _, same in measured.groupby(["study", "origin"], sort=False):
        if len(same) > 1:
            return str(same.run.iloc[1]), str(same.run.iloc[0])
    return None


def compare_runs(first: str = "", second: str = "") -> pd.DataFrame:
    """Rates and the proof's counter of two runs of one study at the points that both have.

    By default the latest two. Columns arm, cpus, threads, what, unit, first, second, change_pct, origin.
    Raises BadInput where their studies or origins differ, or one was not measured.
    """
    one, other = _two(first, second)
    both = _means(one).merge(_means(other), on=[*KEY, "origin"], suffixes=("_1", "_2"))
    if both.empty:
        raise BadInput(f"runs {one.id} and {other.id} have no arm and point of the same origin in common")
    both = both.rename(columns={"value_1": "first", "value_2": "second"})
    both["change_pct"] = 100 * (both.second / both["first"] - 1)
    return both[[*KEY, "first", "second", "change_pct", "origin"]]


def what_differs(first: str = "", second: str = "") -> pd.DataFrame:
    """Each setting in which two runs differ. Columns setting, first, second."""
    one, other = map(_settings, _two(first, second))
    rows = [(name, one.get(name), other.get(name)) for name in {**one, **other}]
    return pd.DataFrame([row for row in rows if row[1] != row[2]], columns=["setting", "first", "second"])


class SideBySide:
    """What differs between two runs, and what they measured; or why two cannot be compared."""

    def __init__(self, differs: pd.DataFrame, found: pd.DataFrame, why: str = "") -> None:
        self.frames = [one for one in (differs, found) if len(one)]
        self.why = why or ("" if len(differs) else "Their recorded settings do not differ.")

    def __repr__(self) -> str:
        return "\n\n".join(filter(None, [self.why, *(one.to_string() for one in self.frames)]))

    def _repr_html_(self) -> str:
        why = f"<p role='status'>{html.escape(self.why)}</p>" if self.why else ""
        tables = map(html_of, self.frames)
        return "\n".join([why, *tables])


def side_by_side(first: str = "", second: str = "") -> SideBySide:
    """what_differs() and compare_runs() together; a refusal is shown, not raised."""
    try:
        return SideBySide(what_differs(first, second), compare_runs(first, second))
    except BadInput as error:
        return SideBySide(pd.DataFrame(), pd.DataFrame(), str(error))


def _two(first: str, second: str) -> tuple[Run, Run]:
    if bool(first) != bool(second):
        raise BadInput("a comparison takes two runs: name both, or none for the latest two")
    names = (first, second) if first else latest_two()
    if names is None:
        raise BadInput(
            "there are no two measured runs of the same study and origin: measure a study once more, or name "
            "another run of one in the table"
        )
    one, other = (find_run(name) for name in names)
    if one.id == other.id:
        raise BadInput(f"both runs are {one.id}: choose two that differ")
    studies = [read_study_file(run.folder)["name"] for run in (one, other)]
    if studies[0] != studies[1]:
        raise BadInput(
            f"runs of {studies[0]} and {studies[1]} cannot be compared: choose two of the same study"
        )
    return one, other


def _means(run: Run) -> pd.DataFrame:
    """KEY, value and origin: the mean rate and the mean of the proof's counter at each point."""
    story = open_story(read_study_file(run.folder)["name"], str(run.folder))
    rows, study = story.rows, story.study
    counter = proof_of(rows, study)
    counts = counted(rows, study, counter).groupby(["arm", *POINT])["value"].mean().reset_index()
    parts = [
        rates(rows)[["arm", *POINT, "value"]].assign(what="rate", unit="ops/s"),
        counts.assign(what=counter, unit=unit_of(study, counter)),
    ]
    return pd.concat(parts, ignore_index=True).assign(origin=origin_of(rows))


def _settings(run: Run) -> dict[str, str]:
    flat = read_study_file(run.folder)
    flat |= flat.pop("parameters")
    if run.provenance.is_file():
        known = read_provenance(run.folder)
        flat |= {k: known.get(k) for k in ("origin", "accel", "host", "packages")}
        flat |= {f"build-id of {arm}": one.get("build_id") for arm, one in known.get("kernels", {}).items()}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in flat.items()}


FILTERS = ("study", "target", "origin")
ANY = "any"


def browse_runs() -> "Browser":
    """The browser; show it as a cell's last line."""
    return Browser()


def _measured(frame: pd.DataFrame) -> list[str]:
    """What two runs to compare are chosen from."""
    return [ANY, *frame.run[frame.rows.fillna(0) > 0]]


class Browser(w.VBox):  # type: ignore[misc]
    """Filters, the runs that are left, and two of them compared."""

    def __init__(self) -> None:
        frame = runs_table().frame
        self.filters = {
            name: w.Dropdown(options=[ANY, *sorted(frame[name].dropna().unique())], description=name)
            for name in FILTERS
        }
        self.text = w.Text(description="contains")
        self.table, self.found = w.HTML(), w.HTML()
        self.two = [w.Dropdown(options=_measured(frame), description=name) for name in ("first", "second")]
        for control, name in zip(self.two, latest_two() or (), strict=False):
            control.value = name
        for control in (*self.filters.values(), self.text):
            control.observe(lambda _: self._show_table(), "value")
        for control in self.two:
            control.observe(lambda _: self._show_two(), "value")
        super().__init__(
            [
                w.HBox([*self.filters.values(), self.text], layout=WRAPS),
                self.table,
                w.HBox(self.two, layout=WRAPS),
                self.found,
            ]
        )
        self._show_table()
        self._show_two()

    def _show_table(self) -> None:
        chosen = {name: control.value for name, control in self.filters.items() if control.value != ANY}
        listed = runs_table(**chosen, text=self.text.value)
        self.table.value = listed._repr_html_()
        for control in self.two:
            name, control.options = control.value, _measured(listed.frame)
            control.value = name if name in control.options else ANY

    def _show_two(self) -> None:
        names = [control.value for control in self.two]
        if ANY in names:
            self.found.value = "<p>Choose two measured runs of the same study and origin to compare.</p>"
            return
        self.found.value = side_by_side(*names)._repr_html_()
