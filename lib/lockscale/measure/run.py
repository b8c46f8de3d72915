# SPDX-License-Identifier: MIT
"""Carry out a plan: boot, measure, journal, next. A step in the journal is never done again."""

import gzip
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lockscale.files import locked, write_bytes
from lockscale.kernels.series import refuse_unsafe
from lockscale.measure import provenance
from lockscale.measure.alike import step_seconds
from lockscale.measure.at_once import Shares, carried_out
from lockscale.measure.journal import (
    Journal,
    open_journal,
    refuse_other,
    refuse_other_build,
)
from lockscale.measure.layout import Run
from lockscale.measure.live import Live
from lockscale.measure.places import Booted, Place, open_place
from lockscale.measure.plan import Step, plan
from lockscale.measure.resumable import says_how_to_go_on
from lockscale.measure.rows import Row, write_rows
from lockscale.measure.session import Session, measure
from lockscale.progress import Progress, progress
from lockscale.study.file import Study, Target


def run_plan(run: Run, study: Study, target: Target) -> Path:
    """Measure every step of the study's plan on `target` that is left; returns the path of rows.csv."""
    for arm in study.arms:
        refuse_unsafe(study.series_of(arm.name), disposable=target.disposable, target=target.name)
    with locked(run.folder / "lock", f"run {run.id}"), says_how_to_go_on(run):
        journal = open_journal(run, study)
        with open_place(run, study, target) as place:
            steps = plan(study, place.arms)
            refuse_other(journal, steps, place.label)
            found = {name: entry["as_found"] for name, entry in journal.entries.items()}
            said = provenance.begin(run, study, target, place, found)
            _carry_out(_Work(run, study, place, journal, said), steps, step_seconds(run, study, target.name))
        write_rows(run.rows, journal.rows(steps))
    return run.rows


@dataclass(frozen=True)
class _Work:
    """A run while it is carried out; said: its provenance."""

    run: Run
    study: Study
    place: Place
    journal: Journal
    said: dict[str, Any]


@dataclass(frozen=True)
class _Done:
    """What one step gave, before it is on disk."""

    booted: Booted
    session: Session
    started_utc: str
    wall_s: float


def _carry_out(work: _Work, steps: list[Step], known_s: list[float]) -> None:
    left = work.journal.left(steps)
    live = Live(known_s, len(left), work.place.at_once)
    what = f"measure {work.study.name} on {work.place.label}"
    with progress(what, len(steps), tells_left=False) as shown:  # `live` tells it
        shares = Shares(shown, len(steps) - len(left))
        done = carried_out(left, lambda step: _measured(work, step, shares.of(step)), work.place.at_once)
        for k, (step, one) in enumerate(done, start=1):
            _keep(work, step, one)
            shares.tell(step, 1, "")
            rows = [row for entry in work.journal.entries.values() for row in entry["rows"]]
            live.done(rows, one.wall_s, len(left) - k)


def _measured(work: _Work, step: Step, shown: Progress) -> _Done:
    """Boot once for `step`."""
    started_utc, started_s = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), time.monotonic()
    shown.update(-0.5, "boots")
    with work.place.boot(step.arm, step.cpus) as booted:
        refuse_other_build(work.journal, step.arm, booted.build_id)
        session = measure(booted, work.study, step, shown)
    return _Done(booted, session, started_utc, time.monotonic() - started_s)


def _keep(work: _Work, step: Step, done: _Done) -> None:
    """Put what it gave on disk: its journal line, written last, holds its rows."""
    for name, text in done.session.raw.items():
        kept = gzip.compress(work.place.scrub(text).encode(), mtime=0)
        write_bytes(work.run.raw / step.name / f"{name}.txt.gz", kept)
    provenance.add_session(work.said, work.run, step.name, done.session)
    rows = [asdict(row) for row in _rows(work, step, done.booted, done.session, done.started_utc)]
    as_found = work.said["as_found"][step.name]
    work.journal.add(step, rows=rows, as_found=as_found, wall_s=round(done.wall_s, 1))


def _rows(work: _Work, step: Step, booted: Booted, session: Session, started_utc: str) -> list[Row]:
    common: dict[str, Any] = {
        "run": work.run.id,
        "study": work.study.name,
        "arm": step.arm,
        "kernel": booted.release,
        "cpus": step.cpus,
        "pair": step.pair,
        "block": step.block,
        "iteration": step.iteration,
        "target": work.place.label,
        "origin": work.place.origin,
        "build_id": booted.build_id,
        "started_utc": started_utc,
    }
    versions = {session.tool: session.tool_version}
    return [
        Row(**common, **asdict(r), tool_version=versions.get(r.tool, booted.release))
        for r in session.readings
    ]
