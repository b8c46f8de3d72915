# SPDX-License-Identifier: MIT
"""What a notebook opens first: its study as the run resolved it, and the run it writes to."""

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from lockscale.errors import BadInput
from lockscale.files import sha256_of_json, write_json
from lockscale.measure.compare_arms import compared_rates, extra_calls
from lockscale.measure.count_calls import (
    ArmToCount,
    FirstCounts,
    count_first_arm,
    observe,
    observed,
    read_first_counts,
)
from lockscale.measure.profiling import folded_stacks
from lockscale.measure.rows import is_benchmark, read_rows, where_measured
from lockscale.measure.run import measure_first_arm, read_first_rates, run_plan
from lockscale.measure.run_folder import (
    Run,
    find_run,
    is_curated,
    latest_by_hand,
    read_prediction,
    read_provenance,
    read_study_file,
    run_by_hand,
)
from lockscale.measure.target import kernels_ahead
from lockscale.show.figures.formats import save
from lockscale.show.figures.stacks import flame_graph, top_stacks
from lockscale.study.file import Study, load_study, load_target
from lockscale.study.tables import StudyTable, beside, study_tables


@dataclass(frozen=True)
class Story:
    """One study in one run, to which it writes. `by_hand`: opened in JupyterLab, outside a run.

    reads: a run whose rows and kernels are read in place of building and measuring.
    """

    study: Study
    run: Run
    by_hand: bool
    reads: Run | None = None

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
        """The run whose rows are read: `reads`, or this one, or by hand the latest measured one."""
        if self.reads is not None:
            return self.reads
        return latest_by_hand(self.study.name) if self.by_hand else self.run

    @cached_property
    def tables(self) -> list[StudyTable]:
        """The study's; a file of its own as the run that is read, or written, keeps it."""
        kept = [run.tables for run in (self.reads, self.run) if run]
        return study_tables(self.study, [*kept, beside(self.study)])

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The run's rows, and below them the counts of its observe kernels, where there are any."""
        counts = observed(self.measured).rows
        parts = [self.measured.rows, *([counts] if counts.is_file() else [])]
        return pd.concat([read_rows(path) for path in parts], ignore_index=True)

    @cached_property
    def compared(self) -> pd.DataFrame:
        return compared_rates(self.rows, self.study)

    @cached_property
    def extra(self) -> pd.DataFrame:
        return extra_calls(self.rows, self.study)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        return read_provenance(self.measured.folder)

    @cached_property
    def as_measured(self) -> Study:
        """The study with the parameters of the run whose rows are read; by hand the file may say others."""
        said = self.provenance.get("study", {}).get("parameters")
        then = load_study(self.study.name, said).parameters if said else self.study.parameters
        return self.study.model_copy(update={"parameters": then})

    @property
    def where(self) -> str:
        """Where the rows were measured, for instance "in QEMU (tcg)"."""
        return where_measured(self.provenance)

    @property
    def is_benchmark(self) -> bool:
        """Whether the run's rates count: those of an emulated machine are none."""
        return is_benchmark(self.provenance["origin"])

    def kernels(self, target: str) -> dict[str, dict[str, Any]]:
        """Arm -> what is known of its kernel: built for a guest, or as the run that is read had it.

        A server's kernel depends on the server: there the answer is empty before it was measured.
        """
        if self.reads is not None:
            known = self.provenance["kernels"]
            return {arm: known[arm] for arm in self.study.arm_names if arm in known}
        built = kernels_ahead(self.study, load_target(target))
        return {arm: asdict(kernel) for arm, kernel in built.items()}

    def measure(self, target: str) -> Path:
        """Carry out what is left of the study's plan, unless a run is read; the path of the rows."""
        if self.reads is not None:
            return self.reads.rows
        return run_plan(self.run, self.study, load_target(target))

    def observe(self, target: str) -> Path | None:
        """Count on observe kernels what is left, where the proof needs it; the path of the counts."""
        if self.reads is not None:
            return observed(self.reads).rows if observed(self.reads).rows.is_file() else None
        return observe(self.run, self.study, load_target(target))

    def count_first_arm(self, target: str, first: ArmToCount | None) -> FirstCounts:
        """Count one arm, before any is measured; by hand, and where a run is read, only what it has."""
        asked = load_target(target)
        if self.reads is not None or self.by_hand:
            return read_first_counts(self.reads or self.run)
        return count_first_arm(self.run, self.study, asked, first)

    def measure_unpatched(self, target: str) -> pd.DataFrame | None:
        """Rows of the unpatched arm, measured before any other where the target's rates count; else None."""
        if self.reads is not None or self.by_hand:
            return read_first_rates(self.reads or self.run)
        return measure_first_arm(self.run, self.study, load_target(target))

    def write_prediction(self, prediction: dict[str, Any]) -> str:
        """Write the prediction with its hash, before anything is measured; never twice differently."""
        sha256 = sha256_of_json(prediction)
        if self.run.journal.is_file() and not self.by_hand:
            return str(self.read_prediction(self.run)["sha256"])
        write_json(self.run.prediction, {**prediction, "sha256": sha256})
        return sha256

    def read_prediction(self, run: Run | None = None) -> dict[str, Any]:
        """The prediction of the measured run, refused when it was changed since it was written."""
        return read_prediction(run or self.measured)


def open_story(study: str, run: str = "", **changes: Any) -> Story:
    """The story of `study`; `changes` are parameters of the study file, None leaving them as they are.

    `run`: a run's folder or id. A curated one is read, and what is made of it is written where a notebook
    by hand writes. Raises BadInput where it is of another study.
    """
    given = {name: value for name, value in changes.items() if value is not None}
    by_hand = run_by_hand(study)
    if not run:
        return Story(load_study(study, given), by_hand, by_hand=True)
    found = find_run(run)
    begun = read_study_file(found.folder)
    if begun["name"] != study:
        raise BadInput(f"run {found.id} is of study {begun['name']}, not of {study}: name that study")
    resolved = load_study(study, {**begun["parameters"], **given})
    if is_curated(found):
        return Story(resolved, by_hand, by_hand=True, reads=found)
    return Story(resolved, found, by_hand=False, reads=find_run(begun["reads"]) if "reads" in begun else None)
