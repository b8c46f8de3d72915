# SPDX-License-Identifier: MIT
"""Amdahl's law on a machine in parts: threads beyond M spill over and cost more.

    X(N) = lambda N / (1 + sigma (N - 1) + rho max(N - M, 0))

Up to M threads it is Amdahl's law: each of the others adds sigma of an operation to the wait. A
thread beyond M adds sigma + rho, because the lock then also passes between parts of the machine
(clusters, sockets) and that hand-over is longer. The rate may have a maximum at M, where it
has a kink, and goes to lambda / (sigma + rho) for many threads.

Derived here from Amdahl's law as a queue (amdahl.py): N/X = 1/lambda plus one hand-over for each
other thread. M is where the curve bends; it is not read from the machine's topology. A table tells
all four apart only if it has two thread counts up to M and two beyond it; else a range of M with
its own sigma fits alike. Units: rates per second. Domain: N >= 1, lambda > 0, 0 <= sigma <= 1,
rho >= 0, M >= 1.
"""

from collections.abc import Mapping

import numpy as np

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.laws.usl import USL
from lockscale.queueing.model import Box, Law, Parameter


def _rate_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    beyond = np.maximum(threads - params["M_threads"], 0)
    waits = params["sigma"] * (threads - 1) + params["rho"] * beyond
    return params["lambda_per_s"] * threads / (1 + waits)


def _search_box(threads: FloatArray, rates: FloatArray) -> Box:
    return {
        **USL.box(threads, rates),
        "rho": (1e-3, 1.0),
        "M_threads": (1.0, max(2.0, float(threads.max()))),
    }


AMDAHL_SPILL = Law(
    "amdahl_spill",
    (*USL.parameters[:2], Parameter("rho", "1"), Parameter("M_threads", "1", low=1.0, positive=True)),
    _rate_per_s,
    _search_box,
)
