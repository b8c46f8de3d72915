# SPDX-License-Identifier: MIT
"""Two runs side by side. No test of significance: machines drift from run to run, blocks of one do not."""

import html
import json
from typing import Any

import pandas as pd

from lockscale.errors import BadInput
from lockscale.experiment.compare import counted, proof_of, rates, unit_of
from lockscale.experiment.layout import Run, find_run
from lockscale.experiment.run_files import read_provenance, read_study_file
from lockscale.experiment.stars import POINT
from lockscale.experiment.where import origin_of
from lockscale.runs.listed import runs_table
from lockscale.story import open_story

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
        raise BadInput(f"runs {one.id} and {other.id} have no arm and point of one origin in common")
    both = both.rename(columns={"value_1": "first", "value_2": "second"})
    both["change_pct"] = 100 * (both.second / both["first"] - 1)
    return both[[*KEY, "first", "second", "change_pct", "origin"]]


def what_differs(first: str = "", second: str = "") -> pd.DataFrame:
    """Each setting in which two runs differ. Columns setting, first, second."""
    one, other = _two(first, second)
    settings = [_settings(run) for run in (one, other)]
    names = [
        name for name in {**settings[0], **settings[1]} if settings[0].get(name) != settings[1].get(name)
    ]
    rows = [[name, *(settings[k].get(name) for k in (0, 1))] for name in names]
    return pd.DataFrame(rows, columns=["setting", "first", "second"])


class SideBySide:
    """What differs between two runs, and what they measured; or why two cannot be compared."""

    def __init__(self, differs: pd.DataFrame, found: pd.DataFrame, why: str = "") -> None:
        self.frames = [one for one in (differs, found) if len(one)]
        self.why = why or ("" if len(differs) else "They differ in no setting that is known.")

    def __repr__(self) -> str:
        return "\n\n".join([*([self.why] if self.why else []), *(one.to_string() for one in self.frames)])

    def _repr_html_(self) -> str:
        why = f"<p role='status'>{html.escape(self.why)}</p>" if self.why else ""
        tables = (one.to_html(index=False, float_format="{:.4g}".format) for one in self.frames)
        return "\n".join([why, *tables])


def side_by_side(first: str = "", second: str = "") -> SideBySide:
    """what_differs() and compare_runs() together; a refusal is shown, not raised."""
    try:
        return SideBySide(what_differs(first, second), compare_runs(first, second))
    except BadInput as error:
        return SideBySide(pd.DataFrame(), pd.DataFrame(), str(error))


def _two(first: str, second: str) -> tuple[Run, Run]:
    if bool(first) != bool(second):
        raise BadInput("two runs are compared: name both, or none for the latest two")
    names = (first, second) if first else latest_two()
    if names is None:
        raise BadInput("there are no two measured runs of one study and origin: name two of the table")
    one, other = (find_run(name) for name in names)
    studies = [_study(run)["name"] for run in (one, other)]
    if studies[0] != studies[1]:
        raise BadInput(f"runs of {studies[0]} and {studies[1]} are not compared: choose two of one study")
    return one, other


def _study(run: Run) -> dict[str, Any]:
    return read_study_file(run.folder)


def _means(run: Run) -> pd.DataFrame:
    """KEY, value and origin: the mean rate and the mean of the proof's counter at each point."""
    story = open_story(_study(run)["name"], str(run.folder))
    rows, study = story.rows, story.study
    counter = proof_of(rows, study)
    counts = counted(rows, study, counter).groupby(["arm", *POINT])["value"].mean().reset_index()
    parts = [
        rates(rows)[["arm", *POINT, "value"]].assign(what="rate", unit="ops/s"),
        counts.assign(what=counter, unit=unit_of(study, counter)),
    ]
    return pd.concat(parts, ignore_index=True).assign(origin=origin_of(rows))


def _settings(run: Run) -> dict[str, str]:
    said = _study(run)
    flat = {**{k: v for k, v in said.items() if k != "parameters"}, **said["parameters"]}
    if run.provenance.is_file():
        known = read_provenance(run.folder)
        flat |= {k: known.get(k) for k in ("origin", "accel", "host", "packages")}
        flat |= {f"build-id of {arm}": one.get("build_id") for arm, one in known.get("kernels", {}).items()}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in flat.items()}
