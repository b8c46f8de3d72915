# SPDX-License-Identifier: MIT
"""Count events, calls and lock operations of loads on a booted observe kernel."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockscale.filesystems import Options, fs_type
from lockscale.machines.disk import NamedDisk
from lockscale.machines.machine import Machine, Step, Write, must, must_all
from lockscale.machines.memory_disk import InMemory
from lockscale.measure.file_system import make, unmount_and_check
from lockscale.measure.load import LOAD_TIMEOUT_S
from lockscale.measure.parked import alone
from lockscale.study.checks import Counter
from lockscale.study.file import Study
from lockscale.tools import event_counts, ftrace_cost, lock_stat

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
    system = fs_type(options.filesystem).trace_system
    counted = {processes: count(machine, load, sources, cpus, system) for processes, load in loads.items()}
    unmount_and_check(machine, made)
    return counted


def count(machine: Machine, load: Sequence[str], sources: Sources, cpus: int, system: str) -> dict[str, int]:
    """Source -> its count while `load` ran, and no longer. system: the folder of its trace events."""
    events = [f"{system}:{name}" for name in sources.trace]
    event_counts.check(must(machine, event_counts.AVAILABLE), events)
    on = [*event_counts.start(events), *(ftrace_cost.start(sources.calls) if sources.calls else [])]
    off = [*(ftrace_cost.stop() if sources.calls else []), *event_counts.stop(events)]
    profile = ["cat", *(f"{ftrace_cost.RESULTS}{cpu}" for cpu in range(cpus))]
    histograms = event_counts.read(events)
    steps: list[Step] = [
        ["sync"],
        *alone(machine, cpus, on),
        *(Write(*w) for w in (lock_stat.start() if sources.locks else ())),
        load,
        *([lock_stat.READ] if sources.locks else []),
        histograms,
        *alone(machine, cpus, off),
        profile,
        *(Write(*w) for w in ftrace_cost.clear()),
    ]
    done = must_all(machine, steps, timeout_s=LOAD_TIMEOUT_S)
    return {
        **_traced(done[steps.index(histograms)].stdout, events),
        **(_called(done[steps.index(profile)].stdout, sources.calls) if sources.calls else {}),
        **(_locked(done[steps.index(lock_stat.READ)].stdout, sources.locks) if sources.locks else {}),
    }


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
    for use in lock_stat.parse(text).uses:
        counts["contentions", use.name] += use.waits.count
        counts["acquisitions", use.name] += use.holds.count
    return {f"{kind}:{name}": counts[kind, name] for kind, name in locks}
