# SPDX-License-Identifier: MIT
"""What a user's profile and rates say of a model: numbers that a simulation of the unpatched side must meet.

Rates are in the CSV file. Of function costs only calls for one operation count, because a tracer
stretches times more than it changes who loses to whom; of lock statistics the hold and wait of a lock
that the model names, and how often it was waited for. Operations are counted by the function in which
the most time is spent: it encloses the others.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from lockscale.errors import BadInput
from lockscale.fitting.column import Column
from lockscale.queueing.points import Points
from lockscale.sim import Result
from lockscale.tables.function_costs import Cost
from lockscale.tools.parsed_rows import NS, ParsedRow

COUNT_SD, TIME_SD = 0.03, 0.10  # assumed: by how much a profiler changes counts, and times
RATE_SD = 0.03  # assumed where the rates have no repeats
NOTHING = 200.0  # deviations: farther than any miss of use
UNKNOWN_CALLS = 0.1  # of calls without contention, given as one number

Results = Mapping[int, Result]
LOCK_FUNCTIONS = re.compile(r"spin_lock|mutex_lock|\bdown_(read|write)|lock_buffer|_lock_slowpath")
_SLOW_PATHS = (
    (re.compile(r"queued_spin_lock|spin_lock_slowpath"), re.compile(r"_raw_spin_lock")),
    (re.compile(r"__mutex_lock|mutex_lock_slowpath"), re.compile(r"\bmutex_lock(?!_slowpath)")),
)
"""What is called by which."""


def slow_paths(functions: Sequence[str]) -> set[str]:
    """Those of the functions whose time is part of another one's that is there too."""
    found: set[str] = set()
    for slow, entry in _SLOW_PATHS:
        inside = {name for name in functions if slow.search(name)}
        found |= inside if any(entry.search(name) for name in functions if name not in inside) else set()
    return found


class Observation(NamedTuple):
    """One number on a log scale, its standard deviation, and what a simulation says of it."""

    name: str
    value: float
    sd: float
    simulated: Callable[[Results], float]

    def miss(self, results: Results) -> float:
        """Observed less simulated in deviations; large where nothing was simulated."""
        found = self.simulated(results)
        return float(np.log(self.value / found) / self.sd) if found > 0 else NOTHING


@dataclass(frozen=True)
class LockUse:
    """One lock of a profile: counts, and times in ns; None where the profiler does not say."""

    acquisitions: float | None
    contentions: float | None
    wait_ns: float | None
    hold_ns: float | None


class Profile(NamedTuple):
    """Functions and locks by name; a profile has one or the other."""

    costs: dict[str, Cost]
    locks: dict[str, LockUse]

    @property
    def root(self) -> str:
        return max(self.costs, key=lambda name: self.costs[name].total_us)


def profile_of(rows: Sequence[ParsedRow]) -> Profile:
    """Function costs or lock statistics. Raises BadInput where the rows hold neither."""
    by_name: dict[str, dict[tuple[str, str], float]] = {}
    for row in rows:
        if row.value is not None:
            scale = NS.get(row.unit, 1.0)
            by_name.setdefault(row.test, {})[row.metric, row.statistic] = row.value * scale
    costs = {name: _cost(of) for name, of in by_name.items() if ("calls", "total") in of}
    locks = {name: _lock(of) for name, of in by_name.items() if ("wait", "mean") in of}
    if not costs and not locks:
        raise BadInput(
            "the profile has neither function costs nor lock statistics: give output of ftrace, funccost, "
            "perf lock contention or lock_stat"
        )
    found = Profile(costs, locks)
    if costs and (LOCK_FUNCTIONS.search(found.root) or not costs[found.root].total_us):
        raise BadInput(
            f"the profile spends the most time in {found.root}, which is not an operation: also profile "
            f"the function that encloses a whole operation, such as vfs_create for a create"
        )
    return found


def _cost(of: Mapping[tuple[str, str], float]) -> Cost:
    calls, total_us = int(of["calls", "total"]), of.get(("time", "total"), 0.0) / 1e3
    return Cost(int(total_us), calls, total_us / calls if calls else 0.0)


def _lock(of: Mapping[tuple[str, str], float]) -> LockUse:
    keys = (("acquisitions", "total"), ("contentions", "total"), ("wait", "mean"), ("hold", "mean"))
    return LockUse(*(of.get(key) or None for key in keys))


def of_rates(column: Column, simulated_sd: Callable[[int], float]) -> list[Observation]:
    """One for each number of threads, the mean of its repeats, each as often as its `runs` say.

    simulated_sd: of a simulated rate there.
    """
    table, found = column.points(), []
    run_sd = _run_sd(table)
    for n, rate, runs in zip(table.threads, table.rate_per_s, table.weight, strict=True):
        threads = int(n)
        sd = float(np.hypot(run_sd / np.sqrt(runs), simulated_sd(threads)))
        found.append(
            Observation(f"rate of {threads} threads", float(rate), sd, partial(_rate, threads=threads))
        )
    return found


def _rate(results: Results, threads: int) -> float:
    return results[threads].rate_per_s


def _calls(results: Results, threads: int, function: str) -> float:
    return results[threads].calls_per_op.get(function, 0.0)


def _run_sd(table: Points) -> float:
    """Pooled over thread counts with repeats; larger where few degrees of freedom know it ill (Student)."""
    freedom = table.repeat_dof
    if freedom < 2:
        return RATE_SD
    return float(np.sqrt(table.repeat_ss / freedom) * stdtrit(freedom, 0.975) / ndtri(0.975))


def of_functions(
    profile: Profile, steps: Sequence[str], calls_alone: Mapping[str, float], threads: int
) -> list[Observation]:
    """Calls for one operation of the model's steps that the profile counts, beyond those when alone.

    steps: of the model, named as functions. calls_alone: calls for one operation of one thread, first
    attempt included; a function without is not used.
    """
    found = []
    for name in steps:
        if name in profile.costs and name in calls_alone:
            calls = profile.costs[name].calls / profile.costs[profile.root].calls
            more = calls - calls_alone[name] + 1
            if more <= 0:
                raise BadInput(
                    f"{name} is called {calls:.3g} times per operation, fewer than one thread alone calls it "
                    f"({calls_alone[name]:g}): give fewer calls"
                )
            found.append(
                Observation(
                    f"calls of {name}",
                    more,
                    float(np.hypot(COUNT_SD, UNKNOWN_CALLS / more)),
                    partial(_calls, threads=threads, function=name),
                )
            )
    return found


def of_locks(profile: Profile, locks: Sequence[str], threads: int) -> list[Observation]:
    """Hold, wait of a contended acquisition, and share contended, of the locks that the model names.

    A name of the model's may be part of the profile's; of several locks the first.
    """
    found = []
    for name in locks:
        use = next((use for said, use in profile.locks.items() if name.lower() in said.lower()), None)
        if use is None:
            continue
        if use.hold_ns:
            found.append(_of_lock(name, "hold", use.hold_ns, TIME_SD, threads, _hold_ns))
        if use.wait_ns:
            found.append(_of_lock(name, "wait", use.wait_ns, TIME_SD, threads, _wait_ns))
        if use.contentions and use.acquisitions:
            share = min(use.contentions / use.acquisitions, 1.0)
            found.append(_of_lock(name, "contended share", share, COUNT_SD, threads, _contended))
    return found


def _of_lock(
    name: str, what: str, value: float, sd: float, threads: int, of: Callable[[Result, str], float]
) -> Observation:
    return Observation(f"{what} of {name}", value, sd, lambda results: of(results[threads], name))


def _hold_ns(result: Result, lock: str) -> float:
    return result.locks[lock].hold_ns_mean or 0.0


def _wait_ns(result: Result, lock: str) -> float:
    one = result.locks[lock]
    return (one.wait_ns_mean or 0.0) * one.acquisitions / one.handovers if one.handovers else 0.0


def _contended(result: Result, lock: str) -> float:
    one = result.locks[lock]
    return one.handovers / one.acquisitions if one.acquisitions else 0.0


OUTSIDE = 1.5  # assumed at most: an operation's time over its root's
SLOWED = 3.0  # assumed at most: by how much a profiler stretches an operation


def not_together(seen: Profile, threads: int, rate_per_s: float) -> str:
    """Why the profile is not of these threads at this rate; empty where it may be, or has no times."""
    if not seen.costs:
        return ""
    avg_us = seen.costs[seen.root].avg_us
    held = rate_per_s * avg_us / 1e6
    if threads / OUTSIDE <= held <= threads * SLOWED:
        return ""
    return (
        f"profile and rates are not from the same run: {seen.root} takes {avg_us:.4g} us, which at "
        f"{rate_per_s:,.0f} operations/s means {held:.1f} threads, not {threads} (Little's law)"
    )
