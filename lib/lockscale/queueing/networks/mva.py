# SPDX-License-Identifier: MIT
"""Mean value analysis: N threads, work on their own, and any number of queues.

A closed network of one delay station (mean Z, any distribution) and FIFO queues with demands
D_i = visits x mean service. An arrival sees the network with one thread fewer, so, from Q_i(0) = 0,

    R_i(k) = D_i (1 + Q_i(k-1)),   X(k) = k / (Z + sum of R_i),   Q_i(k) = X(k) R_i(k)

Exact for exponential service (product form); every term is positive, so nothing cancels. Cost:
largest N x stations. For stations whose speed depends on their queue see mva_load_dependent.py,
for many thousand threads mva_approximate.py.

Source: M. Reiser and S. S. Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks",
J. ACM 27(2), 1980. Units: microseconds, rates per second. Domain: N whole >= 1, Z >= 0, D_i >= 0,
not all 0.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.columns import FloatArray, as_floats, check_threads
from lockscale.queueing.model import LARGEST


@dataclass(frozen=True)
class Solution:
    """rate_per_s: shape (n,). queue: mean threads waiting or served at each queue, (n, queues)."""

    rate_per_s: FloatArray
    queue: FloatArray


def network(
    threads: npt.ArrayLike, think_us: float, demands_us: npt.ArrayLike
) -> tuple[FloatArray, float, FloatArray]:
    """Thread counts (n,), Z and demands (queues,), checked. Raises BadInput outside the domain."""
    n = check_threads(threads)
    times = as_floats("think_us and demands_us", [think_us, *np.atleast_1d(demands_us)])
    if len(times) < 2 or not ((times >= 0) & (times <= LARGEST)).all() or not times.any():
        raise BadInput(
            f"think_us = {think_us} and demands_us = {np.ravel(demands_us).tolist()}: give times of at "
            f"least 0 and at most {LARGEST:g} us, not all 0, and at least one demand."
        )
    return n, float(times[0]), times[1:]


def exact(threads: npt.ArrayLike, think_us: float, demands_us: npt.ArrayLike) -> Solution:
    """The recursion, for one or more queues. Raises BadInput outside the domain."""
    n, think, demands = network(threads, think_us, demands_us)
    queue = np.zeros(len(demands))
    found = {}
    wanted = set(n.tolist())
    for k in range(1, int(n.max()) + 1):
        response_us = demands * (1 + queue)
        rate = k / (think + response_us.sum())
        queue = rate * response_us
        if k in wanted:
            found[k] = (1e6 * rate, queue)
    return Solution(np.array([found[k][0] for k in n.tolist()]), np.array([found[k][1] for k in n.tolist()]))
