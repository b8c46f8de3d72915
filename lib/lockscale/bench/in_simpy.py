# SPDX-License-Identifier: MIT
"""Machine repairman in SimPy: one process a machine, one Resource.

``request`` and ``release`` are called by hand: the ``with`` statement of SimPy's tutorial is 8%
slower, and the comparison should be with SimPy at its best.
"""

import time
from collections.abc import Generator
from random import Random

import simpy

from lockscale.bench.repairman import Case, Run


def run(case: Case, seed: int) -> Run:
    """One replication."""
    env = simpy.Environment()
    repairman = simpy.Resource(env, capacity=1)
    draw_us = Random(seed).expovariate
    breakdowns_per_us, services_per_us = 1 / case.think_us, 1 / case.service_us
    repairs = 0

    def machine() -> Generator[simpy.Event, None, None]:
        nonlocal repairs
        while True:
            yield env.timeout(draw_us(breakdowns_per_us))
            turn = repairman.request()
            yield turn
            yield env.timeout(draw_us(services_per_us))
            repairman.release(turn)
            repairs += 1

    for _ in range(case.threads):
        env.process(machine())
    started_s = time.perf_counter()
    env.run(until=case.warm_up_us)
    before = repairs
    env.run(until=case.warm_up_us + case.counted_us)
    seconds = time.perf_counter() - started_s
    return Run(repairs, 1e6 * (repairs - before) / case.counted_us, seconds)
