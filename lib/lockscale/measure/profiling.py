# SPDX-License-Identifier: MIT
"""Profilers: as the runner uses them around a load, and what a run's profiles say of functions and locks."""

import gzip
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lockscale.errors import BadInput
from lockscale.machines.machine import Machine, Step, Write, must_all
from lockscale.measure.plan import WARM_UP
from lockscale.measure.rows import of_all_processes
from lockscale.measure.run_folder import Run
from lockscale.measure.significance import Array, innermost
from lockscale.study.file import ProfilerName
from lockscale.tools import perf_lock
from lockscale.tools.parsed_rows import Number
from lockscale.tools.perf_record import Folded, merge, read_folded
from lockscale.tools.registry import PROFILERS
from lockscale.tools.target_tools import LoadProfiler


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


@dataclass(frozen=True)
class ProfiledLoad:
    """What one load under a profiler gave: the load's own output, the raw text to keep, the numbers."""

    load: str
    raw: str
    numbers: list[Number]


def profilers(
    machine: Machine, names: Sequence[ProfilerName], cpus: int, functions: Sequence[str]
) -> Iterator[tuple[ProfilerName, LoadProfiler]]:
    """The profilers of these names for a machine of `cpus`; functions: patterns for ftrace_cost."""
    for name in names:
        tool = PROFILERS[name]
        assert tool.on_load is not None
        asked = machine.run(tool.asks) if tool.asks else None  # whatever its status
        answer = f"{asked.stdout}{asked.stderr}" if asked else ""
        yield name, tool.on_load(answer, cpus, functions)


def profile(
    machine: Machine,
    cpus: int,
    on_load: LoadProfiler,
    load: Sequence[str],
    clean_up: Sequence[Sequence[str]],
    timeout_s: float,
) -> ProfiledLoad:
    """`load` under the profiler, then the steps of clean_up without it; RunFailed when any step fails."""
    around = on_load.around(load)
    steps: list[Step] = [
        ["sync"],
        *(with_one_cpu_online(machine, cpus, on_load.start) if on_load.start else ()),
        around,
        *(with_one_cpu_online(machine, cpus, on_load.stop) if on_load.stop else ()),
        on_load.read,
        *(Write(*write) for write in on_load.clear),
        *([["rm", "-f", on_load.data]] if on_load.data else []),
        *clean_up,
    ]
    done = must_all(machine, steps, timeout_s=timeout_s)
    text = done[steps.index(on_load.read)].stdout
    return ProfiledLoad(done[steps.index(around)].stdout, on_load.raw(text), on_load.numbers(text))


def folded_stacks(run: Run, arm: str, cpus: int, threads: int) -> Folded | None:
    """Of all repeats together; None where the run was not sampled at this point."""
    step = re.compile(rf"\d+-ab\d+-{re.escape(arm)}-{cpus}cpu")  # no arm whose name only ends so
    found = sorted(run.raw.glob(f"*/perf_record-{threads}.txt.gz"))
    kept = [path for path in found if step.fullmatch(path.parent.name)]
    parts = [read_folded(gzip.decompress(path.read_bytes()).decode()) for path in kept]
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
    here = at_point(rows, perf_lock.TOOL, arm, cpus, threads)
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


def overheads(rows: pd.DataFrame) -> pd.DataFrame:
    """Per profiler and point, over the boots: rate lost in percent with its interval.

    Columns tool, arm, cpus, threads, statistic (of the rates), origin, overhead_pct, low, high,
    level_pct (what the interval covers), pairs. BadInput where the run has no rate under a profiler.
    """
    if not (rows.metric == UNDER_PROFILER).any():
        raise BadInput("the run has no rate with a profiler on: measure it again to see what profilers cost")
    total = of_all_processes(rows[rows.pair != WARM_UP], metrics=("rate", UNDER_PROFILER))
    key = [*_POINT, "pair", "block", "iteration"]
    without = total[(total.metric == "rate") & ~total.profiled].set_index(key).value
    under = total[total.metric == UNDER_PROFILER]
    both = under.join(without.rename("without"), on=key, how="inner")
    points = both.groupby(["tool", *_POINT, "statistic"])
    lost = pd.DataFrame([overhead(point.without.tolist(), point.value.tolist()) for _, point in points])
    return points.origin.first().reset_index().join(lost)


def overhead(without: Sequence[float], with_it: Sequence[float]) -> dict[str, float]:
    """The overhead over pairs of rates in one unit: without[k] and with_it[k] were taken side by side.

    overhead_pct, low, high: rate lost with the profiler on, in percent of the rate without it; negative: it
    was faster. level_pct: what the interval from low to high covers. pairs: how many.

    The pairs' logarithmic ratios are taken as symmetric around one value, no more: the interval inverts
    the exact signed rank test, its ends are the c-th Walsh averages from either end with the largest c
    that covers 95%, and the estimate is the median of them (Hollander and Wolfe, Nonparametric
    Statistical Methods, 3.2 and 3.3). With fewer than six pairs it takes the extremes, and `level_pct`
    says what they cover: 75 with three pairs. BadInput for fewer than two pairs and for no rate.
    """
    before, after = np.asarray(without, float), np.asarray(with_it, float)
    if before.shape != after.shape or before.size < 2:
        raise BadInput("a profiler's overhead needs two pairs of rates: raise the number of iterations")
    if not (np.isfinite([before, after]).all() and (before > 0).all() and (after > 0).all()):
        raise BadInput("a profiler's overhead needs rates that are above zero")
    ratios = np.log(after / before)
    first, second = np.triu_indices(ratios.size)
    walsh = np.sort((ratios[first] + ratios[second]) / 2)
    least, most, level = innermost(walsh, _below(ratios.size))
    names, ends = ("overhead_pct", "low", "high"), (np.median(walsh), most, least)
    found = {name: -100 * math.expm1(ratio) for name, ratio in zip(names, ends, strict=True)}
    return {**found, "level_pct": 100 * level, "pairs": int(ratios.size)}


def _below(n: int) -> Array:
    """P(T < c) for c = 1 .. n (n + 1) / 2 of the signed rank statistic T under no difference.

    Of the 2^n sets of ranks, counts[t] sum to t: each rank is in or out.
    """
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1
    for rank in range(1, n + 1):
        counts[rank:] += counts[:-rank].copy()
    shares: Array = np.cumsum(counts[:-1]) / 2.0**n
    return shares
