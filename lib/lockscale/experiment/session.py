# SPDX-License-Identifier: MIT
"""One boot of one arm: assert the kernel, make the file system, measure each point, check it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lockscale.experiment.file_system import (
    MOUNT_POINT,
    FileSystem,
    make,
    unmount_and_check,
)
from lockscale.experiment.load import Load, choose_load
from lockscale.experiment.plan import Step
from lockscale.kernels.build import Kernel
from lockscale.profilers import ftrace_cost, lock_events
from lockscale.progress import Progress
from lockscale.study import Study
from lockscale.targets.assertions import assert_runs
from lockscale.targets.disk import NamedDisk
from lockscale.targets.machine import Completed, Machine, must

POINT_TIMEOUT_S = 300


@dataclass
class Session:
    """What one boot gave: readings, the raw text of every tool, the file system as it was found."""

    build_id: str
    tool: str
    tool_version: str = ""
    file_system: FileSystem | None = None
    readings: list["Reading"] = field(default_factory=list)
    raw: dict[str, str] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)


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


def measure(
    machine: Machine, kernel: Kernel, study: Study, disk: NamedDisk, step: Step, shown: Progress
) -> Session:
    """Every point of `step` on a booted machine. No number is taken before the kernel is asserted."""
    build_id = assert_runs(machine, kernel)
    file_system = make(machine, study, disk)
    load = choose_load(machine, study.parameters.tool, MOUNT_POINT)
    session = Session(build_id, load.tool, file_system=file_system)
    session.found = _as_found(machine, file_system.device)
    _load_inodes(machine, load, study, step, session)
    for done, processes in enumerate(step.processes):
        shown.update(done, f"{processes} processes")
        items = max(1, study.parameters.creates_per_point // processes)
        session.readings += _rate(machine, load, processes, items, session)
        functions = study.parameters.profiled_functions
        session.readings += _profile(machine, load, processes, items, functions, session)
    unmount_and_check(machine, file_system)
    return session


def _load_inodes(machine: Machine, load: Load, study: Study, step: Step, session: Session) -> None:
    """S1's unmeasured first run: it loads inode tables and bitmaps, so the rest finds them cached."""
    processes = max(step.processes)
    items = max(1, study.parameters.creates_per_point // processes)
    text = must(machine, load.command(processes, items, "both"), timeout_s=POINT_TIMEOUT_S)
    session.raw["warm-up"] = text
    session.tool_version = load.parse(text).version


def _rate(machine: Machine, load: Load, processes: int, items: int, session: Session) -> Iterator[Reading]:
    """Rates of create and remove with no profiler on, and the lock events of the whole load.

    Rates of single ranks stay in the raw output.
    """
    events = lock_events.READ
    command = load.command(processes, items, "both")
    before, done, after = _succeed(machine.run_all(
        [["sync"], events, command, events], timeout_s=POINT_TIMEOUT_S
    ))[1:]  # fmt: skip
    session.raw[f"rate-{processes}"] = done.stdout
    for row in load.parse(done.stdout).rows:
        if row.metric == "rate" and not row.statistic.startswith("rank"):
            yield Reading(load.tool, row.test, processes, "rate", row.statistic, "ops/s", row.value, False)
    delta = lock_events.difference(lock_events.parse(before.stdout), lock_events.parse(after.stdout))
    for name in ("lock_slowpath", "lock_pending"):
        yield Reading("lock_events", "create_remove", processes, name, "total", "events", delta[name], False)


def _profile(
    machine: Machine, load: Load, processes: int, items: int, functions: list[str], session: Session
) -> list[Reading]:
    """Function cost of the create phase alone: a profiled iteration, which gives no rate."""
    on = [_write(*w) for w in ftrace_cost.start(functions)]
    off = [_write(*w) for w in ftrace_cost.stop()]
    create = load.command(processes, items, "create")
    cpus = range(int(must(machine, ["nproc"])))
    read = [["cat", f"{ftrace_cost.RESULTS}{cpu}"] for cpu in cpus]
    rest = [_write(*w) for w in ftrace_cost.clear()] + [load.command(processes, items, "remove")]
    done = _succeed(machine.run_all([["sync"], *on, create, *off, *read, *rest], timeout_s=POINT_TIMEOUT_S))
    texts = [d.stdout for d in done if d.argv in {tuple(r) for r in read}]
    for cpu, text in zip(cpus, texts, strict=True):
        session.raw[f"profile-{processes}-cpu{cpu}"] = text
    creates = processes * items
    readings = [Reading("ftrace_cost", "create", processes, "creates", "total", "ops", creates, True)]
    for cost in ftrace_cost.parse(texts):
        name = cost.function
        for metric, unit, value in (("calls", "calls", cost.count), ("time", "us", cost.total_us)):
            readings.append(
                Reading(
                    "ftrace_cost",
                    "create",
                    processes,
                    f"{name}.{metric}",
                    "total",
                    unit,
                    value,
                    True,
                )
            )
    return readings


def _write(path: str, value: str) -> list[str]:
    """A write as a command: path and value are arguments, never shell text."""
    return ["sh", "-c", 'printf %s "$2" > "$1"', "write", path, value]


def _succeed(done: Sequence[Completed]) -> list[Completed]:
    """The same commands, when every one of them succeeded; else the first failure as a sentence."""
    for one in done:
        one.check()
    return list(done)


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
    done = machine.run_all([["head", "-n", "1", path] for path in files.values()])
    found: dict[str, Any] = {
        name: d.stdout.strip() if d.status == 0 else None for name, d in zip(files, done, strict=True)
    }
    found["cpu"] = must(machine, ["lscpu", "--json"])
    for name, argv in (("mkfs.ext4", ["mkfs.ext4", "-V"]), ("e2fsck", ["e2fsck", "-V"])):
        found[f"version_of_{name}"] = machine.run(argv).stderr.splitlines()[0]
    return found
