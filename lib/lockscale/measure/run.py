# SPDX-License-Identifier: MIT
"""Carry out a plan: boot, measure, journal, next. A step in the journal is never done again.

Steps run one after another, or several at once where none disturbs another; after each a table of what was
measured so far is shown, with the time left.

On a target whose rates count, the unpatched arm's are measured before any other arm is booted, at every
number of processes: from them a run predicts every other arm. They lie in the run's folder `unpatched`, with
journal and provenance like the run's, and are in no comparison of arms: for that the plan measures the
unpatched arm again, in its turn.
"""

import concurrent.futures
import gzip
import json
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import pandas as pd

from lockscale.files import locked, now_utc, write_bytes, write_json
from lockscale.kernels.base import RATE
from lockscale.kernels.series import refuse_unsafe
from lockscale.measure import provenance
from lockscale.measure.arm_boot import MeasuredBoot, measure
from lockscale.measure.plan import Step, boots_of, plan
from lockscale.measure.resume import (
    Journal,
    open_journal,
    refuse_other,
    refuse_other_build,
    refuse_other_target,
    says_how_to_go_on,
    step_seconds,
)
from lockscale.measure.rows import Row, read_rows, write_rows
from lockscale.measure.run_folder import Run
from lockscale.measure.run_progress import Live, RunProgress
from lockscale.measure.target import Booted, HeldTarget, hold_target
from lockscale.progress import Progress, progress
from lockscale.study.file import ManycoreTarget, Study, Target

T = TypeVar("T")


Given = Generator[tuple[Step, T], None, None]
"""To be closed: who keeps the error of its reader keeps it too, with its threads."""


def run_steps(steps: Sequence[Step], do: Callable[[Step], T], at_once: int) -> Given[T]:
    """Each step with what `do` gave of it, as soon as it is done; at most `at_once` run.

    The first error ends it: no further step begins, and whoever holds the target ends those that run.
    """
    if at_once == 1:
        yield from ((step, do(step)) for step in steps)
        return
    ended = threading.Event()

    def begin(step: Step) -> list[T]:
        """What it gives; nothing where another step failed: its thread would take this one at once."""
        if ended.is_set():
            return []
        try:
            return [do(step)]
        except BaseException:
            ended.set()
            raise

    pool = concurrent.futures.ThreadPoolExecutor(at_once)
    try:
        begun = {pool.submit(begin, step): step for step in steps}
        for one in concurrent.futures.as_completed(begun):
            yield from ((begun[one], given) for given in one.result())
    finally:
        ended.set()
        pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class _Share:
    """Progress inside one step of the plan, as a fraction of it: its boot and each of its points."""

    whole: RunProgress
    step: Step

    def update(self, done: float, note: str = "") -> None:
        self.whole.tell(self.step.name, (done + 1) / (len(self.step.processes) + 2), note)


def run_plan(run: Run, study: Study, target: Target) -> Path:
    """Measure every step of the study's plan on `target` that is left; returns the path of rows.csv."""
    for arm in study.arms:
        refuse_unsafe(study.series_of(arm.name), disposable=target.disposable, target=target.name)
    with locked(run.folder / "lock", f"run {run.id}"), says_how_to_go_on(run):
        journal = open_journal(run, study)
        refuse_other_target(run, journal, target)
        with hold_target(run, study, target) as held:
            steps = plan(study, held.arms)
            _refuse_other(journal, steps, held)
            found = {name: entry["as_found"] for name, entry in journal.entries.items()}
            said = provenance.begin(run, study, target, held, found)
            _measure_steps(
                Work(run, study, held, journal), steps, said, step_seconds(run, study, target.name)
            )
        write_rows(run.rows, journal.rows(steps))
    return run.rows


def _refuse_other(journal: Journal, steps: Sequence[Step], held: HeldTarget) -> None:
    """Before provenance says anew what the rows are of, also where no step is left."""
    refuse_other(journal, steps, held.label)
    journal.go_on_with(held.machine_facts())
    for arm, kernel in held.kernels.items():
        refuse_other_build(journal, arm, kernel.build_id)


@dataclass(frozen=True)
class Work:
    """The steps of a run, or counts of its arms, while they are carried out."""

    run: Run
    study: Study
    held: HeldTarget
    journal: Journal

    def fields_of(self, step: Step, booted: Booted, started_utc: str) -> dict[str, Any]:
        """What all rows of one boot have in common."""
        return {
            "run": self.run.id, "study": self.study.name, "arm": step.arm, "kernel": booted.release,
            "cpus": step.cpus, "pair": step.pair, "block": step.block, "iteration": step.iteration,
            "target": self.held.label, "origin": self.held.origin, "build_id": booted.build_id,
            "started_utc": started_utc,
        }  # fmt: skip


@dataclass(frozen=True)
class Done(Generic[T]):
    """What one boot gave, before it is on disk."""

    booted: Booted
    given: T
    started_utc: str
    wall_s: float


def carry_out(
    work: Work,
    steps: Sequence[Step],
    shown: Progress,
    measured: Callable[[Step, Booted, Progress], T],
    time_left: Callable[[float], str] = lambda _: "",
) -> Given[Done[T]]:
    """What `measured` gives of each step that the journal lacks, in a boot of its own, to be kept.

    time_left: what a line says of it, given how many steps are behind; `shown` may say it by itself.
    """
    left = work.journal.left(steps)
    before = len(steps) - len(left)

    def boot(step: Step) -> Done[T]:
        share, started_utc, started_s = _Share(told, step), now_utc(), time.monotonic()
        share.update(-0.5, "boots")
        with work.held.boot(step.arm, step.cpus) as booted:
            refuse_other_build(work.journal, step.arm, booted.build_id)
            given = measured(step, booted, share)
        return Done(booted, given, started_utc, time.monotonic() - started_s)

    named = work.study.name
    told = RunProgress(shown, before, lambda done: time_left(done - before), work.held.threads, named)
    with told, closing(run_steps(left, boot, work.held.at_once)) as done_in_turn:
        for step, done in done_in_turn:
            yield step, done
            told.tell(step.name, 1)


def measure_apart(
    into: Run,
    run: Run,
    study: Study,
    target: Target,
    steps: Sequence[Step],
    what: str,
    measured: Callable[[Work, Step, Booted, Progress], T],
    rows_of_step: Callable[[Work, Step, Done[T]], Sequence[Row]],
    *,
    kind: str = RATE,
) -> Path:
    """Carry out what is left of `steps` into a folder of `run` that is laid out like a run; its rows.

    what: for whoever reads the progress, before the target's name. kind: of the kernels, of which only the
    steps' arms are built.
    """
    arms = [arm for arm in study.arms if any(step.arm == arm.name for step in steps)]
    for arm in arms:
        refuse_unsafe(study.series_of(arm.name), disposable=target.disposable, target=target.name)
    into.folder.mkdir(parents=True, exist_ok=True)
    with locked(into.folder / "lock", f"{into.folder.name} of run {run.id}"), says_how_to_go_on(run):
        journal = open_journal(into, study)
        refuse_other_target(into, journal, target)
        with hold_target(run, study.model_copy(update={"arms": arms}), target, kind) as held:
            _refuse_other(journal, steps, held)
            said = {"run": run.id, "origin": held.origin, "target": target.public(), **held.describe()}
            write_json(into.provenance, said)
            work = Work(run, study, held, journal)
            with (
                progress(f"{what} on {held.label}", len(steps)) as shown,
                closing(carry_out(work, steps, shown, lambda *on: measured(work, *on))) as of_boots,
            ):
                for step, done in of_boots:
                    rows = [asdict(row) for row in rows_of_step(work, step, done)]
                    journal.add(step, rows=rows, wall_s=round(done.wall_s, 1))
        write_rows(into.rows, journal.rows(steps))
    return into.rows


def _measure_steps(work: Work, steps: list[Step], said: dict[str, Any], known_s: list[float]) -> None:
    """said: the run's provenance."""
    left = len(work.journal.left(steps))
    live = Live(known_s, left, work.held.at_once)
    what = f"measure {work.study.name} on {work.held.label}"

    def measured(step: Step, booted: Booted, share: Progress) -> MeasuredBoot:
        return measure(booted, work.study, step, share)

    with (
        progress(what, len(steps), tells_left=False) as shown,  # `live` tells it
        closing(carry_out(work, steps, shown, measured, live.now_left)) as of_boots,
    ):
        for k, (step, done) in enumerate(of_boots, start=1):
            _keep(work, step, done, said)
            rows = [row for entry in work.journal.entries.values() for row in entry["rows"]]
            live.done(rows, done.wall_s, left - k)


def _keep(work: Work, step: Step, done: Done[MeasuredBoot], said: dict[str, Any]) -> None:
    """Put what it gave on disk: its journal line, written last, holds its rows."""
    boot = replace(done.given, found=json.loads(work.held.scrub(json.dumps(done.given.found))))
    for name, text in boot.raw.items():
        kept = gzip.compress(work.held.scrub(text).encode(), mtime=0)
        write_bytes(work.run.raw / step.name / f"{name}.txt.gz", kept)
    provenance.add_session(said, work.run, step.name, boot)
    rows = [asdict(row) for row in rows_of(work, step, done)]
    work.journal.add(step, rows=rows, as_found=said["as_found"][step.name], wall_s=round(done.wall_s, 1))


def rows_of(work: Work, step: Step, done: Done[MeasuredBoot]) -> list[Row]:
    """Each reading of one boot, with what all rows of it have in common."""
    boot = done.given
    common, release = work.fields_of(step, done.booted, done.started_utc), done.booted.release
    return [
        Row(**common, **asdict(one), tool_version=boot.versions.get(one.tool, release))
        for one in boot.readings
    ]


MOST_BOOTS = 2
"""Of the unpatched arm before any other: two say how far boots lie apart; the prediction's intervals are
wider than what more would tell."""


def first_rates_of(run: Run) -> Run:
    """Where the unpatched arm's first rates lie, laid out like the run itself."""
    return Run(run.folder / "unpatched")


def read_first_rates(run: Run) -> pd.DataFrame | None:
    """The rows, as read_rows() has them; None where the unpatched arm was not measured first."""
    into = first_rates_of(run)
    return read_rows(into.rows) if into.rows.is_file() else None


def measure_first_arm(run: Run, study: Study, target: Target) -> pd.DataFrame | None:
    """Boot and measure what is left of the unpatched arm, and no other arm; its rows.

    None on a target that gives no rates, or one that boots a server for each arm, which takes long; and where
    other arms were measured before, so that a prediction made now would be none.
    """
    if isinstance(target, ManycoreTarget) and not run.journal.is_file():
        arm = study.unpatched.name
        blocks, what = min(MOST_BOOTS, study.parameters.iterations), f"first rates of {arm}"
        steps = boots_of(study, arm, blocks, lambda guest: guest.processes)
        measure_apart(
            first_rates_of(run), run, study, target, steps, what,
            lambda work, step, booted, told: measure(booted, work.study, step, told), rows_of,
        )  # fmt: skip
    return read_first_rates(run)
