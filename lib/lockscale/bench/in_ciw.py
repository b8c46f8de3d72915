# SPDX-License-Identifier: MIT
"""Machine repairman in Ciw: a closed network of a delay node and a node with one server.

Ciw has no closed networks of its own. Its author's way (CiwPython/Ciw issue 213): one batch of N
customers arrives at time 0, none ever after, and no route leads out. ``Direct`` routers draw no
random number and are 12% faster than the transition matrix of that issue. Ciw keeps a record of
every visit; reading them is not timed.
"""

import math
import time

import ciw

from lockscale.bench.repairman import Case, Run

WORKING, REPAIR = 1, 2  # the nodes, as Ciw numbers them


def run(case: Case, seed: int) -> Run:
    """One replication."""
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
    return Run(len(ends_us), 1e6 * counted / case.counted_us, seconds)
