# SPDX-License-Identifier: MIT
"""Machine repairman: N threads that work alone for Z, then queue for one lock held for s.

Closed network of one delay station (mean Z, exponential) and one FIFO server (mean s,
exponential). Exact recursion over the number of threads k, with Q the mean number at the lock
(mean value analysis; an arrival sees the network with one thread fewer):

    R(k) = s (1 + Q(k-1)),   X(k) = k / (Z + R(k)),   Q(k) = X(k) R(k),   Q(0) = 0

X rises with N to 1/s and never falls: what falls is not this model.

Sources: M. Reiser and S. S. Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing
Networks", J. ACM 27(2), 1980; the same chain is Erlang's loss system, X = (1 - B(N, Z/s)) / s.
Units: Z_us and s_us in microseconds, X per second. Domain: N whole >= 1, Z >= 0, s >= 0, not both
0. Cost: O(largest N) until the lock is saturated.
"""

from collections.abc import Mapping

import numpy as np
from scipy.special import gammaln

from lockscale.queueing.closed_chain import SHORTEST_US
from lockscale.queueing.columns import FloatArray
from lockscale.queueing.model import Box, Law, Parameter


def _rate_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    think_us, service_us = params["Z_us"], params["s_us"]
    if np.ndim(think_us) or np.ndim(service_us):
        return _many_per_s(threads, np.asarray(think_us), np.asarray(service_us))
    if think_us + service_us <= 0:
        return np.full(threads.shape, np.inf)
    curve: list[float] = []
    queue = 0.0
    for k in range(1, int(threads.max()) + 1):
        response_us = service_us * (1 + queue)
        rate_per_us = k / (think_us + response_us)
        queue = rate_per_us * response_us
        curve.append(rate_per_us)
        if 1 - rate_per_us * service_us < 1e-15:
            break  # saturated to the last bit: more threads change nothing
    place = np.minimum(threads.astype(np.int64), len(curve)) - 1
    rates: FloatArray = 1e6 * np.array(curve)[place]
    return rates


def _many_per_s(threads: FloatArray, think_us: FloatArray, service_us: FloatArray) -> FloatArray:
    """The same for sets of times, (S, 1), at once: Erlang's loss system, its sums as logarithms."""
    think, service = (np.maximum(times, SHORTEST_US) for times in (think_us, service_us))
    k = np.arange(threads.max() + 1)
    sums = np.logaddexp.accumulate(k * np.log(think / service) - gammaln(k + 1), axis=1)
    place = threads.astype(np.int64)
    return np.asarray(1e6 * np.exp(sums[:, place - 1] - sums[:, place]) / service)


def _search_box(threads: FloatArray, rates: FloatArray) -> Box:
    # X <= N / (Z + s) and X <= 1 / s bound both times from above.
    cycle_us = 1e6 * float(np.min(threads / rates))
    service_us = 1e6 / float(np.max(rates))
    return {"Z_us": (1e-3 * cycle_us, cycle_us), "s_us": (1e-3 * service_us, service_us)}


MACHINE_REPAIRMAN = Law(
    "machine_repairman",
    (Parameter("Z_us", "us"), Parameter("s_us", "us")),
    _rate_per_s,
    _search_box,
)
