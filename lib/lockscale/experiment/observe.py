# SPDX-License-Identifier: MIT
"""What a study's arms do, counted: the observe kernels of a run's arms, booted block by block.

Their rows lie in a folder of their own inside the run, with journal and provenance like the run's: no
rate is ever in them, and no rate is compared with them.
"""

import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lockscale.experiment.arms import build_each, options_of
from lockscale.experiment.counting import OBSERVE, count_points, observed_counters, sources_of
from lockscale.experiment.file_system import MOUNT_POINT
from lockscale.experiment.guests import booted
from lockscale.experiment.holder import hold_this_machine
from lockscale.experiment.journal import Journal, open_journal, refuse_other, refuse_other_build
from lockscale.experiment.layout import Run
from lockscale.experiment.load import fsload_load
from lockscale.experiment.plan import Step, plan
from lockscale.experiment.rows import Row, write_rows
from lockscale.experiment.this_machine import host
from lockscale.files import locked, write_json
from lockscale.kernels.arms import arms_file
from lockscale.kernels.build import Kernel, build
from lockscale.kernels.series import read_series, refuse_unsafe
from lockscale.progress import progress
from lockscale.study import QemuTarget, Study, Target


def observed(run: Run) -> Run:
    """Where the counts of a run lie, laid out like the run itself."""
    return Run(run.folder / "observed")


def observe(run: Run, study: Study, target: Target) -> Path | None:
    """Count at every point of the study's plan that is left; the path of the counts.

    None where the study's proof is in its profiles, or the target boots no guests: a server has no observe
    kernels yet.
    """
    if study.counter not in observed_counters(study.name) or not isinstance(target, QemuTarget):
        return None
    for arm in study.arms:
        refuse_unsafe(read_series(study.name, arm.name), disposable=target.disposable, target=target.name)
    into = observed(run)
    into.folder.mkdir(parents=True, exist_ok=True)
    with locked(into.folder / "lock", f"counts of run {run.id}"), hold_this_machine(run.id, target.name):
        journal, steps = open_journal(into, study), steps_of(study)
        refuse_other(journal, steps, target.name)
        kernels = _kernels(study)
        said = {name: asdict(kernel) for name, kernel in kernels.items()}
        write_json(into.provenance, {"run": run.id, "origin": "qemu", "host": host(), "kernels": said})
        _count_all(run, study, target, journal, steps, kernels)
        rows = [Row(**row) for step in steps for row in journal.entries[step.name]["rows"]]
        write_rows(into.rows, rows)
    return into.rows


def steps_of(study: Study) -> list[Step]:
    """The blocks of the study's plan: warm-up and the A/A pair are for rates."""
    return [step for step in plan(study) if step.pair == "ab"]


def _kernels(study: Study) -> dict[str, Kernel]:
    source = study.parameters.kernel_source or None
    return build_each(study, lambda series: build(series, source, kind=OBSERVE))


def _count_all(
    run: Run,
    study: Study,
    target: QemuTarget,
    journal: Journal,
    steps: list[Step],
    kernels: dict[str, Kernel],
) -> None:
    left = journal.left(steps)
    with progress(f"count {study.name} on {target.name}", len(steps)) as shown:
        for k, step in enumerate(left):
            shown.update(len(steps) - len(left) + k, step.name)
            refuse_other_build(journal, step.arm, kernels[step.arm].build_id)
            started_s = time.monotonic()
            rows = [asdict(row) for row in _counted(run, study, target, step, kernels[step.arm])]
            journal.add(step, rows=rows, wall_s=round(time.monotonic() - started_s, 1))
        shown.update(len(steps))


def _counted(run: Run, study: Study, target: QemuTarget, step: Step, kernel: Kernel) -> Iterator[Row]:
    """One boot of one arm's observe kernel: every source of every counter at every point."""
    asked, started = study.parameters, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    load = fsload_load(study.workload, MOUNT_POINT)
    items = {n: max(1, asked.creates_per_point // n) for n in step.processes}
    loads = {n: load.command(n, each, "both") for n, each in items.items()}
    sources = sources_of(arms_file(study.name))
    with booted(target, kernel, step.cpus, accel=asked.accel) as (machine, disk):
        counted = count_points(machine, disk, options_of(study, step.arm), loads, sources, step.cpus)
    common: dict[str, Any] = {
        "run": run.id, "study": study.name, "arm": step.arm, "kernel": kernel.release, "tool": OBSERVE,
        "tool_version": kernel.release, "test": load.operation, "cpus": step.cpus, "pair": step.pair,
        "block": step.block, "iteration": step.iteration, "statistic": "total", "target": target.name,
        "origin": "qemu", "build_id": kernel.build_id, "profiled": True, "started_utc": started,
    }  # fmt: skip
    for n, counts in counted.items():
        done = Row(**common, threads=n, metric=f"{load.operation}s", unit="ops", value=float(n * items[n]))
        yield done
        for source, value in counts.items():
            yield Row(**common, threads=n, metric=source, unit="events", value=float(value))
