# SPDX-License-Identifier: MIT
"""Lock with impatient waiters: who waits too long does the work somewhere else.

N threads work alone for a mean Z, then queue for a lock held for s. A waiter leaves the queue
after a mean patience T and completes the operation elsewhere (block allocation that skips a busy
group and takes the next one). With k threads at the lock one is served and k - 1 are waiting:

    1/h(k) = 1/s + (k - 1) / T

and the chain of closed_chain.py gives X. T without end is the machine repairman. Once the lock is
never idle the rate keeps growing by 1/T for every further thread, where other laws are flat:

    X(N) = 1/s + (N - 1) / T          `IMPATIENT_SATURATED`, the case Z = 0

The time of the work elsewhere is part of Z, and it meets nobody: where the threads that left meet
again, X grows less. A single thread never waits; if its operation is also cheaper because no
cache line ever moves, fit from two threads on (`n_min=2`).

Source: the M/M/1 queue with reneging of C. J. Ancker and A. V. Gafarian, "Some Queuing Problems
with Balking and Reneging", Operations Research 11(1), 1963, here with N threads in all. Units:
microseconds, rates per second. Domain: N >= 1, Z >= 0, s >= 0, T > 0, not both Z and s 0.
"""

from collections.abc import Mapping

from lockscale.queueing.closed_chain import at_the_lock, closed_rate_per_us
from lockscale.queueing.columns import FloatArray
from lockscale.queueing.laws.machine_repairman import MACHINE_REPAIRMAN
from lockscale.queueing.model import Box, Law, Parameter


def _rate_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    service_us = params["s_us"]
    hold_us = service_us / (1 + service_us * (at_the_lock(threads) - 1) / params["T_us"])
    return 1e6 * closed_rate_per_us(threads, params["Z_us"], hold_us)


def _saturated_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return 1e6 * (1 / params["s_us"] + (threads - 1) / params["T_us"])


def _search_box(threads: FloatArray, rates: FloatArray) -> Box:
    patience_us = 1e6 * max(float(threads.max()) - 1, 1) / float(rates.max())
    times = MACHINE_REPAIRMAN.box(threads, rates)
    longest = 1e6 / float(rates.min())
    return {**times, "s_us": (times["s_us"][0], longest), "T_us": (patience_us, 1e3 * patience_us)}


_PATIENCE = Parameter("T_us", "us", positive=True)

IMPATIENT = Law("impatient", (*MACHINE_REPAIRMAN.parameters, _PATIENCE), _rate_per_s, _search_box)
"""Rate from the whole chain."""

IMPATIENT_SATURATED = Law(
    "impatient_saturated",
    (Parameter("s_us", "us", positive=True), _PATIENCE),
    _saturated_per_s,
    _search_box,
)
"""Rate of a lock that is never idle: two parameters."""
