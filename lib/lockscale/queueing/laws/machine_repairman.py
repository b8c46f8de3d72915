# SPDX-License-Identifier: MIT
"""Threads that work alone, then queue for one lock: the machine repairman, and what may be added to it.

A second queue, a hand-over that costs, waiters that leave; below each law stands what it claims.
"""

from collections.abc import Mapping

import numpy as np
from scipy.special import gammaln

from lockscale.queueing.closed_chain import SHORTEST_US, at_the_lock, closed_rate_per_us, in_series_us
from lockscale.queueing.model import Box, FloatArray, Law, LawParameter


def _repairman_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
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


def _repairman_box(threads: FloatArray, rates: FloatArray) -> Box:
    # X <= N / (Z + s) and X <= 1 / s bound both times from above.
    cycle_us = 1e6 * float(np.min(threads / rates))
    service_us = 1e6 / float(np.max(rates))
    return {"Z_us": (1e-3 * cycle_us, cycle_us), "s_us": (1e-3 * service_us, service_us)}


MACHINE_REPAIRMAN = Law(
    "machine_repairman",
    (LawParameter("Z_us", "us"), LawParameter("s_us", "us")),
    _repairman_per_s,
    _repairman_box,
)
"""Machine repairman: N threads that work alone for Z, then queue for one lock held for s.

Closed network of one delay station (mean Z, exponential) and one FIFO server (mean s,
exponential). Exact recursion over the number of threads k, with Q the mean number at the lock
(mean value analysis; an arrival sees the network with one thread fewer):

    R(k) = s (1 + Q(k-1)),   X(k) = k / (Z + R(k)),   Q(k) = X(k) R(k),   Q(0) = 0

X rises with N to 1/s and never falls: what falls is not this model.

Sources: M. Reiser and S. S. Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing
Networks", J. ACM 27(2), 1980; the same chain is Erlang's loss system, X = (1 - B(N, Z/s)) / s.
Cost: O(largest N) until the lock is saturated.
"""


def _two_stations_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    bottleneck_us = params["s_us"] * np.ones_like(at_the_lock(threads))
    both_us = in_series_us(bottleneck_us, params["ratio"] * params["s_us"])
    return 1e6 * closed_rate_per_us(threads, params["Z_us"], both_us)


def _two_stations_box(threads: FloatArray, rates: FloatArray) -> Box:
    return {**MACHINE_REPAIRMAN.box(threads, rates), "ratio": (0.01, 1.0)}


TWO_STATIONS = Law(
    "two_stations",
    (*MACHINE_REPAIRMAN.parameters, LawParameter("ratio", "1", high=1.0)),
    _two_stations_per_s,
    _two_stations_box,
)
"""Two stations: the machine repairman with a second queue behind the bottleneck.

The closed network of N threads, work on their own of mean Z, and the two queues that a table of
rates can still tell apart: a bottleneck s and a second queue ratio x s. Exact for exponential
service; solved by closed_chain.py, to which mean value analysis is equal.

Source: M. Reiser and S. S. Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks",
J. ACM 27(2), 1980.
"""


def _hand_over_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    hold_us = np.where(at_the_lock(threads) > 1, params["s_us"] + params["h_us"], params["s_us"])
    return 1e6 * closed_rate_per_us(threads, params["Z_us"], hold_us)


def _hand_over_box(threads: FloatArray, rates: FloatArray) -> Box:
    cycle_us = 1e6 * float(np.min(threads / rates))
    service_us = 1e6 / rates
    return {
        "Z_us": (1e-3 * cycle_us, 3 * cycle_us),
        "s_us": (1e-3 * float(service_us.min()), float(service_us.min())),
        "h_us": (1e-3 * float(service_us.max()), float(service_us.max())),
    }


HAND_OVER = Law(
    "hand_over",
    (LawParameter("Z_us", "us"), LawParameter("s_us", "us"), LawParameter("h_us", "us")),
    _hand_over_per_s,
    _hand_over_box,
)
"""Queued lock: a lock that was waited for costs one hand-over more than a free one.

N threads work alone for a mean Z, then queue for a lock held for s. A thread that finds it free
has it at once; after a release with waiters the next owner also needs the cache line of its own
queue node and the data that the lock protects, h. Each waiter spins on its own node, so h does not
grow with their number (MCS and the kernel's qspinlock):

    h(1) = s,    h(k) = s + h  for k >= 2 at the lock

and the chain of closed_chain.py gives X. With s < s + h the rate can pass a maximum before the lock
is never free, and goes down to 1/(s + h). With h = 0 it is the machine repairman.

Sources: J. M. Mellor-Crummey and M. L. Scott, "Algorithms for Scalable Synchronization on
Shared-Memory Multiprocessors", ACM TOCS 9(1), 1991 (the lock); a closed network with one
load-dependent station.
"""


def _impatient_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    service_us = params["s_us"]
    hold_us = service_us / (1 + service_us * (at_the_lock(threads) - 1) / params["T_us"])
    return 1e6 * closed_rate_per_us(threads, params["Z_us"], hold_us)


def _saturated_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return 1e6 * (1 / params["s_us"] + (threads - 1) / params["T_us"])


def _impatient_box(threads: FloatArray, rates: FloatArray) -> Box:
    patience_us = 1e6 * max(float(threads.max()) - 1, 1) / float(rates.max())
    times = MACHINE_REPAIRMAN.box(threads, rates)
    longest = 1e6 / float(rates.min())
    return {**times, "s_us": (times["s_us"][0], longest), "T_us": (patience_us, 1e3 * patience_us)}


_PATIENCE = LawParameter("T_us", "us", positive=True)

IMPATIENT = Law("impatient", (*MACHINE_REPAIRMAN.parameters, _PATIENCE), _impatient_per_s, _impatient_box)
"""Lock with impatient waiters: who waits too long does the work somewhere else.

N threads work alone for a mean Z, then queue for a lock held for s. A waiter leaves the queue
after a mean patience T and completes the operation elsewhere (block allocation that skips a busy
group and takes the next one). With k threads at the lock one is served and k - 1 are waiting:

    1/h(k) = 1/s + (k - 1) / T

and the chain of closed_chain.py gives X. T without end is the machine repairman. Once the lock is
never idle the rate keeps growing by 1/T for every further thread, where other laws are flat:

    X(N) = 1/s + (N - 1) / T          `IMPATIENT_SATURATED`, the case Z = 0

The time of the work elsewhere is part of Z, and uncontended: where the threads that left meet
again, X grows less. A single thread never waits; if its operation is also cheaper because no
cache line ever moves, fit from two threads on (`n_min=2`).

Source: the M/M/1 queue with reneging of C. J. Ancker and A. V. Gafarian, "Some Queuing Problems
with Balking and Reneging", Operations Research 11(1), 1963, here with N threads in all.
"""

IMPATIENT_SATURATED = Law(
    "impatient_saturated",
    (LawParameter("s_us", "us", positive=True), _PATIENCE),
    _saturated_per_s,
    _impatient_box,
)
"""Rate of a lock that is never idle: two parameters."""
