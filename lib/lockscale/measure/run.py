# SPDX-License-Identifier: MIT
"""Carry out a plan: boot, measure, journal, next. A step in the journal is never done again.

Steps run one after another, or several at once where none disturbs another; after each a table of what was
measured so far is shown, with the time left.
"""

import concurrent.futures
import gzip
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import pandas as pd

from lockscale.files import locked, now_utc, write_bytes
from lockscale.kernels.series import refuse_unsafe
from lockscale.measure import provenance
from lockscale.measure.arm_boot import MeasuredBoot, measure
from lockscale.measure.plan import WARM_UP, Step, plan
from lockscale.measure.resume import (
    Journal,
    open_journal,
    refuse_other,
    refuse_other_build,
    says_how_to_go_on,
    step_seconds,
)
from lockscale.measure.rows import STATISTICS, Row, operation_of, write_rows
from lockscale.measure.run_folder import Run
from lockscale.measure.run_progress import RunProgress
from lockscale.measure.target import Booted, HeldTarget, hold_target
from lockscale.progress import Progress, progress, tell, updated_table
from lockscale.study.file import Study, Target

T = TypeVar("T")


def carried_out(steps: Sequence[Step], work: Callable[[Step], T], at_once: int) -> Iterator[tuple[Step, T]]:
    """Each step with what `work` gave of it, as soon as it is done; at most `at_once` run.

    The first error ends it: no further step begins, and whoever holds the target ends those that run.
    """
    if at_once == 1:
        yield from ((step, work(step)) for step in steps)
        return
    ended = threading.Event()

    def begin(step: Step) -> list[T]:
        """What work gives; nothing where another step failed: its thread would take this one at once."""
        if ended.is_set():
            return []
        try:
            return [work(step)]
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


class Shares:
    """The progress of a plan as the sum of what is done of each step, which may run side by side."""

    def __init__(self, outer: Progress, done: int) -> None:
        self.outer, self.done, self.running = outer, float(done), dict[str, float]()
        self.changing = threading.Lock()

    def of(self, step: Step) -> Progress:
        """What is told of one step while it runs."""
        return _Share(self, step)

    def tell(self, step: Step, share: float, note: str) -> None:
        """So much of `step` is done; with all of it, it runs no more."""
        with self.changing:
            self.running[step.name] = share
            if share == 1:
                self.done += self.running.pop(step.name)
            self.outer.update(self.done + sum(self.running.values()), f"{step.name} {note}".strip())


@dataclass(frozen=True)
class _Share:
    """Progress inside one step of the plan, as a fraction of it: its boot and each of its points."""

    whole: Shares
    step: Step

    def update(self, done: float, note: str = "") -> None:
        self.whole.tell(self.step, (done + 1) / (len(self.step.processes) + 2), note)


AA = " (A/A)"
OWN_STEPS = 3
"""So many steps of this run are enough to say how long the others take; earlier runs no longer count."""


def so_far(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rates by cpus and threads (index) and arm (columns): mean, standard deviation (repeats).

    Of the operation that the rows say. Text for a person; empty before the first rate. Of each load the
    rate of all its processes. The A/A pair has a column of its own: it is in no arm's mean.
    """
    frame = pd.DataFrame(list(rows))
    measured = frame[(frame.metric == "rate") & (frame.pair != WARM_UP)] if len(frame) else frame
    if measured.empty:
        return pd.DataFrame()
    rates = measured[measured.test == operation_of(frame)]
    named = next((name for name in STATISTICS if (rates.statistic == name).any()), "")
    rates = rates[rates.statistic == named]
    if rates.empty:
        return pd.DataFrame()
    rates = rates.assign(arm=rates.arm.where(rates.pair == "ab", rates.arm + AA))
    grouped = rates.groupby(["cpus", "threads", "arm"]).value.agg(["mean", "std", "count"])
    said = [_cell(*row) for row in grouped.itertuples(index=False)]
    return pd.Series(said, index=grouped.index).unstack("arm", fill_value="")


def _cell(mean: float, sd: float, count: int) -> str:
    spread = f", sd {100 * sd / mean:.1f}%" if count > 1 and mean else ""
    return f"{mean:,.0f}/s{spread} ({count})"


def time_text(seconds: float) -> str:
    """A duration as a person says it: 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


SURE_AFTER_S = 10.0
"""A part of the first step that took less tells nothing of the rest."""


class Live:
    """The table of one run, shown anew after each step; in a notebook in its place."""

    def __init__(self, steps_s: Sequence[float], left: int, at_once: int = 1) -> None:
        self.earlier_s, self.at_once = list(steps_s), at_once
        self.own_s: list[float] = []
        self.left, self.begun_s, self.since_s = left, time.monotonic(), time.monotonic()
        self.parts, self.parts_s = 0.0, 0.0
        self.show = updated_table()
        self.said(left)

    def said(self, left: int) -> None:
        """How long the steps that are left will take, before they start."""
        if left and self.earlier_s:
            sure = f"from {len(self.earlier_s)} earlier ones"
            tell(f"{left} steps to do, about {time_text(self.left_s(left))} {sure}")
        elif left:
            tell(f"{left} steps to do; their time is known after the first")

    def left_s(self, left: int) -> float:
        """Seconds for `left` steps: from this run's own once there are OWN_STEPS, else from all known."""
        known_s = self.own_s if len(self.own_s) >= OWN_STEPS else [*self.earlier_s, *self.own_s]
        return math.ceil(left / self.at_once) * sum(known_s) / len(known_s)

    def now_left(self, begun: float) -> str:
        """The end of a line amid a step; begun: how many steps this run has behind it, with parts of them.

        Before any step is known, as much again as the parts took that are over.
        """
        now_s = time.monotonic()
        if self.left and (self.own_s or self.earlier_s):
            later_s = self.left_s(self.left - 1)
            left_s = max(later_s, self.left_s(self.left) - (now_s - self.since_s))
            return f", about {time_text(left_s)} left" if left_s else ", longer than any step before"
        if begun != self.parts:
            self.parts, self.parts_s = begun, now_s - self.begun_s
        if self.left and begun > 0 and self.parts_s > SURE_AFTER_S:
            return f", perhaps {time_text(self.parts_s * (self.left - begun) / begun)} left"
        return ""

    def done(self, rows: Sequence[Mapping[str, Any]], wall_s: float, left: int) -> None:
        """One more step, which took `wall_s`; rows of all steps so far."""
        self.own_s.append(wall_s)
        self.left, self.since_s = left, time.monotonic()
        steps = "1 step" if left == 1 else f"{left} steps"
        ending = f"{steps} left, about {time_text(self.left_s(left))}" if left else "all steps are done"
        self.show(so_far(rows), ending)


def run_plan(run: Run, study: Study, target: Target) -> Path:
    """Measure every step of the study's plan on `target` that is left; returns the path of rows.csv."""
    for arm in study.arms:
        refuse_unsafe(study.series_of(arm.name), disposable=target.disposable, target=target.name)
    with locked(run.folder / "lock", f"run {run.id}"), says_how_to_go_on(run):
        journal = open_journal(run, study)
        with hold_target(run, study, target) as held:
            steps = plan(study, held.arms)
            refuse_other(journal, steps, held.label)
            found = {name: entry["as_found"] for name, entry in journal.entries.items()}
            said = provenance.begin(run, study, target, held, found)
            _measure_steps(
                Work(run, study, held, journal), steps, said, step_seconds(run, study, target.name)
            )
        write_rows(run.rows, journal.rows(steps))
    return run.rows


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
) -> Iterator[tuple[Step, Done[T]]]:
    """What `measured` gives of each step that the journal lacks, in a boot of its own, to be kept.

    time_left: what a line says of it, given how many steps are behind; `shown` may say it by itself.
    """
    left = work.journal.left(steps)
    before = len(steps) - len(left)

    def boot(step: Step) -> Done[T]:
        share, started_utc, started_s = shares.of(step), now_utc(), time.monotonic()
        share.update(-0.5, "boots")
        with work.held.boot(step.arm, step.cpus) as booted:
            refuse_other_build(work.journal, step.arm, booted.build_id)
            given = measured(step, booted, share)
        return Done(booted, given, started_utc, time.monotonic() - started_s)

    told = RunProgress(shown, lambda done: time_left(done - before), work.held.threads, work.study.name)
    shares = Shares(told, before)
    with told:
        for step, done in carried_out(left, boot, work.held.at_once):
            yield step, done
            shares.tell(step, 1, "")


def _measure_steps(work: Work, steps: list[Step], said: dict[str, Any], known_s: list[float]) -> None:
    """said: the run's provenance."""
    left = len(work.journal.left(steps))
    live = Live(known_s, left, work.held.at_once)
    what = f"measure {work.study.name} on {work.held.label}"
    with progress(what, len(steps), tells_left=False) as shown:  # `live` tells it
        of_boot = carry_out(
            work, steps, shown, lambda step, *on: measure(on[0], work.study, step, on[1]), live.now_left
        )
        for k, (step, done) in enumerate(of_boot, start=1):
            _keep(work, step, done, said)
            rows = [row for entry in work.journal.entries.values() for row in entry["rows"]]
            live.done(rows, done.wall_s, left - k)


def _keep(work: Work, step: Step, done: Done[MeasuredBoot], said: dict[str, Any]) -> None:
    """Put what it gave on disk: its journal line, written last, holds its rows."""
    session = done.given
    for name, text in session.raw.items():
        kept = gzip.compress(work.held.scrub(text).encode(), mtime=0)
        write_bytes(work.run.raw / step.name / f"{name}.txt.gz", kept)
    provenance.add_session(said, work.run, step.name, session)
    rows = [asdict(row) for row in rows_of(work, step, done)]
    work.journal.add(step, rows=rows, as_found=said["as_found"][step.name], wall_s=round(done.wall_s, 1))


def rows_of(work: Work, step: Step, done: Done[MeasuredBoot]) -> list[Row]:
    """Each reading of one boot, with what all rows of it have in common."""
    session = done.given
    common, release = work.fields_of(step, done.booted, done.started_utc), done.booted.release
    versions = {session.tool: session.tool_version}
    return [
        Row(**common, **asdict(one), tool_version=versions.get(one.tool, release)) for one in session.readings
    ]
