# SPDX-License-Identifier: MIT
"""The journal of a run: one line a step, fsynced when all of the step is on disk.

A step that it names is never done again; whatever ends a controller, the rest of the plan is left.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pydantic

from lockscale.errors import BadInput
from lockscale.files import sha256_of_json
from lockscale.journal import add_line, drop_torn_line, read_lines
from lockscale.measure.layout import Run
from lockscale.measure.plan import Step
from lockscale.measure.rows import Row
from lockscale.study.file import Study

Entry = dict[str, Any]


class _Line(pydantic.BaseModel):
    """What each line of a journal has, and of which type."""

    model_config = pydantic.ConfigDict(extra="allow", strict=True)

    step: str
    study_sha256: str
    rows: list[Row]
    as_found: dict[str, Any] = {}
    wall_s: float = 0.0


@dataclass
class Journal:
    """Step -> what it gave: `rows`, `as_found`, `build_id`, `label`, `wall_s` and `study_sha256`."""

    path: Path
    study_sha256: str
    entries: dict[str, Entry] = field(default_factory=dict)

    def add(self, step: Step, **said: Any) -> None:
        """The step is done: its line is whole on disk, or BadInput and it is not there at all."""
        entry = {"step": step.name, "study_sha256": self.study_sha256, **said}
        add_line(self.path, entry)
        self.entries[step.name] = entry

    def left(self, steps: Iterable[Step]) -> list[Step]:
        return [step for step in steps if step.name not in self.entries]

    def rows(self, steps: Iterable[Step]) -> list[Row]:
        """Of all `steps`, in their order, each of which has to be done."""
        return [Row(**row) for step in steps for row in self.entries[step.name]["rows"]]


def open_journal(run: Run, study: Study) -> Journal:
    """What the run has done already. A last line cut by a crash is dropped: that step is done again.

    Raises BadInput where the run was begun with other parameters.
    """
    wanted = sha256_of_json(study.model_dump(mode="json"))
    entries = read_entries(run.journal)
    if any(entry["study_sha256"] != wanted for entry in entries):
        raise BadInput(f"run {run.id} was begun with other parameters: start a new run")
    drop_torn_line(run.journal)
    return Journal(run.journal, wanted, {entry["step"]: entry for entry in entries})


def read_entries(path: Path) -> list[Entry]:
    """The whole lines of a journal; none where there is no journal.

    Raises BadInput with the line where one of them was never written by add().
    """
    return read_lines(path, _entry, "delete the line, so that its step is done again, or start a new run")


def entries_of_another(run: Run) -> list[Entry]:
    """The same of a run that is only looked at; none where its journal is damaged."""
    try:
        return read_entries(run.journal)
    except BadInput:
        return []


def _entry(line: bytes) -> Entry:
    try:
        _Line.model_validate_json(line)
        entry: Entry = json.loads(line)
    except ValueError:  # pydantic's is one too
        raise BadInput("is damaged") from None
    return entry


def refuse_other(journal: Journal, steps: Sequence[Step], label: str) -> None:
    """A run is one plan on one target. Raises BadInput where the journal says something else."""
    known = {step.name for step in steps}
    for name, entry in journal.entries.items():
        if name not in known:
            raise BadInput(f"{journal.path} has step {name}, which the plan has not: start a new run")
        for row in entry["rows"][:1]:
            if row["target"] != label:
                raise BadInput(
                    f"the run was begun on {row['target']}, not on {label}: go on there, or start a new run"
                )


def refuse_other_build(journal: Journal, arm: str, build_id: str) -> None:
    """An arm is one build in a whole run. Raises BadInput where a step of it ran another one."""
    for row in (row for entry in list(journal.entries.values()) for row in entry["rows"][:1]):
        if row["arm"] == arm and row["build_id"] != build_id:
            raise BadInput(
                f"arm {arm} was measured as build-id {row['build_id']} and runs as {build_id} here: "
                "start a new run, or bring the first kernel's folder of .cache/kernels along"
            )
