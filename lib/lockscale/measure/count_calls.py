# SPDX-License-Identifier: MIT
"""Calls, events and lock operations an operation, counted on observe kernels; of these no rate is kept.

The counts of a run's arms lie in its folder `observed`, those of the one arm that is counted before anything
is measured, for a prediction of the others, in `base`; both with journal and provenance like the run's.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from lockscale.errors import BadInput
from lockscale.files import now_utc
from lockscale.filesystems import Options, fs_type
from lockscale.machines.disk_guard import NamedDisk
from lockscale.machines.guest_disks import InMemory
from lockscale.machines.machine import Machine, Write, must, must_all
from lockscale.machines.machine import Step as MachineStep
from lockscale.measure.file_system import make, unmount_and_check
from lockscale.measure.load import LOAD_TIMEOUT_S, fsload_load
from lockscale.measure.plan import Step, boots_of, plan, profiled
from lockscale.measure.profiling import with_one_cpu_online
from lockscale.measure.rows import Row, read_rows
from lockscale.measure.run import Work, measure_apart
from lockscale.measure.run_folder import Run, read_provenance
from lockscale.measure.target import Booted
from lockscale.progress import Progress
from lockscale.study.checks import Counter
from lockscale.study.file import GuestPoints, LocalTarget, ManycoreTarget, Study, Target
from lockscale.tools import event_counts, ftrace_cost, lock_stat
from lockscale.tools.seal import UNSEALED

OBSERVE, LOCK_STAT = "observe", "lockstat"
"""The kinds of build that count, the second lock classes too; of their rates nothing is kept."""


@dataclass(frozen=True)
class Sources:
    """What to count, by the tool that counts it: trace points, functions, and lock classes."""

    trace: tuple[str, ...]
    calls: tuple[str, ...]
    locks: tuple[tuple[str, str], ...]

    @property
    def kind(self) -> str:
        """The kind of build that counts them: lock_stat makes every lock of the kernel larger and slower."""
        return LOCK_STAT if self.locks else OBSERVE

    @staticmethod
    def of(said: Sequence[str]) -> "Sources":
        """From sources as the study says them."""
        parts = [source.split(":", 1) for source in dict.fromkeys(said)]
        return Sources(
            trace=tuple(name for kind, name in parts if kind == "trace"),
            calls=tuple(name for kind, name in parts if kind == "calls"),
            locks=tuple((kind, name) for kind, name in parts if kind in ("acquisitions", "contentions")),
        )


def observed_counters(study: Study) -> dict[str, Counter]:
    """The study's counters by name, in its order."""
    return {one.name: one for one in study.counters}


def sources_of(study: Study) -> Sources:
    """Everything that a study's counters count."""
    said = [source for counter in study.counters for source in counter.sources]
    # A class without contentions may be a misspelt one, unless somebody took it.
    taken = [source.replace("contentions:", "acquisitions:", 1) for source in said]
    return Sources.of([*said, *taken])


def count_points(
    machine: Machine,
    disk: NamedDisk | InMemory,
    options: Options,
    loads: Mapping[int, Sequence[str]],
    sources: Sources,
    cpus: int,
) -> dict[int, dict[str, int]]:
    """Processes -> what count() gives of their load, all on one new file system, then checked."""
    made = make(machine, options, disk)
    must(machine, loads[max(loads)], timeout_s=LOAD_TIMEOUT_S)  # loads bitmaps and inode tables
    system = fs_type(options.filesystem).name
    counted = {processes: count(machine, load, sources, cpus, system) for processes, load in loads.items()}
    unmount_and_check(machine, made)
    return counted


@dataclass(frozen=True)
class _Counting:
    """How one tool counts around a load. start, stop: writes that patch kernel text.

    zero: writes right before the load. read: prints what counts() takes, after the load, or once stopped.
    """

    read: Sequence[str]
    counts: Callable[[str], dict[str, int]]
    start: Sequence[tuple[str, str]] = ()
    stop: Sequence[tuple[str, str]] = ()
    zero: Sequence[tuple[str, str]] = ()
    is_read_stopped: bool = False


def _countings(machine: Machine, sources: Sources, cpus: int, system: str) -> Iterator[_Counting]:
    """One for each kind of source that there is."""
    if events := [f"{system}:{name}" for name in sources.trace]:
        event_counts.check(must(machine, event_counts.AVAILABLE), events)
        around = event_counts.start(events), event_counts.stop(events)
        yield _Counting(event_counts.read(events), lambda text: _traced(text, events), *around)
    if calls := sources.calls:
        profile = ["cat", *(f"{ftrace_cost.RESULTS}{cpu}" for cpu in range(cpus))]
        around = ftrace_cost.start(calls), ftrace_cost.STOP
        yield _Counting(profile, lambda text: _called(text, calls), *around, is_read_stopped=True)
    if locks := sources.locks:
        yield _Counting(lock_stat.READ, lambda text: _locked(text, locks), zero=lock_stat.START)


def count(machine: Machine, load: Sequence[str], sources: Sources, cpus: int, system: str) -> dict[str, int]:
    """Source -> its count while `load` ran, and no longer. system: the folder of its trace events."""
    tools = list(_countings(machine, sources, cpus, system))
    back = tools[::-1]  # what began last is read and stopped first: no reading is counted
    steps: list[MachineStep] = [
        ["sync"],
        *with_one_cpu_online(machine, cpus, [write for one in tools for write in one.start]),
        *(Write(*write) for one in tools for write in one.zero),
        load,
        *(one.read for one in back if not one.is_read_stopped),
        *with_one_cpu_online(machine, cpus, [write for one in back for write in one.stop]),
        *(one.read for one in back if one.is_read_stopped),
        *(Write(*write) for write in ftrace_cost.CLEAR),
    ]
    done = must_all(machine, steps, timeout_s=LOAD_TIMEOUT_S)
    counts = [one.counts(done[steps.index(one.read)].stdout) for one in tools]
    return {source: value for found in counts for source, value in found.items()}


def _traced(text: str, events: Sequence[str]) -> dict[str, int]:
    counts = event_counts.parse(text, events)
    return {f"trace:{event.partition(':')[2]}": hits for event, hits in counts.items()}


def _called(text: str, functions: Sequence[str]) -> dict[str, int]:
    """A function that was never called is not in the profile: the filter took its name, so it is 0."""
    found = {cost.function: cost.count for cost in ftrace_cost.parse(ftrace_cost.split(text))}
    return {f"calls:{name}": found.get(name, 0) for name in functions}


def _locked(text: str, locks: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Sums over both modes; a class that nobody took is not in the file."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    read = lock_stat.parse(text)
    if lost := [said for said in read.warnings if said != UNSEALED]:
        raise BadInput(f"the guest's counts of locks are not whole: {lost[0]}")
    for use in read.uses:
        counts["contentions", use.name] += use.waits.count
        counts["acquisitions", use.name] += use.holds.count
    return {f"{kind}:{name}": counts[kind, name] for kind, name in locks}


def observed(run: Run) -> Run:
    """Where the counts of a run lie, laid out like the run itself."""
    return Run(run.folder / "observed")


def observe(run: Run, study: Study, target: Target) -> Path | None:
    """Count at every profiled point of the study's plan that is left; the path of the counts.

    None where the study's proof is in its profiles, it has no point to count at, or the target boots no
    kernel of ours.
    """
    blocks = (step for step in plan(study) if step.pair == "ab")  # the A/A pair is for rates
    counted = [replace(step, processes=profiled(study, step)) for step in blocks]
    steps = [step for step in counted if step.processes]
    if study.counter not in observed_counters(study) or isinstance(target, LocalTarget) or not steps:
        return None
    return count_steps(observed(run), run, study, target, steps, sources_of(study))


def count_steps(
    into: Run, run: Run, study: Study, target: Target, steps: Sequence[Step], sources: Sources
) -> Path:
    """Count `sources` in each step that is left; the path of the counts. Only the steps' arms are built.

    into: a folder of `run`, laid out like a run.
    """
    return measure_apart(
        into, run, study, target, steps, f"count {study.name}",
        lambda work, *given: _counted(work, sources, *given), lambda work, step, done: done.given,
        kind=sources.kind,
    )  # fmt: skip


def _counted(work: Work, sources: Sources, step: Step, booted: Booted, shown: Progress) -> list[Row]:
    """One boot of one arm's observe kernel: every source of every counter at every point."""
    study, started = work.study, now_utc()
    load = fsload_load(study.workload, booted.folder, booted.fsload, containers=step.containers)
    items = {n: study.parameters.counted_each(n) for n in step.processes}
    loads = {n: load.command(n, each, "both") for n, each in items.items()}
    assert booted.disk is not None, "a target that boots kernels needs a disk to format"
    options = study.options_of(step.arm)
    counted = count_points(booted.machine, booted.disk, options, loads, sources, step.cpus)
    common = work.fields_of(step, booted, started) | {"tool": OBSERVE, "tool_version": booted.release}
    common |= {"test": load.operation, "statistic": "total", "profiled": True}
    return [
        Row(**common, threads=n, metric=metric, unit=unit, value=float(value))
        for n, counts in counted.items()
        for metric, unit, value in (
            (f"{load.operation}s", "ops", n * items[n]),
            *((source, "events", value) for source, value in counts.items()),
        )
    ]


FEWEST = 2
"""Processes: a single one is uncontended."""

BLOCKS = 4
"""At least: fewer say hardly anything of how far counts vary."""

LOCAL = "a local target boots no kernels, so no arm is counted there"
IN_VIRTUAL_TIME = "a target in virtual time gives rates: to predict counts, use target qemu"
BY_HAND = "only a run counts the first arm, before it measures: use `lockscale study run`"
LATE = "arms were measured before one was counted, so a prediction would come too late"
ALONE = "no point of the study has two CPUs, so there is no contention"
NONE_NAMED = "this study has no rule that predicts the other arms' counts from one arm"


@dataclass(frozen=True)
class ArmToCount:
    """The arm to count, and what of it: sources as in the counters of a study."""

    arm: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class FirstCounts:
    """Rows of that arm's counts, or a sentence that says why there are none.

    host_cpus: processors under a guest's virtual ones; None: the target is no guest.
    """

    rows: pd.DataFrame | None
    host_cpus: int | None = None
    why_none: str = ""


def first_counts_of(run: Run) -> Run:
    """Where the counts of the arm counted first lie, laid out like the run itself."""
    return Run(run.folder / "base")


def count_first_arm(run: Run, study: Study, target: Target, first: ArmToCount | None) -> FirstCounts:
    """Boot and count what is left of the first arm in the run's own target, and no other arm."""
    if first is None:
        return FirstCounts(None, why_none=NONE_NAMED)
    if isinstance(target, LocalTarget):
        return FirstCounts(None, why_none=LOCAL)
    if isinstance(target, ManycoreTarget):
        return FirstCounts(None, why_none=IN_VIRTUAL_TIME)
    if run.journal.is_file():
        return read_first_counts(run, LATE)
    blocks = max(BLOCKS, study.parameters.iterations)
    if steps := boots_of(study, first.arm, blocks, _contended):
        count_steps(first_counts_of(run), run, study, target, steps, Sources.of(first.sources))
    return read_first_counts(run, ALONE)


def read_first_counts(run: Run, why_none: str = BY_HAND) -> FirstCounts:
    """What the run counted of the arm counted first; where nothing, `why_none`."""
    into = first_counts_of(run)
    if not into.rows.is_file():
        return FirstCounts(None, why_none=why_none)
    said = read_provenance(into.folder)
    guest = said["origin"] == "qemu"
    return FirstCounts(read_rows(into.rows), int(said["host"]["cpus"]) if guest else None)


def _contended(guest: GuestPoints) -> list[int]:
    """Its numbers of processes up to as many as processors, none where there is one processor.

    With more of them the scheduler has a say, which no model has. Two processes are always counted: the
    most for which a small host still has a processor each.
    """
    wanted = {FEWEST, *guest.processes} if guest.cpus >= FEWEST else set()
    return sorted(n for n in wanted if FEWEST <= n <= guest.cpus)
