# SPDX-License-Identifier: MIT
"""How a run that was killed goes on: its journal, one line a step, and what earlier runs took.

A step that the journal names is never done again; whatever ends a controller, the rest of the plan is left.
`lockscale study resume RUN`: to_resume() says whether the run may go on and with what, its notebooks run
again (show/pipeline.py), and run.py carries out the steps that are left().
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pydantic

from lockscale import paths
from lockscale.errors import BadInput, FullDisk, Interrupted, InUse
from lockscale.files import is_locked, sha256_of_json
from lockscale.journal import add_line, drop_torn_line, read_lines
from lockscale.measure.plan import Step
from lockscale.measure.rows import Row
from lockscale.measure.run_folder import (
    Run,
    find_run,
    is_curated,
    list_runs,
    read_provenance,
    read_study_file,
    run_by_hand,
    target_of,
)
from lockscale.study.file import Study, Target, load_study
from lockscale.study.tables import changed_tables

Entry = dict[str, Any]


class _Line(pydantic.BaseModel):
    """What each line of a journal has, and of which type."""

    model_config = pydantic.ConfigDict(extra="allow", strict=True)

    step: str
    study_sha256: str
    rows: list[Row]
    machine: dict[str, str] = {}
    as_found: dict[str, Any] = {}
    wall_s: float = 0.0


@dataclass
class Journal:
    """Step -> what it gave: `rows`, `as_found`, `wall_s`, `study_sha256` and the `machine` it was done on."""

    path: Path
    study_sha256: str
    entries: dict[str, Entry] = field(default_factory=dict)
    machine: dict[str, str] = field(default_factory=dict)

    def go_on_with(self, machine: Mapping[str, str]) -> None:
        """Further steps are done on `machine`, by what it is known by (HeldTarget.machine_facts).

        Raises BadInput where a step was done on another. What only one of the two says is not compared: a
        line of an older lockscale says nothing.
        """
        for name, entry in self.entries.items():
            then = entry.get("machine", {})
            for what in sorted(then.keys() & machine.keys()):
                if then[what] != machine[what]:
                    raise BadInput(
                        f"step {name} of {self.path.parent} was measured with {what} {then[what]}, and here "
                        f"is {machine[what]}: continue with the first one, or start a new run"
                    )
        self.machine = dict(machine)

    def add(self, step: Step, *, rows: Sequence[Mapping[str, Any]], **said: Any) -> None:
        """The step is done: its line is whole on disk, or BadInput and it is not there at all.

        BadInput also where another tool, or version of it, gave rates of the same test before.
        """
        self._refuse_other_tool(rows)
        known = {"step": step.name, "study_sha256": self.study_sha256, "machine": self.machine}
        entry = {**known, "rows": rows, **said}
        add_line(self.path, entry)
        self.entries[step.name] = entry

    def _refuse_other_tool(self, rows: Sequence[Mapping[str, Any]]) -> None:
        for entry in list(self.entries.values())[:1]:  # each later one was compared with it
            then = _tools(entry["rows"])
            for test, tool in _tools(rows).items():
                if then.get(test, tool) != tool:
                    raise BadInput(
                        f"the rates of {test} in {self.path.parent} are by {then[test]}, and the target has "
                        f"{tool} now: put the first one back, or start a new run"
                    )

    def left(self, steps: Iterable[Step]) -> list[Step]:
        return [step for step in steps if step.name not in self.entries]

    def rows(self, steps: Iterable[Step]) -> list[Row]:
        """Of all `steps`, in their order, each of which has to be done."""
        return [Row(**row) for step in steps for row in self.entries[step.name]["rows"]]


def _tools(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """By test: which tool gave its rates, and the version of it."""
    rates = (row for row in rows if row["metric"] == "rate" and not row["profiled"])
    return {row["test"]: f"{row['tool']} {row['tool_version']}" for row in rates}


def open_journal(run: Run, study: Study) -> Journal:
    """What the run has done already. A last line cut by a crash is dropped: that step is done again.

    Raises BadInput where the run was begun with other parameters, or a step is there twice.
    """
    by_hand = run == run_by_hand(study.name)
    wanted = sha256_of_json(study.model_dump(mode="json"))
    entries = read_entries(run.journal)
    if any(entry["study_sha256"] != wanted for entry in entries):
        anew = f"remove {run.folder}, which notebooks by hand write to" if by_hand else "start a new run"
        raise BadInput(f"run {_name(run)} was started with other parameters: {anew}")
    if twice := [name for name, count in Counter(entry["step"] for entry in entries).items() if count > 1]:
        raise BadInput(f"{run.journal} has step {twice[0]} twice: delete the wrong line, or start a new run")
    drop_torn_line(run.journal)
    return Journal(run.journal, wanted, {entry["step"]: entry for entry in entries})


def read_entries(path: Path) -> list[Entry]:
    """The whole lines of a journal; none where there is no journal.

    Raises BadInput with the line where one of them was never written by add().
    """
    return read_lines(path, _entry, "delete the line to repeat its step, or start a new run")


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
    known = {step.name: step for step in steps}
    for name, entry in journal.entries.items():
        if name not in known:
            raise BadInput(f"{journal.path} has step {name}, which is not in the plan: start a new run")
        if lacking := set(known[name].processes) - {row["threads"] for row in entry["rows"]}:
            raise BadInput(
                f"{journal.path} has no row of {min(lacking)} processes in step {name}: delete its line to "
                f"repeat the step, or start a new run"
            )
        for row in entry["rows"][:1]:
            if row["target"] != label:
                raise BadInput(
                    f"the run was started on {row['target']}, not on {label}: continue there, or start a "
                    f"new run"
                )


def _name(run: Run) -> str:
    """As find_run() takes it; of a folder in a run, such as `observed`, that of the run before it."""
    parent = run.folder.parent
    return f"{parent.name}/{run.id}" if parent.parent == paths.RUNS else run.id


NOT_OF_A_RATE = {"name", "boot", "boot_timeout_s"}
"""What a target's file may say otherwise: what a kernel is built as, refuse_other_build() sees."""


def refuse_other_target(run: Run, journal: Journal, target: Target) -> None:
    """A run is of one machine. Raises BadInput where the target's file describes another one by now."""
    if not (journal.entries and run.provenance.is_file()):
        return
    begun, now = read_provenance(run.folder).get("target", {}), target.public()
    for name in sorted(begun.keys() & now.keys() - NOT_OF_A_RATE):
        if begun[name] != now[name]:
            raise BadInput(
                f"the file of target {target.name} was changed after run {_name(run)} was started ({name}): "
                "restore it, or start a new run"
            )


def refuse_other_build(journal: Journal, arm: str, build_id: str) -> None:
    """An arm is one build in a whole run. Raises BadInput where a step of it ran another one."""
    for row in (row for entry in list(journal.entries.values()) for row in entry["rows"][:1]):
        if row["arm"] == arm and row["build_id"] != build_id:
            raise BadInput(
                f"arm {arm} was measured as build-id {row['build_id']} and runs as {build_id} here: "
                "start a new run, or copy the first kernel's folder to .cache/kernels"
            )


def to_resume(name: str) -> tuple[Run, dict[str, Any]]:
    """The run that a person names, and what its study.json says it was begun with.

    Raises BadInput for a curated one, and where a step is done (before the plan's own, too: of the arm that
    is measured or counted first) and the study or its own table changed.
    """
    run = find_run(name)
    if is_curated(run):
        raise BadInput(
            f"run {run.id} is a curated run in data/measured and cannot be continued: start a new run"
        )
    begun = read_study_file(run.folder)
    study = load_study(begun["name"], begun["parameters"])
    has_measured = run.journal.is_file() or any(run.folder.glob(f"*/{run.journal.name}"))
    if has_measured and {**study.model_dump(mode="json"), "target": begun["target"]} != begun:
        raise BadInput(f"study {study.name} was changed after run {run.id} was started: start a new run")
    if has_measured and (changed := changed_tables(study, run.tables)):
        raise BadInput(f"run {run.id} was started with another {changed[0]}: start a new run, or restore it")
    return run, begun


BEFORE_ANY_WORK = {"study.json", "tables", "lock", "pipeline.lock"}


@contextmanager
def says_how_to_go_on(run: Run) -> Iterator[None]:
    """Interrupted, out of disk, or refused as somebody measures: what a person does to have the rest.

    The sentence of the last two is BadInput when it has been told, so that it is told once.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted{_how(run, ': ')}") from None
    except (FullDisk, InUse) as error:
        raise BadInput(f"{error}{_how(run, '; ')}") from error.__cause__


def _how(run: Run, after: str) -> str:
    if not is_begun(run):
        return ""
    known = (run.folder / "study.json").is_file()
    again = f"`lockscale study resume {run.id}`" if known else "running this again"
    return f"{after}no finished step is lost, {again} continues the run"


def is_begun(run: Run) -> bool:
    """Whether anything of it was told or measured, so that there is something to go on with."""
    return not {path.name for path in run.folder.iterdir()} <= BEFORE_ANY_WORK


def forget_unbegun(run: Run) -> None:
    """Leave no run behind that was refused before anything of it was told or measured."""
    if not is_begun(run):
        shutil.rmtree(run.folder, ignore_errors=True)


def state_of(run: Run) -> str:
    """running, complete (with its changelog), measured, unfinished or not measured."""
    if any(is_locked(run.folder / name) for name in ("pipeline.lock", "lock")):
        return "running"
    if run.rows.is_file():
        return "complete" if run.changelog.is_file() else "measured"
    return "unfinished" if run.journal.is_file() else "not measured"


LOAD = ("guests", "operations_per_point", "tool")
"""The parameters that the noise and the time of a step depend on: those of another load do not tell them."""


def entries_alike(study: Study, target: str, *besides: str) -> Iterator[list[Entry]]:
    """The journals of those of `study` on `target` with the same LOAD, the latest first, finished or not.

    besides: further parameters that have to be the same.
    """
    wanted = study.parameters.model_dump(mode="json", include={*LOAD, *besides})
    for run in reversed(list_runs()):
        if target_of(run) == (study.name, target):
            asked = read_study_file(run.folder)["parameters"]
            if all(asked.get(name) == value for name, value in wanted.items()):
                yield entries_of_another(run)


def step_seconds(run: Run, study: Study, target: str) -> list[float]:
    """How long steps took: of this run, else of the latest one alike with the same profilers.

    Empty where nothing was measured yet.
    """
    for entries in chain([entries_of_another(run)], entries_alike(study, target, "profilers")):
        if found := [entry["wall_s"] for entry in entries if "wall_s" in entry]:
            return found
    return []
