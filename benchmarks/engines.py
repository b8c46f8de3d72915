# SPDX-License-Identifier: MIT
"""Machine repairman in our simulator, in SimPy and in Ciw; and S1's unpatched run in ours."""

import importlib
import math
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from random import Random

from lockscale.errors import BadInput
from lockscale.queueing.laws.machine_repairman import MACHINE_REPAIRMAN
from lockscale.sim import load_model
from lockscale.sim.program import Program
from lockscale.sim.replicate import Counts, replicate

PS_PER_S = 1e12
S1_CREATES = 1_440_000
S1_THREADS = 48
WORKING, REPAIR = 1, 2  # the nodes, as Ciw numbers them


@dataclass(frozen=True)
class RepairmanCase:
    """N machines and one repairman, all times exponential; every machine works at time 0.

    An engine runs ``warm_up_us`` of simulated time, then counts repairs for ``counted_us``. The
    queue forgets its start within some N service times, far less than the warm-up.
    """

    threads: int
    counted_us: float
    warm_up_us: float = 1000.0
    think_us: float = 10.0
    service_us: float = 1.0

    def exact_rate_per_s(self) -> float:
        """Repairs per second by exact mean value analysis (``queueing.machine_repairman``)."""
        return float(MACHINE_REPAIRMAN([self.threads], Z_us=self.think_us, s_us=self.service_us)[0])


@dataclass(frozen=True)
class Replication:
    """All repairs (warm-up too), the counted repairs per simulated second, wall time.

    ``seconds`` is the wall time of the simulation proper; building the model is not in it.
    """

    repairs: int
    rate_per_s: float
    seconds: float


Engine = Callable[[RepairmanCase, int], Replication]


def engines() -> dict[str, Engine]:
    """The engines to compare; raises BadInput where the extra ``bench`` is not installed."""
    for package in ("simpy", "ciw"):
        try:
            importlib.import_module(package)
        except ModuleNotFoundError:
            raise BadInput(f"the benchmarks need {package}: pip install 'lockscale[bench]'") from None
    return {"lockscale": run_lockscale, "simpy": run_simpy, "ciw": run_ciw}


def run_lockscale(case: RepairmanCase, seed: int) -> Replication:
    """One replication.

    The engine cuts its warm-up and ends its window by operations, not by time: it is given as many as
    the exact rate makes of the same stretch of simulated time. All of ``replicate`` is timed.
    """
    per_us = case.exact_rate_per_s() / 1e6
    warm_up, counted = round(per_us * case.warm_up_us), round(per_us * case.counted_us)
    found, seconds = _timed(_program(case), seed, counted, warm_up)
    return Replication(warm_up + counted, PS_PER_S * found.operations / found.window_ps, seconds)


def transitions_per_repair(case: RepairmanCase) -> int:
    """The steps of one cycle through the compiled path: for every engine, these are its events."""
    return len(_program(case).ops)


def s1_unpatched_run(seed: int) -> tuple[int, float]:
    """S1's whole unpatched run, no warm-up: (transitions, wall seconds)."""
    found, seconds = _timed(load_model("inode_claim").program({}, S1_THREADS), seed, S1_CREATES, 0)
    return found.transitions, seconds


def _program(case: RepairmanCase) -> Program:
    times = {"think_us": case.think_us, "service_us": case.service_us}
    return load_model("machine_repairman").program(times, case.threads)


def _timed(program: Program, seed: int, operations: int, warm_up: int) -> tuple[Counts, float]:
    started_s = time.perf_counter()
    counts = replicate(program, seed=seed, replication=0, operations=operations, warm_up=warm_up)
    return counts, time.perf_counter() - started_s


def simpy_repairs(threads: int, us: float, seed: int) -> int:
    """The machine repairman in SimPy for so much simulated time: how many steps ours takes for it."""
    case = RepairmanCase(threads, us, warm_up_us=1.0)
    return run_simpy(case, seed).repairs * transitions_per_repair(case)


def simpy_claims(threads: int, us: float, seed: int) -> int:
    """S1's retry storm in SimPy for so much simulated time: how many steps of ``inode_claim`` it is."""
    import simpy

    env = simpy.Environment()
    group = simpy.Resource(env, capacity=1)
    times = load_model("inode_claim").bind({})
    elsewhere_us, access_us, hold_us = times["elsewhere_us"], times["access_ns"] / 1e3, times["hold_ns"] / 1e3
    draw_us = Random(seed).expovariate
    next_zero = steps = 0

    def creator() -> Generator[simpy.Event, None, None]:
        nonlocal next_zero, steps
        while True:
            yield env.timeout(draw_us(1 / elsewhere_us))
            steps += 2
            won = False
            while not won:
                bit = next_zero
                yield env.timeout(access_us)
                turn = group.request()
                yield turn
                yield env.timeout(hold_us)
                won = bit == next_zero
                next_zero += won
                group.release(turn)
                steps += 6

    for _ in range(threads):
        env.process(creator())
    env.run(until=us)
    return steps


def run_simpy(case: RepairmanCase, seed: int) -> Replication:
    """One replication: one process a machine, one Resource.

    ``request`` and ``release`` are called by hand: the ``with`` statement of SimPy's tutorial is 8%
    slower, and the comparison should be with SimPy at its best.
    """
    import simpy

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
    return Replication(repairs, 1e6 * (repairs - before) / case.counted_us, seconds)


def run_ciw(case: RepairmanCase, seed: int) -> Replication:
    """One replication: a closed network of a delay node and a node with one server.

    Ciw has no closed networks of its own. Its author's way (CiwPython/Ciw issue 213): one batch of N
    customers arrives at time 0, none ever after, and no route leads out. ``Direct`` routers draw no
    random number and are 12% faster than the transition matrix of that issue. Ciw keeps a record of
    every visit; reading them is not timed.
    """
    import ciw

    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([0, math.inf]), None],
        batching_distributions=[ciw.dists.Deterministic(case.threads), None],
        service_distributions=[
            ciw.dists.Exponential(1 / case.think_us),
            ciw.dists.Exponential(1 / case.service_us),
        ],
        routing=ciw.routing.NetworkRouting([ciw.routing.Direct(REPAIR), ciw.routing.Direct(WORKING)]),
        number_of_servers=[math.inf, 1],
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    started_s = time.perf_counter()
    simulation.simulate_until_max_time(case.warm_up_us + case.counted_us)
    seconds = time.perf_counter() - started_s
    ends_us = [visit.exit_date for visit in simulation.get_all_records() if visit.node == REPAIR]
    counted = sum(end > case.warm_up_us for end in ends_us)
    return Replication(len(ends_us), 1e6 * counted / case.counted_us, seconds)
