# SPDX-License-Identifier: MIT
"""The profilers as the runner uses them: what to do before, around and after a load, and what it said."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lockscale.machines.machine import Machine, Step, Write, must_all
from lockscale.measure.parked import alone
from lockscale.study.file import ProfilerName
from lockscale.tools import folded, ftrace_cost, perf_lock, perf_record, perf_script
from lockscale.tools.seal import sealed, unseal

# Not on the file system under test.
DATA = "/run/lockscale-profile.data"
REMOVE = ["rm", "-f", DATA]
MOST_LOCKS = 20
"""Locks that are kept as rows, by time waited; the raw output has all of them."""


class Number(NamedTuple):
    """One number of a profile; `metric` is `<function or lock>.<what>`, or plain for the whole."""

    metric: str
    statistic: str
    unit: str
    value: float


@dataclass(frozen=True)
class Profiler:
    """`around(argv)` runs argv under the profiler; `read` prints what numbers() and kept() take.

    kept: the text to keep as the raw output.
    """

    tool: ProfilerName
    read: Sequence[str]
    numbers: Callable[[str], list[Number]]
    kept: Callable[[str], str] = lambda text: text
    around: Callable[[Sequence[str]], list[str]] = list
    before: Sequence[Step] = ()
    after: Sequence[Step] = ()
    clear: Sequence[Step] = ()


@dataclass(frozen=True)
class Profile:
    """What one load under a profiler gave: the load's own output, the raw text to keep, the numbers."""

    load: str
    raw: str
    numbers: list[Number]


def profilers(
    machine: Machine, names: Sequence[ProfilerName], cpus: int, functions: Sequence[str]
) -> Iterator[Profiler]:
    """The profilers of these names for a machine of `cpus`; functions: patterns for ftrace_cost."""
    for name in names:
        if name == "ftrace_cost":
            yield _ftrace_cost(machine, cpus, functions)
        elif name == "perf_lock":
            yield _perf_lock(machine)
        else:
            yield _perf_record(machine)


def profile(
    machine: Machine,
    profiler: Profiler,
    load: Sequence[str],
    clean_up: Sequence[Sequence[str]],
    timeout_s: float,
) -> Profile:
    """`load` under the profiler, then the steps of clean_up without it; RunFailed when any step fails."""
    around = profiler.around(load)
    steps: list[Step] = [
        ["sync"], *profiler.before, around, *profiler.after, profiler.read, *profiler.clear, *clean_up
    ]  # fmt: skip
    done = must_all(machine, steps, timeout_s=timeout_s)
    text = done[steps.index(profiler.read)].stdout
    return Profile(done[steps.index(around)].stdout, profiler.kept(text), profiler.numbers(text))


def _ftrace_cost(machine: Machine, cpus: int, functions: Sequence[str]) -> Profiler:
    return Profiler(
        tool="ftrace_cost",
        before=alone(machine, cpus, ftrace_cost.start(functions)),
        after=alone(machine, cpus, ftrace_cost.stop()),
        read=sealed(["cat", *(f"{ftrace_cost.RESULTS}{cpu}" for cpu in range(cpus))]),
        clear=[Write(*w) for w in ftrace_cost.clear()],
        numbers=_function_numbers,
        kept=lambda text: unseal(text)[0],
    )


def _function_numbers(text: str) -> list[Number]:
    """Calls and time of each function, in one order, whatever took longest."""
    costs = ftrace_cost.parse(ftrace_cost.split(unseal(text)[0]))
    return [
        number
        for cost in sorted(costs, key=lambda one: one.function)
        for number in (
            Number(f"{cost.function}.calls", "total", "calls", cost.count),
            Number(f"{cost.function}.time", "total", "us", cost.total_us),
        )
    ]


def _perf_lock(machine: Machine) -> Profiler:
    csv = perf_lock.has_csv(_said(machine, perf_lock.CONTENTION_HELP))
    return Profiler(
        tool="perf_lock",
        around=lambda load: perf_lock.record(load, DATA),
        read=perf_lock.contention(DATA, csv=csv),
        clear=[REMOVE],
        numbers=_lock_numbers,
    )


def _lock_numbers(text: str) -> list[Number]:
    """Contentions and waits of the locks waited for longest, and of all together."""
    waits = perf_lock.parse(text).waits
    longest = sorted(waits, key=lambda one: (-(one.total_ns or 0.0), one.name))[:MOST_LOCKS]
    return [
        Number("contentions", "total", "events", sum(one.contentions for one in waits)),
        Number("wait", "total", "ns", sum(one.total_ns or 0.0 for one in waits)),
        *(
            number
            for one in longest
            for number in (
                Number(f"{one.name}.contentions", "total", "events", one.contentions),
                Number(f"{one.name}.wait", "total", "ns", one.total_ns or 0.0),
                Number(f"{one.name}.wait", "max", "ns", one.max_ns or 0.0),
            )
        ),
    ]


def _perf_record(machine: Machine) -> Profiler:
    event = perf_record.event(_said(machine, perf_record.COUNTS_CYCLES))
    return Profiler(
        tool="perf_record",
        around=lambda load: perf_record.record(load, DATA, event),
        read=perf_record.script(DATA),
        clear=[REMOVE],
        numbers=lambda text: [Number("samples", "total", "samples", perf_script.parse(text).samples)],
        kept=lambda text: folded.write(perf_script.parse(text)),
    )


def _said(machine: Machine, argv: Sequence[str]) -> str:
    """What a question to a tool says, on either stream and whatever its status."""
    done = machine.run(argv)
    return f"{done.stdout}{done.stderr}"
