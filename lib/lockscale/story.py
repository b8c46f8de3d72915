# SPDX-License-Identifier: MIT
"""What a notebook opens first: its study as the run resolved it, and the run it writes to."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.experiment.layout import Run, find_run, latest_run
from lockscale.experiment.observe import observed
from lockscale.experiment.profiles import folded_stacks
from lockscale.experiment.rows import read_rows
from lockscale.experiment.where import where
from lockscale.files import sha256_of_json, write_json
from lockscale.report.flame_graph import flame_graph, top_stacks
from lockscale.report.save import save
from lockscale.study import Study, load_study


@dataclass(frozen=True)
class Story:
    """One study in one run. `by_hand`: opened in JupyterLab, outside a run of the pipeline."""

    study: Study
    run: Run
    by_hand: bool

    def show(self, drawn: go.Figure, numbers: pd.DataFrame, stem: str) -> go.Figure:
        """Keep a figure in the run (svg, csv, txt) and return it, so that the cell shows it."""
        save(drawn, numbers, self.run.figures, stem)
        return drawn

    def show_flame_graph(self, arm: str, cpus: int, threads: int, says: str) -> go.Figure | None:
        """Where the processors were in one arm at one point; None where the run was not sampled there."""
        stacks = folded_stacks(self.measured, arm, cpus, threads)
        if stacks is None:
            return None
        drawn = flame_graph(stacks, f"Where the processors are: {arm}", says)
        return self.show(drawn, top_stacks(stacks), f"06-flame-{arm}")

    @property
    def measured(self) -> Run:
        """The run whose rows are read: this one, or by hand the latest measured one."""
        return latest_run(self.study.name) if self.by_hand else self.run

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The run's rows, and below them the counts of its observe kernels, where there are any."""
        counts = observed(self.measured).rows
        parts = [self.measured.rows, *([counts] if counts.is_file() else [])]
        return pd.concat([read_rows(path) for path in parts], ignore_index=True)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.measured.provenance.read_text())
        return said

    @property
    def where(self) -> str:
        """Where the rows were measured, for instance "in QEMU (tcg)"."""
        return where(self.provenance)

    def write_prediction(self, prediction: dict[str, Any]) -> str:
        """Write the prediction with its hash, before anything is measured; never twice differently."""
        sha256 = sha256_of_json(prediction)
        if self.run.journal.is_file() and not self.by_hand:
            return str(self.read_prediction(self.run)["sha256"])
        write_json(self.run.prediction, {**prediction, "sha256": sha256})
        return sha256

    def read_prediction(self, run: Run | None = None) -> dict[str, Any]:
        """The prediction of the measured run, refused when it was changed since it was written."""
        path = (run or self.measured).prediction
        if not path.is_file():
            raise BadInput(f"{path} is not there: run notebook 03 before this one")
        try:
            said: dict[str, Any] = json.loads(path.read_text())
            kept = said["sha256"] == sha256_of_json({k: v for k, v in said.items() if k != "sha256"})
        except (ValueError, KeyError, TypeError):
            kept = False
        if not kept:
            raise BadInput(f"{path} was changed after it was written: start a new run")
        return said


def open_story(study: str, run: str = "", **changes: Any) -> Story:
    """The story of `study`; `changes` are parameters of the study file, None leaving them as they are."""
    given = {name: value for name, value in changes.items() if value is not None}
    if run:
        found = find_run(run)
        resolved = json.loads((found.folder / "study.json").read_text())
        return Story(load_study(study, {**resolved["parameters"], **given}), found, by_hand=False)
    return Story(load_study(study, given), Run(paths.RUNS / f"{study}-by-hand"), by_hand=True)


def keep_study(run: Run, study: Study, target: str) -> Path:
    """Write the study with its resolved parameters into the run."""
    path = run.folder / "study.json"
    write_json(path, {**study.model_dump(mode="json"), "target": target})
    return path
