# SPDX-License-Identifier: MIT
"""Profilers: as the runner uses them around a load, and what a run's profiles say of functions and locks."""

import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from lockscale.errors import BadInput
from lockscale.machines.machine import Machine, Step, Write, must_all
from lockscale.measure.plan import WARM_UP
from lockscale.measure.rows import of_all_processes
from lockscale.measure.run_folder import Run
from lockscale.study.file import ProfilerName
from lockscale.tools import folded, ftrace_cost, perf_lock, perf_record, perf_script
from lockscale.tools.folded import Folded, merge, read
from lockscale.tools.overhead import overhead
from lockscale.tools.seal import sealed, unseal


def with_one_cpu_online(machine: Machine, cpus: int, writes: Sequence[tuple[str, str]]) -> list[Step]:
    """`writes` that patch kernel text, on an emulated machine with every processor but one parked.

    Patching a traced function while another TCG processor runs it ended guests in "int3" panics
    (seen with QEMU 7.2, thread=multi); with one processor running, 300 of 300 toggles went well.
    """
    path = "/sys/devices/system/cpu/cpu{}/online"
    parked = [path.format(cpu) for cpu in range(1, cpus)] if machine.emulated else []
    return [
        *(Write(path, "0") for path in parked),
        *(Write(path, value) for path, value in writes),
        *(Write(path, "1") for path in parked),
    ]


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
class ProfiledLoad:
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
) -> ProfiledLoad:
    """`load` under the profiler, then the steps of clean_up without it; RunFailed when any step fails."""
    around = profiler.around(load)
    steps: list[Step] = [
        ["sync"], *profiler.before, around, *profiler.after, profiler.read, *profiler.clear, *clean_up
    ]  # fmt: skip
    done = must_all(machine, steps, timeout_s=timeout_s)
    text = done[steps.index(profiler.read)].stdout
    return ProfiledLoad(done[steps.index(around)].stdout, profiler.kept(text), profiler.numbers(text))


def _ftrace_cost(machine: Machine, cpus: int, functions: Sequence[str]) -> Profiler:
    return Profiler(
        tool="ftrace_cost",
        before=with_one_cpu_online(machine, cpus, ftrace_cost.start(functions)),
        after=with_one_cpu_online(machine, cpus, ftrace_cost.stop()),
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


def folded_stacks(run: Run, arm: str, cpus: int, threads: int) -> Folded | None:
    """Of all repeats together; None where the run was not sampled at this point."""
    kept = sorted(run.raw.glob(f"*-ab*-{arm}-{cpus}cpu/perf_record-{threads}.txt.gz"))
    parts = [read(gzip.decompress(path.read_bytes()).decode()) for path in kept]
    return merge(parts) if parts else None


def lock_waits_of(rows: pd.DataFrame, arms: Sequence[str], cpus: int, threads: int) -> pd.DataFrame:
    """lock_waits() of several arms below one another, with columns arm and origin."""
    tables = [lock_waits(rows, arm, cpus, threads).assign(arm=arm) for arm in arms]
    origins = rows.drop_duplicates("arm").set_index("arm").origin
    table = pd.concat(tables, ignore_index=True)
    return table.assign(origin=table.arm.map(origins))


def at_point(rows: pd.DataFrame, tool: str, arm: str, cpus: int, threads: int) -> pd.DataFrame:
    """The A/B rows of one tool, arm and point."""
    here = (rows.tool == tool) & (rows.pair == "ab") & (rows.arm == arm)
    return rows[here & (rows.cpus == cpus) & (rows.threads == threads)]


def lock_waits(rows: pd.DataFrame, arm: str, cpus: int, threads: int) -> pd.DataFrame:
    """Waits for locks by caller, the longest first: lock, contentions, wait_ms, mean_us, max_us.

    Empty where the run has no profile of perf lock at this point. A lock that one repeat does not have
    among its longest counts there as not waited for.
    """
    here = at_point(rows, "perf_lock", arm, cpus, threads)
    here = here[here.metric.str.contains(" ")]  # a caller, `<type> <function>.<what>`; the sums have none
    parts = here.metric.str.rsplit(".", n=1, expand=True) if len(here) else pd.DataFrame({0: [], 1: []})
    here = here.assign(lock=parts[0], what=parts[1])
    total, longest = here[here.statistic == "total"], here[here.statistic == "max"]
    wide = total.pivot_table(index="lock", columns="what", values="value", aggfunc="sum")
    wide = wide.reindex(columns=["contentions", "wait"])
    table = pd.DataFrame(
        {
            "contentions": wide.contentions,
            "wait_ms": wide.wait / 1e6,
            "mean_us": wide.wait / wide.contentions / 1e3,
            "max_us": longest.groupby("lock").value.max() / 1e3,
        }
    )
    table = table.rename_axis("lock").reset_index()
    return table.sort_values("wait_ms", ascending=False, ignore_index=True)


UNDER_PROFILER = "rate_under_profiler"
"""The metric of a rate that is no result: its row is marked as profiled and has the profiler as its tool."""
_POINT = ["arm", "cpus", "threads"]
_BOOT = ["pair", "block", "iteration"]


def overheads(rows: pd.DataFrame, test: str = "") -> pd.DataFrame:
    """Per profiler and point, over the boots: rate lost in percent with its interval.

    Columns tool, arm, cpus, threads, statistic (of the rates), origin, overhead_pct, low, high,
    level_pct (what the interval covers), pairs. BadInput where the run has no rate under a profiler.
    """
    if not (rows.metric == UNDER_PROFILER).any():
        raise BadInput("the run has no rate under a profiler: measure it again to see what profilers cost")
    total = of_all_processes(rows[rows.pair != WARM_UP], test, ("rate", UNDER_PROFILER))
    key = [*_POINT, *_BOOT]
    without = total[(total.metric == "rate") & ~total.profiled].set_index(key).value
    under = total[total.metric == UNDER_PROFILER]
    both = under.join(without.rename("without"), on=key, how="inner")
    points = both.groupby(["tool", *_POINT, "statistic"])
    lost = [overhead(point.without.tolist(), point.value.tolist()) for _, point in points]
    table = points.origin.first().reset_index()
    return table.assign(
        overhead_pct=[one.percent for one in lost],
        low=[one.low for one in lost],
        high=[one.high for one in lost],
        level_pct=[100 * one.level for one in lost],
        pairs=[one.pairs for one in lost],
    )
