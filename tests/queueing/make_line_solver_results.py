# SPDX-License-Identifier: MIT
"""Five closed networks solved by LINE (PyPI `line-solver`): writes line_solver.json beside this file.

The tests read the file and never run this script. To make it anew, in an environment of its own:

    pip install line-solver==3.0.8.0 && python make_line_solver_results.py

Each network is solved by LINE's exact mean value analysis, or by its Markov chain where a station has
two servers or slows down; times in us, rates per us.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from line_solver import (
    CTMC,
    MVA,
    ClosedClass,
    Delay,
    Exp,
    Network,
    Queue,
    SchedStrategy,
)

COLLAPSE = [1 / (1 + 0.3 * waiting) for waiting in range(16)]
TWO_SERVERS = [1, *[2] * 15]
NETWORKS = {
    "repairman": {"think_us": 59.1, "demands_us": [2.0], "threads": [1, 8, 30, 64]},
    "lock and journal": {"think_us": 41.0, "demands_us": [11.4, 22.4], "threads": [1, 5, 31]},
    "three queues, no think": {"think_us": 0.0, "demands_us": [3.0, 2.0, 0.5], "threads": [1, 4, 20]},
    "two servers": {
        "think_us": 20.0,
        "demands_us": [4.0, 1.5],
        "speeds": [TWO_SERVERS, [1] * 16],
        "threads": [1, 6, 16],
    },
    "ticket lock that collapses": {
        "think_us": 30.0,
        "demands_us": [1.5, 2.5],
        "speeds": [COLLAPSE, [1] * 16],
        "threads": [1, 7, 16],
    },
}


def solve(threads, think_us, demands_us, speeds=None):
    """Rate per us and mean number at each queue."""
    model = Network("closed")
    stations = [Delay(model, "think")] if think_us else []
    queues = [Queue(model, f"queue {i}", SchedStrategy.FCFS) for i in range(len(demands_us))]
    stations += queues
    thread = ClosedClass(model, "thread", threads, stations[0])
    for station, time_us in zip(stations, [*([think_us] if think_us else []), *demands_us], strict=True):
        station.setService(thread, Exp(1 / time_us))
    for queue, speed in zip(queues, speeds or [], strict=bool(speeds)):
        if speed == TWO_SERVERS:
            queue.setNumberOfServers(2)
        elif len(set(speed)) > 1:
            queue.setLoadDependence(np.array(speed[:threads]))
    model.link(Network.serialRouting(*stations))
    solver = CTMC(model) if speeds else MVA(model, method="exact")
    table = solver.getAvgTable()
    rates, numbers = table["Tput"].tolist(), table["QLen"].tolist()
    return {"threads": threads, "rate_per_us": rates[0], "queue": numbers[-len(queues) :]}


def main():
    solved = []
    for name, asked in NETWORKS.items():
        given = {key: value for key, value in asked.items() if key != "threads"}
        points = [solve(threads, **given) for threads in asked["threads"]]
        solved.append({"network": name, **given, "points": points})
    results = {"solver": "line-solver", "version": version("line-solver"), "networks": solved}
    Path(__file__).with_name("line_solver.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
