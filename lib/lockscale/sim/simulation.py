# SPDX-License-Identifier: MIT
"""``simulate``: a model at a number of threads, replicated."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lockscale.errors import BadInput
from lockscale.sim.models import load_model
from lockscale.sim.path import Program, Table
from lockscale.sim.primitives import PS_PER_NS, PS_PER_S
from lockscale.sim.results import LockStatistics, Result, mean_interval

MAX_THREADS = 4096
MAX_OPERATIONS = 10**8
MAX_REPLICATIONS = 10_000


@dataclass(frozen=True)
class Counts:
    """The counted window of one replication, all integers; times in picoseconds.

    ``locks`` has shape (locks, 7): requests, acquisitions, wait, hold, integral of the queue's
    length over time, waiters at the window's start and end.
    """

    operations: int
    retries: int
    window_ps: int
    transitions: int
    locks: Table


def simulate(
    model: str,
    threads: int,
    parameters: Mapping[str, object] | None = None,
    *,
    seed: int = 1,
    replications: int = 5,
    operations: int = 20_000,
) -> Result:
    """Simulate a model; every replication counts ``operations`` after its warm-up.

    The same arguments give the same bits. Raises BadInput for an unknown model or parameter and
    for numbers out of range.
    """
    _whole("replications", replications, 1, MAX_REPLICATIONS)
    known = load_model(model)
    values = known.bind(parameters or {})
    program = known.program(values)
    counts = [
        replicate(program, threads, seed=seed, replication=r, operations=operations)
        for r in range(replications)
    ]
    rates = tuple(c.operations * PS_PER_S / c.window_ps for c in counts)
    mean, low, high = mean_interval(rates)
    return Result(
        model=known.name,
        unit=known.unit,
        calibration=known.calibration_of(values),
        parameters=values,
        threads=threads,
        seed=seed,
        operations=operations,
        rates_per_s=rates,
        rate_per_s=mean,
        low=low,
        high=high,
        attempts_per_op=1 + sum(c.retries for c in counts) / sum(c.operations for c in counts),
        locks=_locks(program, counts),
        transitions=sum(c.transitions for c in counts),
    )


def warm_up_operations(threads: int, operations: int) -> int:
    """The warm-up rule: a quarter of the counted operations, at least 20 a thread, are cut off."""
    return max(operations // 4, 20 * threads)


def replicate(
    program: Program,
    threads: int,
    *,
    seed: int,
    replication: int,
    operations: int,
    warm_up: int | None = None,
    start_ps: Table | None = None,
) -> Counts:
    """One replication; ``start_ps`` (threads,) is when each thread starts, by default all at 0."""
    _whole("threads", threads, 1, MAX_THREADS)
    _whole("operations", operations, 1, MAX_OPERATIONS)
    _whole("seed", seed, 0, 2**63 - 1)
    # imported here because listing and checking models needs no compiler
    from lockscale.sim import engine

    totals = np.zeros(4, np.int64)
    stats = np.zeros((len(program.locks), 7), np.int64)
    status, thread, step = engine.run(
        program.ops,
        program.locks,
        program.bitmaps,
        np.zeros(threads, np.int64) if start_ps is None else start_ps,
        seed,
        replication,
        warm_up_operations(threads, operations) if warm_up is None else warm_up,
        operations,
        totals,
        stats,
    )
    why = {
        engine.DEADLOCK: "every thread waits for a lock",
        engine.TOO_LATE: "simulated time runs beyond what 64 bits hold: use shorter times",
        engine.NO_TIME_PASSES: "steps repeat while no time passes: give one of them a time",
    }
    if status in why:
        raise BadInput(f"thread {thread} at step '{program.steps[step]}': {why[status]}")
    counts = Counts(
        operations=int(totals[engine.OPERATIONS]),
        retries=int(totals[engine.RETRIES]),
        window_ps=int(totals[engine.WINDOW_PS]),
        transitions=int(totals[engine.TRANSITIONS]),
        locks=stats,
    )
    if counts.window_ps == 0:
        raise BadInput("all counted operations ended at one instant: give their steps a time")
    return counts


def _locks(program: Program, counts: list[Counts]) -> dict[str, LockStatistics]:
    sums = np.sum([c.locks for c in counts], axis=0)
    return {
        name: LockStatistics(
            acquisitions=int(row[1]),
            wait_ns_mean=float(row[2] / row[1] / PS_PER_NS) if row[1] else None,
            hold_ns_mean=float(row[3] / row[1] / PS_PER_NS) if row[1] else None,
        )
        for name, row in zip(program.lock_names, sums, strict=True)
    }


def _whole(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadInput(f"{name} is {value!r}: give a whole number from {low} to {high}")
