# SPDX-License-Identifier: MIT
"""One boot of one arm: assert the kernel, make the file system, measure each point, check it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lockscale.experiment.all_processes import STATISTICS
from lockscale.experiment.arms import options_of
from lockscale.experiment.file_system import (
    MOUNT_POINT,
    FileSystem,
    make,
    unmount_and_check,
)
from lockscale.experiment.load import Load, choose_load
from lockscale.experiment.overheads import UNDER_PROFILER
from lockscale.experiment.plan import Step
from lockscale.experiment.profiling import profile, profilers
from lockscale.kernels.build import Kernel
from lockscale.profilers import lock_events
from lockscale.progress import Progress
from lockscale.study import Study
from lockscale.targets.assertions import assert_runs
from lockscale.targets.disk import NamedDisk
from lockscale.targets.machine import Machine, must, must_all

POINT_TIMEOUT_S = 300


@dataclass(frozen=True)
class Reading:
    """One number of one point: `profiled` ones are never rates."""

    tool: str
    test: str
    threads: int
    metric: str
    statistic: str
    unit: str
    value: float
    profiled: bool


@dataclass
class Session:
    """What one boot gave: readings, the raw text of every tool, the file system as it was found."""

    build_id: str
    tool: str
    tool_version: str = ""
    file_system: FileSystem | None = None
    readings: list[Reading] = field(default_factory=list)
    raw: dict[str, str] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)


def measure(
    machine: Machine, kernel: Kernel, study: Study, disk: NamedDisk, step: Step, shown: Progress
) -> Session:
    """Every point of `step` on a booted machine. No number is taken before the kernel is asserted."""
    build_id = assert_runs(machine, kernel)
    file_system = make(machine, options_of(study, step.arm), disk)
    load = choose_load(machine, study.parameters.tool, MOUNT_POINT)
    session = Session(build_id, load.tool, file_system=file_system)
    session.found = _as_found(machine, file_system.device)
    _load_inodes(machine, load, study, step, session)
    for done, processes in enumerate(step.processes):
        shown.update(done, f"{processes} processes")
        items = max(1, study.parameters.creates_per_point // processes)
        point = _Point(load, processes, items)
        # generators, carried out in turn: neither is always the one that finds the younger file system
        parts = [_rate(machine, point, session), _profiles(machine, point, step.cpus, study, session)]
        for part in parts if step.iteration % 2 else reversed(parts):
            session.readings += part
    unmount_and_check(machine, file_system)
    return session


@dataclass(frozen=True)
class _Point:
    """A load at one number of processes, each making `items` files."""

    load: Load
    processes: int
    items: int

    def command(self, phase: str) -> list[str]:
        return self.load.command(self.processes, self.items, phase)

    def reading(
        self, tool: str, test: str, metric: str, statistic: str, unit: str, value: float, profiled: bool
    ) -> Reading:
        return Reading(tool, test, self.processes, metric, statistic, unit, value, profiled)


def _load_inodes(machine: Machine, load: Load, study: Study, step: Step, session: Session) -> None:
    """S1's unmeasured first run: it loads inode tables and bitmaps, so the rest finds them cached."""
    processes = max(step.processes)
    items = max(1, study.parameters.creates_per_point // processes)
    text = must(machine, load.command(processes, items, "both"), timeout_s=POINT_TIMEOUT_S)
    session.raw["warm-up"] = text
    session.tool_version = load.parse(text).version


def _rate(machine: Machine, point: _Point, session: Session) -> Iterator[Reading]:
    """Rates of create and remove with no profiler on, and the lock events of the whole load.

    Rates of single ranks stay in the raw output.
    """
    steps = [["sync"], lock_events.READ, point.command("both"), lock_events.READ]
    _, before, done, after = must_all(machine, steps, timeout_s=POINT_TIMEOUT_S)
    session.raw[f"rate-{point.processes}"] = done.stdout
    for row in point.load.parse(done.stdout).rows:
        if row.metric == "rate" and not row.statistic.startswith("rank"):
            yield point.reading(point.load.tool, row.test, "rate", row.statistic, "ops/s", row.value, False)
    delta = lock_events.difference(lock_events.parse(before.stdout), lock_events.parse(after.stdout))
    for name in ("lock_slowpath", "lock_pending"):
        yield point.reading("lock_events", "create_remove", name, "total", "events", delta[name], False)


def _profiles(
    machine: Machine, point: _Point, cpus: int, study: Study, session: Session
) -> Iterator[Reading]:
    """The create phase alone under each profiler; its rate says what the profiler costs, no more."""
    asked = study.parameters
    creates = point.processes * point.items
    yield point.reading("ftrace_cost", "create", "creates", "total", "ops", creates, True)
    create, remove = point.command("create"), point.command("remove")
    for one in profilers(machine, asked.profilers, cpus, asked.profiled_functions):
        found = profile(machine, one, create, remove, POINT_TIMEOUT_S)
        name = "profile" if one.tool == "ftrace_cost" else one.tool
        session.raw[f"{name}-{point.processes}"] = found.raw
        for number in found.numbers:
            yield point.reading(one.tool, "create", *number, True)
        for row in point.load.parse(found.load).rows:
            if (row.test, row.metric) == ("create", "rate") and row.statistic in STATISTICS:
                yield point.reading(
                    one.tool, "create", UNDER_PROFILER, row.statistic, "ops/s", row.value, True
                )


def _as_found(machine: Machine, device: str) -> dict[str, Any]:
    """What the machine itself says of what decides a result; null where it does not say."""
    queue = f"/sys/block/{device.removeprefix('/dev/')}/queue"
    files = {
        "clock_source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "io_scheduler": f"{queue}/scheduler",
        "write_cache": f"{queue}/write_cache",
        "rotational": f"{queue}/rotational",
        "kernel_command_line": "/proc/cmdline",
        "memory": "/proc/meminfo",
        "smt": "/sys/devices/system/cpu/smt/active",
        "firmware": "/sys/class/dmi/id/bios_version",
    }
    more = [["lscpu", "--json"], ["mkfs.ext4", "-V"], ["e2fsck", "-V"]]
    done = machine.run_all([*(["head", "-n", "1", path] for path in files.values()), *more])
    *lines, cpu, mkfs, e2fsck = done
    found: dict[str, Any] = {
        name: line.stdout.strip() if line.status == 0 else None
        for name, line in zip(files, lines, strict=True)
    }
    found["cpu"] = json.loads(cpu.stdout) if cpu.status == 0 else None
    for name, said in (("mkfs.ext4", mkfs), ("e2fsck", e2fsck)):
        found[f"version_of_{name}"] = next(iter(said.stderr.splitlines()), None)
    return found
