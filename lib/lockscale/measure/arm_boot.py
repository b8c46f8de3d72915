# SPDX-License-Identifier: MIT
"""One boot of one arm: make the file system, measure each point, check it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from lockscale.errors import RunFailed
from lockscale.filesystems import fs_type
from lockscale.machines.machine import Machine, Write, must, must_all
from lockscale.measure.file_system import FileSystem, make, unmount_and_check
from lockscale.measure.load import (
    LOAD_TIMEOUT_S,
    Load,
    Point,
    Reading,
    choose_load,
    fsload_load,
    mean_of_loads,
)
from lockscale.measure.plan import Step, items_each, loads_of, profiled
from lockscale.measure.profiling import UNDER_PROFILER, profile, profilers
from lockscale.measure.rows import STATISTICS
from lockscale.measure.target import Booted
from lockscale.measure.where_time_went import HALF, at_setting, price_ends, read_system_map, where_time_went
from lockscale.progress import Progress
from lockscale.study.file import Study
from lockscale.study.target_file import HALF_QUANTUM
from lockscale.tools import ftrace_cost, lock_events

DROP_CACHES: list[list[str] | Write] = [["sync"], Write("/proc/sys/vm/drop_caches", "3")]


@dataclass
class MeasuredBoot:
    """What one boot gave: readings, the raw text of every tool, the file system as it was found.

    versions: of each load generator, by its name, which `tool` is the study's own one of.
    """

    build_id: str
    tool: str
    tool_version: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    file_system: FileSystem | None = None
    readings: list[Reading] = field(default_factory=list)
    raw: dict[str, str] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)


def measure(booted: Booted, study: Study, step: Step, shown: Progress) -> MeasuredBoot:
    """Every point of `step` on a booted machine, on a file system made for it.

    Without a disk that may be formatted there are rates only.
    """
    machine, asked = booted.machine, study.parameters
    session = MeasuredBoot(booted.build_id, "")
    with _files(booted, study, step, session):
        load, *beside = _loads(booted, study, step)
        session.tool = load.tool
        _age(booted, load, study, step, session)
        for done, processes in enumerate(step.processes):
            shown.update(done, f"{processes} processes")
            items = items_each(study, step, processes)
            points = [Point(load, processes, items)]
            points += [Point(one, processes, items, one.operation) for one in beside]
            # generators, carried out in turn: neither always finds the younger file system
            loads = loads_of(study, step, processes)
            parts = [_rate(booted, point, session, loads) for point in points]
            if booted.virtual_time:
                if step.pair == "aa" and processes == max(step.processes):
                    parts.append(at_setting(booted, points[0], HALF_QUANTUM, HALF))
                if (step.pair, step.iteration) == ("ab", 1) and processes in asked.price_ends:
                    parts.append(price_ends(booted, points[0]))
            if booted.disk and processes in profiled(study, step):
                # counts need fewer operations than rates, and each costs more
                fewest = min(items, asked.counted_each(processes))
                parts.append(_profiles(machine, replace(points[0], items=fewest), step.cpus, study, session))
            for part in parts if step.iteration % 2 else reversed(parts):
                session.readings += part
    return session


def _loads(booted: Booted, study: Study, step: Step) -> list[Load]:
    """The study's workload, then those beside it."""
    where, asked, virtual = (booted.folder, booted.fsload), study.parameters, booted.virtual_time
    how: dict[str, Any] = {
        "latency": asked.latency,
        "pin": virtual is not None,
        "containers": step.containers,
    }
    marks = virtual.mpi_marks if virtual else ""
    load = choose_load(booted.machine, asked.tool, *where, workload=study.workload, mpi_marks=marks, **how)
    return [load, *(fsload_load(one, *where, **how) for one in study.workloads_beside)]


@contextmanager
def _files(booted: Booted, study: Study, step: Step, session: MeasuredBoot) -> Iterator[None]:
    """The file system under test, made, found cold, and clean at the end; or the folder as it is."""
    machine = booted.machine
    if booted.disk is None:
        session.found = {**as_found(machine, None), **booted.found, "caches_dropped": False}
        yield
        return
    options = study.options_of(step.arm)
    session.file_system = make(machine, options, booted.disk)
    must_all(machine, DROP_CACHES)
    session.found = as_found(machine, session.file_system.device, options.filesystem)
    session.found |= {**booted.found, "caches_dropped": True, "knobs": options.knobs}
    yield
    unmount_and_check(machine, session.file_system)


def _age(booted: Booted, load: Load, study: Study, step: Step, session: MeasuredBoot) -> None:
    """Unmeasured loads, as the study declares. S1's first run loads inode tables and bitmaps, so that
    the rest finds them cached."""
    processes = max(step.processes)
    items = items_each(study, step, processes)
    unpriced = [booted.virtual_time.section, "--unpriced"] if booted.virtual_time else []
    command = [*unpriced, *load.command(processes, items, "both")]
    for _ in range(study.parameters.ageing_loads):
        text = must(booted.machine, command, timeout_s=LOAD_TIMEOUT_S)
    session.raw["warm-up"] = text
    session.tool_version = load.parse(text).version


def _rate(booted: Booted, point: Point, session: MeasuredBoot, loads: int) -> Iterator[Reading]:
    """What `loads` of the point, one after another, gave together."""
    raw = [f"{point.raw}-{point.processes}{f'-{k}' if k > 1 else ''}" for k in range(1, loads + 1)]
    yield from mean_of_loads([list(_one_load(booted, point, session, name)) for name in raw])


def _one_load(booted: Booted, point: Point, session: MeasuredBoot, raw: str) -> Iterator[Reading]:
    """Rates of each phase with no profiler on, and latencies where the load times operations.

    Rates of single ranks and containers stay in the raw output, which is kept as `raw`. With a disk also
    the lock events of the whole load.
    """
    reads = [lock_events.READ] if booted.disk else []
    known = len(booted.virtual_time.sections()) if booted.virtual_time else 0
    steps = [["sync", "--file-system", booted.folder], *reads, point.command("both"), *reads]
    done = must_all(booted.machine, steps, timeout_s=LOAD_TIMEOUT_S)
    said = done[1 + len(reads)].stdout
    session.raw[raw] = said
    parsed = point.load.parse(said)
    session.versions[point.load.tool] = parsed.version
    if not any((row.test, row.metric) == (point.load.operation, "rate") for row in parsed.rows):
        raise RunFailed(
            f"{point.load.tool} printed no rate of {point.load.operation} at {point.processes} processes "
            f"({'; '.join(parsed.warnings) or 'and no warning'}): `lockscale study resume` measures it again"
        )
    for row in parsed.rows:
        if row.metric in ("rate", "latency") and not row.statistic.startswith(("rank", "container", "per_")):
            number = (row.metric, row.statistic, row.unit, row.value)
            yield point.reading(point.load.tool, row.test, *number, False)
    if booted.virtual_time:
        symbols = read_system_map(booted.virtual_time.symbols)
        yield from where_time_went(booted.virtual_time.sections(known), point, symbols)
    if reads:
        before, after = (lock_events.parse(done[k].stdout) for k in (1, -1))
        delta = lock_events.difference(before, after)
        for name in ("lock_slowpath", "lock_pending"):
            whole = point.load.together
            yield point.reading(lock_events.TOOL, whole, name, "total", "events", delta[name], False)


def _profiles(
    machine: Machine, point: Point, cpus: int, study: Study, session: MeasuredBoot
) -> Iterator[Reading]:
    """The first phase alone under each profiler; its rate says what the profiler costs, no more."""
    asked, test = study.parameters, point.load.operation
    operations = point.processes * point.items
    yield point.reading(ftrace_cost.TOOL, test, f"{test}s", "total", "ops", operations, True)
    load, *clear = (point.command(phase) for phase in point.load.phases)
    for tool, on_load in profilers(machine, asked.profilers, cpus, asked.profiled_functions):
        found = profile(machine, cpus, on_load, load, clear, LOAD_TIMEOUT_S)
        name = "profile" if tool == ftrace_cost.TOOL else tool
        session.raw[f"{name}-{point.processes}"] = found.raw
        for number in found.numbers:
            yield point.reading(tool, test, *number, True)
        for row in point.load.parse(found.load).rows:
            if (row.test, row.metric) == (test, "rate") and row.statistic in STATISTICS:
                yield point.reading(tool, test, UNDER_PROFILER, row.statistic, "ops/s", row.value, True)


def as_found(machine: Machine, device: str | None, filesystem: str = "") -> dict[str, Any]:
    """What the machine itself says of what decides a result; null where it does not say."""
    name = (device or "/dev/none").removeprefix("/dev/")
    queue, model = f"/sys/block/{name}/queue", f"/sys/block/{name}/device"
    files = {
        "clock_source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "io_scheduler": f"{queue}/scheduler",
        "write_cache": f"{queue}/write_cache",
        "rotational": f"{queue}/rotational",
        "device_model": f"{model}/model",
        "device_firmware": f"{model}/firmware_rev",
        "kernel_command_line": "/proc/cmdline",
        "memory": "/proc/meminfo",
        "smt": "/sys/devices/system/cpu/smt/active",
        "cpus_online": "/sys/devices/system/cpu/online",
        "firmware": "/sys/class/dmi/id/bios_version",
    }
    tools = fs_type(filesystem).versions if filesystem else ()
    done = machine.run_all(
        [*(["head", "-n", "1", path] for path in files.values()), ["lscpu", "--json"], *tools]
    )
    lines, cpu, versions = done[: len(files)], done[len(files)], done[len(files) + 1 :]
    found: dict[str, Any] = {
        name: line.stdout.strip() if line.status == 0 else None
        for name, line in zip(files, lines, strict=True)
    }
    found["cpu"] = json.loads(cpu.stdout) if cpu.status == 0 else None
    for (name, *_), said in zip(tools, versions, strict=True):
        found[f"version_of_{name}"] = next(iter((said.stdout or said.stderr).splitlines()), None)
    return found
