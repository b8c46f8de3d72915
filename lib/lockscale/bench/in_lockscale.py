# SPDX-License-Identifier: MIT
"""Machine repairman, and S1's base run, in the simulator of this project.

The engine cuts its warm-up and ends its window by operations, not by time: it is given as many as
the exact rate makes of the same stretch of simulated time. All of ``replicate`` is timed.
"""

import time

from lockscale.bench.repairman import Case, Run
from lockscale.sim import load_model
from lockscale.sim.program import Program
from lockscale.sim.replicate import Counts, replicate

PS_PER_S = 1e12
S1_CREATES = 1_440_000
S1_THREADS = 48


def run(case: Case, seed: int) -> Run:
    """One replication."""
    per_us = case.exact_rate_per_s() / 1e6
    warm_up, counted = round(per_us * case.warm_up_us), round(per_us * case.counted_us)
    found, seconds = _timed(_program(case), seed, counted, warm_up)
    return Run(warm_up + counted, PS_PER_S * found.operations / found.window_ps, seconds)


def transitions_per_repair(case: Case) -> int:
    """The steps of one cycle through the compiled path: for every engine, these are its events."""
    return len(_program(case).ops)


def s1_base_run(seed: int) -> tuple[int, float]:
    """S1's whole base run, no warm-up: (transitions, wall seconds)."""
    found, seconds = _timed(load_model("inode_claim").program({}, S1_THREADS), seed, S1_CREATES, 0)
    return found.transitions, seconds


def _program(case: Case) -> Program:
    times = {"think_us": case.think_us, "service_us": case.service_us}
    return load_model("machine_repairman").program(times, case.threads)


def _timed(program: Program, seed: int, operations: int, warm_up: int) -> tuple[Counts, float]:
    started_s = time.perf_counter()
    counts = replicate(program, seed=seed, replication=0, operations=operations, warm_up=warm_up)
    return counts, time.perf_counter() - started_s
