# SPDX-License-Identifier: MIT
"""The share of an operation's time that is waiting for locks, in a run's function costs and in a simulation.

A rate says how long an operation takes, not for what it waits. ftrace's function costs say it for two kinds
of locks: those that spin, and those whose waiters may sleep. Entering a lock's function costs the tracer's
time as well; one process alone, which waits for nobody, shows how much a call.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from lockscale.measure.compare_arms import function_costs
from lockscale.predict.observed import LOCK_FUNCTIONS, Observation, Results, slow_paths
from lockscale.sim import Result
from lockscale.sim.model import Model
from lockscale.tools import ftrace_cost

SPIN, SLEEP = re.compile(r"spin_(?:try)?lock|queued_spin"), re.compile(r"mutex_lock|\bdown_(?:read|write)")
LEAST_SHARE = 0.02
"""Added to shares, so that none measured and none simulated agree."""
SHARE_SD = 0.2
"""Assumed, of the logarithm: a tracer stretches what it times."""


class WaitShare(NamedTuple):
    """Of the operations' time: waiting for locks that spin, and for those whose waiters may sleep."""

    spin: float
    sleep: float


def wait_shares(rows: pd.DataFrame, arm: str, cpus: int) -> dict[int, WaitShare]:
    """By number of processes, above one; empty where no function was costed that encloses an operation."""
    here = rows[(rows.tool == ftrace_cost.TOOL) & (rows.arm == arm) & (rows.cpus == cpus)]
    profiles = {int(n): function_costs(rows, arm, cpus, int(n)) for n in sorted(set(here.threads))}
    if 1 not in profiles or profiles[1].empty:
        return {}
    alone = profiles[1].set_index("function").avg_us
    found = {n: _shares(costs, alone) for n, costs in profiles.items() if n > 1}
    return {n: shares for n, shares in found.items() if shares}


def _shares(costs: pd.DataFrame, alone_us: "pd.Series[float]") -> WaitShare | None:
    """None where the costliest function is a lock's: then none encloses all of an operation."""
    if costs.empty or LOCK_FUNCTIONS.search(str(costs.function.iloc[0])):
        return None
    whole_us = float(costs.total_us.iloc[0])
    waited_us = (costs.total_us - costs["count"] * costs.function.map(alone_us).fillna(0.0)).clip(lower=0.0)
    waited_us = waited_us[~costs.function.isin(slow_paths([*costs.function]))]
    functions = costs.function[waited_us.index]
    spin, sleep = (float(waited_us[functions.str.contains(of)].sum()) / whole_us for of in (SPIN, SLEEP))
    return WaitShare(spin, sleep)


def of_wait_shares(
    shares: dict[int, WaitShare], model: Model, given: Mapping[str, object]
) -> list[Observation]:
    """One for each kind of lock that the model has, at each number of processes."""
    found = []
    for n, share in shares.items():
        program = model.program(given, n)
        sleeps = {lock.name: bool(program.locks[lock.first]["wake_ps"]) for lock in program.names["lock"]}
        for kind, value in (("spin", share.spin), ("sleep", share.sleep)):
            names = tuple(name for name, may_sleep in sleeps.items() if may_sleep == (kind == "sleep"))
            if names:
                said = f"share of the time waiting for locks that {kind}, {n} threads"
                simulated: Callable[[Results], float] = partial(_simulated, threads=n, names=names)
                found.append(Observation(said, LEAST_SHARE + min(value, 1.0), SHARE_SD, simulated))
    return found


def _simulated(results: Results, threads: int, names: tuple[str, ...]) -> float:
    return LEAST_SHARE + _waiting(results[threads], names)


def _waiting(result: Result, names: tuple[str, ...]) -> float:
    """Little's law: waits times acquisitions, of all the threads' time."""
    locks = [result.locks[name] for name in names]
    waited_ns = sum((one.wait_ns_mean or 0.0) * one.acquisitions for one in locks)
    return waited_ns / float(np.sum(result.in_state_ns))
