# SPDX-License-Identifier: MIT
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
load-dependent station. Units: microseconds, rates per second. Domain: N >= 1, Z >= 0, s >= 0,
h >= 0, not all 0.
"""

from collections.abc import Mapping

import numpy as np

from lockscale.queueing.closed_chain import at_the_lock, closed_rate_per_us
from lockscale.queueing.columns import FloatArray
from lockscale.queueing.model import Box, Law, Parameter


def _rate_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    hold_us = np.where(at_the_lock(threads) > 1, params["s_us"] + params["h_us"], params["s_us"])
    return 1e6 * closed_rate_per_us(threads, params["Z_us"], hold_us)


def _search_box(threads: FloatArray, rates: FloatArray) -> Box:
    cycle_us = 1e6 * float(np.min(threads / rates))
    service_us = 1e6 / rates
    return {
        "Z_us": (1e-3 * cycle_us, 3 * cycle_us),
        "s_us": (1e-3 * float(service_us.min()), float(service_us.min())),
        "h_us": (1e-3 * float(service_us.max()), float(service_us.max())),
    }


HAND_OVER = Law(
    "hand_over",
    (Parameter("Z_us", "us"), Parameter("s_us", "us"), Parameter("h_us", "us")),
    _rate_per_s,
    _search_box,
)
