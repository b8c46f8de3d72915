# SPDX-License-Identifier: MIT
"""Two models by their own loops, by the general loop, written by hand in C, and in SimPy: side by side."""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.engines import simpy_claims, simpy_repairs
from benchmarks.floor import MODELS, Floor, compile_floor, numbers_of
from benchmarks.rows import Amount, BenchRow, Done
from lockscale.sim import load_model
from lockscale.sim.engine import run_ops
from lockscale.sim.engine.world import TRANSITIONS
from lockscale.sim.prepare import prepare
from lockscale.sim.program import Program
from lockscale.sim.replicate import BATCHES, replicate

THREADS, WARM_UP = 48, 1000
OPERATIONS = {"machine_repairman": 1_000_000, "inode_claim": 80_000}
"""Some 30 ms of a loop."""
SIMPY_US = {"machine_repairman": 40e3, "inode_claim": 2e3}
SIMPY = {"machine_repairman": simpy_repairs, "inode_claim": simpy_claims}
TIMES_SIMPY, TIMES_C = 200.0, 1.2
OWN, GENERAL, C, PYTHON = "own loop", "general loop", "c -O3", "simpy"

Timed = Callable[[int], tuple[int, float]]
"""(transitions, seconds of processor time, which other load disturbs least) of the run with this seed."""


def own_loop_rows(amount: Amount, done: Done) -> list[BenchRow]:
    """Rows of both models; ``agrees``: the three loops end with the same numbers, bit for bit."""
    prepare()
    with tempfile.TemporaryDirectory() as folder:
        floor = compile_floor(Path(folder))
        return [row for model in MODELS for row in _rows(model, floor, amount, done)]


def _rows(model: str, floor: Floor, amount: Amount, done: Done) -> list[BenchRow]:
    program = load_model(model).program({}, THREADS)
    operations = OPERATIONS[model] // amount.shorter
    us = SIMPY_US[model] / amount.shorter

    def own(seed: int) -> tuple[int, float]:
        started_s = time.thread_time()
        counts = replicate(program, seed=seed, replication=0, operations=operations, warm_up=WARM_UP)
        return counts.transitions, time.thread_time() - started_s

    def by_hand(seed: int) -> tuple[int, float]:
        run = floor(model, THREADS, seed, WARM_UP, operations)
        return run.transitions, run.seconds

    def in_simpy(seed: int) -> tuple[int, float]:
        started_s = time.thread_time()
        return SIMPY[model](THREADS, us, seed), time.thread_time() - started_s

    engines: dict[str, Timed] = {
        OWN: own,
        GENERAL: lambda seed: general(program, seed, operations),
        C: by_hand,
        PYTHON: in_simpy,
    }
    speeds: dict[str, list[float]] = {name: [] for name in engines}
    for seed in range(1, 1 + 3 * amount.rounds):  # in turn, so that other load falls on all
        for name, run in engines.items():
            transitions, seconds = run(seed)
            speeds[name].append(transitions / seconds)
    done(f"{model}, its own loop and C")
    same = same_numbers(model, floor, operations)
    return [_row(model, name, speeds, None if name == PYTHON else same) for name in engines]


def general(program: Program, seed: int, operations: int) -> tuple[int, float]:
    """The general loop, whatever other is at hand."""
    started_s = time.thread_time()
    world = program.world(batches=BATCHES)
    run_ops.run(world, seed, 0, np.zeros(program.threads, np.int64), WARM_UP, operations)
    return int(world.clock[TRANSITIONS]), time.thread_time() - started_s


def same_numbers(model: str, floor: Floor, operations: int, threads: int = THREADS) -> bool:
    """Whether the C program ends with the simulator's counts, times and histograms."""
    program = load_model(model).program({}, threads)
    counts = replicate(program, seed=1, replication=0, operations=operations, warm_up=WARM_UP)
    by_hand = floor(model, threads, 1, WARM_UP, operations)
    return (counts.transitions, numbers_of(counts)) == (by_hand.transitions, by_hand.numbers)


def _row(model: str, name: str, speeds: dict[str, list[float]], same: bool | None) -> BenchRow:
    """Medians; the ratios are medians of those of each round."""
    ours = speeds[name]
    simpy = statistics.median(a / b for a, b in zip(ours, speeds[PYTHON], strict=True))
    to_c = statistics.median(c / a for a, c in zip(ours, speeds[C], strict=True))
    median = statistics.median(ours)
    is_target = name == OWN
    return BenchRow(
        case=f"{model}_{THREADS}_loops",
        engine=name,
        seconds=1e6 / median,
        events_per_s=median,
        ratio_to_simpy=simpy,
        time_of_c=to_c,
        agrees=same,
        target=f">= {TIMES_SIMPY:.0f} x SimPy, within {TIMES_C:g} of C" if is_target else None,
        met=simpy >= TIMES_SIMPY and to_c <= TIMES_C if is_target else None,
        note=f"{to_c:.2f} times C's time; processor seconds for 1 M events",
    )
