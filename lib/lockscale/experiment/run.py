# SPDX-License-Identifier: MIT
"""Carry out a plan: boot, measure, journal, next. A step in the journal is never done again."""

import gzip
import json
import re
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lockscale.errors import BadInput
from lockscale.experiment import provenance
from lockscale.experiment.arms import build_arms
from lockscale.experiment.guests import guest_of, made, scratch_in
from lockscale.experiment.layout import Run
from lockscale.experiment.plan import Step, plan
from lockscale.experiment.rows import Row, write_rows
from lockscale.experiment.session import Session, measure
from lockscale.files import append_line, locked, sha256_of_json, write_bytes, write_json
from lockscale.kernels.build import Kernel
from lockscale.kernels.series import read_series, refuse_unsafe
from lockscale.progress import Progress, progress
from lockscale.study import Study, Target
from lockscale.targets.qemu import Guest, QemuMachine, qemu_line


def run_plan(run: Run, study: Study, target: Target) -> Path:
    """Measure every step of the study's plan on `target`; returns the path of rows.csv."""
    for arm in study.arms:
        refuse_unsafe(read_series(study.name, arm.name), disposable=target.disposable, target=target.name)
    steps = plan(study)
    done = _journal(run, study)
    with locked(run.folder / "lock", f"run {run.id}"):
        kernels = build_arms(study)
        guests = _Guests(run, study, target, kernels)
        value = provenance.begin(run, study, target, guests.accel, kernels, guests.example())
        value["as_found"] = {name: entry["as_found"] for name, entry in done.items()}
        write_json(run.provenance, value)
        with progress(f"measure {study.name} on {target.name}", len(steps)) as shown:
            for at, step in enumerate(steps):
                if step.name not in done:
                    done[step.name] = _do(run, study, guests, step, value, _Within(shown, at, step))
                shown.update(at + 1, step.name)
        rows = [Row(**row) for step in steps for row in done[step.name]["rows"]]
        write_rows(run.rows, rows)
    return run.rows


class _Guests:
    """The guests of one run: how they are accelerated, their kernels, their one scratch disk."""

    def __init__(self, run: Run, study: Study, target: Target, kernels: dict[str, Kernel]) -> None:
        self.target, self.kernels = target, kernels
        self.disk = scratch_in(run.folder, target)
        self.accel = self.guest(study.arms[0].name, 2, study.parameters.accel).accel

    def guest(self, arm: str, cpus: int, accel: str) -> Guest:
        return guest_of(self.target, self.kernels[arm], cpus, accel, self.disk)

    def example(self) -> str:
        arm = next(iter(self.kernels))
        return qemu_line(self.guest(arm, 4, self.accel))


class _Within:
    """Progress inside one step of the plan, as a fraction of it."""

    def __init__(self, outer: Progress, at: int, step: Step) -> None:
        self.outer, self.at, self.step = outer, at, step

    def update(self, done: float, note: str = "") -> None:
        share = (done + 1) / (len(self.step.processes) + 1)
        self.outer.update(self.at + share, f"{self.step.name} {note}")


def _do(
    run: Run, study: Study, guests: _Guests, step: Step, value: dict[str, Any], shown: Progress
) -> dict[str, Any]:
    """Boot once for `step`; its journal line, written last, holds its rows."""
    started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    shown.update(-0.5, "boots")
    kernel = guests.kernels[step.arm]
    guest = guests.guest(step.arm, step.cpus, guests.accel)
    with made(guests.disk) as disk, QemuMachine(guest) as machine:
        session = measure(machine, kernel, study, disk, step, shown)
    for name, text in session.raw.items():
        write_bytes(run.raw / step.name / f"{name}.txt.gz", gzip.compress(text.encode(), mtime=0))
    provenance.add_session(value, run, step.name, session)
    entry = {
        "step": step.name,
        "study_sha256": sha256_of_json(study.model_dump(mode="json")),
        "rows": [asdict(row) for row in _rows(run, study, guests, step, session, started)],
        "as_found": value["as_found"][step.name],
    }
    append_line(run.journal, json.dumps(entry))
    return entry


def _rows(
    run: Run, study: Study, guests: _Guests, step: Step, session: Session, started_utc: str
) -> list[Row]:
    common: dict[str, Any] = {
        "run": run.id,
        "study": study.name,
        "arm": step.arm,
        "kernel": guests.kernels[step.arm].release,
        "cpus": step.cpus,
        "pair": step.pair,
        "block": step.block,
        "iteration": step.iteration,
        "target": f"{guests.target.name} ({guests.accel})",
        "origin": "qemu",
        "build_id": session.build_id,
        "started_utc": started_utc,
    }
    versions = {session.tool: session.tool_version}
    return [
        Row(
            **common,
            **asdict(r),
            tool_version=versions.get(r.tool, guests.kernels[step.arm].release),
        )
        for r in session.readings
    ]


def _journal(run: Run, study: Study) -> dict[str, dict[str, Any]]:
    """Step -> its journal entry. A last line cut by a crash is dropped: that step is done again."""
    if not run.journal.is_file():
        return {}
    text = run.journal.read_text()
    whole = re.findall(r"^.*\n", text, re.MULTILINE)
    entries = [json.loads(line) for line in whole]
    wanted = sha256_of_json(study.model_dump(mode="json"))
    if any(entry["study_sha256"] != wanted for entry in entries):
        raise BadInput(f"run {run.id} was begun with other parameters: start a new run")
    if len("".join(whole)) < len(text):
        write_bytes(run.journal, "".join(whole).encode())
    return {entry["step"]: entry for entry in entries}
