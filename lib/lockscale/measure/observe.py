# SPDX-License-Identifier: MIT
"""What a study's arms do, counted: the observe kernels of a run's arms, booted block by block.

Their rows lie in a folder of their own inside the run, with journal and provenance like the run's: no
rate is ever in them, and no rate is compared with them.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lockscale.files import locked, write_json
from lockscale.kernels.series import refuse_unsafe
from lockscale.measure.at_once import carried_out
from lockscale.measure.counting import OBSERVE, Sources, count_points, observed_counters, sources_of
from lockscale.measure.journal import Journal, open_journal, refuse_other, refuse_other_build
from lockscale.measure.layout import Run
from lockscale.measure.load import fsload_load
from lockscale.measure.places import Booted, Place, open_place
from lockscale.measure.plan import Step, plan, profiled
from lockscale.measure.rows import Row, write_rows
from lockscale.progress import progress
from lockscale.study.file import LocalTarget, Study, Target


def observed(run: Run) -> Run:
    """Where the counts of a run lie, laid out like the run itself."""
    return Run(run.folder / "observed")


def observe(run: Run, study: Study, target: Target) -> Path | None:
    """Count at every point of the study's plan that is left; the path of the counts.

    None where the study's proof is in its profiles, or the target boots no kernel of ours.
    """
    if study.counter not in observed_counters(study) or isinstance(target, LocalTarget):
        return None
    return count_steps(observed(run), run, study, target, steps_of(study), sources_of(study))


def count_steps(
    into: Run, run: Run, study: Study, target: Target, steps: Sequence[Step], sources: Sources
) -> Path:
    """Count `sources` in each step that is left; the path of the counts. Only the steps' arms are built.

    into: a folder of `run`, laid out like a run.
    """
    arms = [arm for arm in study.arms if any(step.arm == arm.name for step in steps)]
    for arm in arms:
        refuse_unsafe(study.series_of(arm.name), disposable=target.disposable, target=target.name)
    into.folder.mkdir(parents=True, exist_ok=True)
    with locked(into.folder / "lock", f"counts of run {run.id}"):
        journal = open_journal(into, study)
        with open_place(run, study.model_copy(update={"arms": arms}), target, sources.kind) as place:
            refuse_other(journal, steps, place.label)
            said = {"run": run.id, "origin": place.origin, **place.describe()}
            write_json(into.provenance, said)
            _count_all(_Work(run, study, place, journal, sources), steps)
        write_rows(into.rows, journal.rows(steps))
    return into.rows


@dataclass(frozen=True)
class _Work:
    """Counts while they are taken."""

    run: Run
    study: Study
    place: Place
    journal: Journal
    sources: Sources


def steps_of(study: Study) -> list[Step]:
    """The blocks of the study's plan at the points that are profiled; the A/A pair is for rates."""
    steps = [step for step in plan(study) if step.pair == "ab"]
    return [replace(step, processes=profiled(study, step)) for step in steps]


def _count_all(work: _Work, steps: Sequence[Step]) -> None:
    left, place = work.journal.left(steps), work.place
    with progress(f"count {work.study.name} on {place.label}", len(steps)) as shown:
        shown.update(len(steps) - len(left))
        done = carried_out(left, lambda step: _booted(work, step), place.at_once)
        for k, (step, (rows, wall_s)) in enumerate(done, start=1):
            work.journal.add(step, rows=rows, wall_s=round(wall_s, 1))
            shown.update(len(steps) - len(left) + k, step.name)


def _booted(work: _Work, step: Step) -> tuple[list[dict[str, Any]], float]:
    """The rows of one boot, and how long it took in seconds."""
    started_s = time.monotonic()
    with work.place.boot(step.arm, step.cpus) as booted:
        refuse_other_build(work.journal, step.arm, booted.build_id)
        rows = [asdict(row) for row in _counted(work, step, booted)]
    return rows, time.monotonic() - started_s


def _counted(work: _Work, step: Step, booted: Booted) -> Iterator[Row]:
    """One boot of one arm's observe kernel: every source of every counter at every point."""
    run, study, place = work.run, work.study, work.place
    asked, started = study.parameters, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    load = fsload_load(study.workload, booted.folder, booted.fsload, containers=step.containers)
    items = {n: max(1, asked.operations_per_point // n) for n in step.processes}
    loads = {n: load.command(n, each, "both") for n, each in items.items()}
    assert booted.disk is not None, "a place that boots kernels has a disk to format"
    options = study.options_of(step.arm)
    counted = count_points(booted.machine, booted.disk, options, loads, work.sources, step.cpus)
    common: dict[str, Any] = {
        "run": run.id, "study": study.name, "arm": step.arm, "kernel": booted.release, "tool": OBSERVE,
        "tool_version": booted.release, "test": load.operation, "cpus": step.cpus, "pair": step.pair,
        "block": step.block, "iteration": step.iteration, "statistic": "total", "target": place.label,
        "origin": place.origin, "build_id": booted.build_id, "profiled": True, "started_utc": started,
    }  # fmt: skip
    for n, counts in counted.items():
        yield Row(**common, threads=n, metric=f"{load.operation}s", unit="ops", value=float(n * items[n]))
        for source, value in counts.items():
            yield Row(**common, threads=n, metric=source, unit="events", value=float(value))
