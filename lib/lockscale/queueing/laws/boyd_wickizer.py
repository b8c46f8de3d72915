# SPDX-License-Identifier: MIT
"""Locks that collapse under their waiters: a ticket lock, a second queue behind it, shared cache lines.

Below each law stands what it claims.
"""

from collections.abc import Callable, Mapping

import numpy as np

from lockscale.queueing.closed_chain import at_the_lock, closed_rate_per_us, in_series_us
from lockscale.queueing.laws.machine_repairman import MACHINE_REPAIRMAN
from lockscale.queueing.model import Box, FloatArray, Law, LawParameter


def _ticket_hold_us(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    """h(k) for k = 1..max(threads)."""
    return params["s_us"] + params["c_us"] * (at_the_lock(threads) - 1) / 2


def _ticket_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return 1e6 * closed_rate_per_us(threads, params["Z_us"], _ticket_hold_us(threads, params))


def _ticket_box(threads: FloatArray, rates: FloatArray) -> Box:
    """Of Z_us, s_us and c_us: the fastest cycle, the highest rate and the last point bound them."""
    cycle_us = 1e6 * float((threads / rates).min())
    service_us = 1e6 / float(rates.max())
    collapse_us = 2e6 / float(rates[threads.argmax()]) / max(float(threads.max()) - 1, 1)
    return {
        "Z_us": (1e-3 * cycle_us, 3 * cycle_us),
        "s_us": (1e-3 * service_us, service_us),
        "c_us": (1e-3 * collapse_us, 2 * collapse_us),
    }


TIMES = (LawParameter("Z_us", "us"), LawParameter("s_us", "us"), LawParameter("c_us", "us"))

BOYD_WICKIZER = Law("boyd_wickizer", TIMES, _ticket_per_s, _ticket_box)
"""Ticket lock that collapses: the hand-over takes longer the more threads spin.

N threads work alone for a mean Z, then queue for a ticket lock with critical section s. All
waiters spin on one cache line; a release makes each of them fetch it anew and the next owner gets
its turn after half of them on average, c each. With k at the lock, k - 1 of them waiting:

    h(k) = s + c (k - 1) / 2

and the chain of closed_chain.py gives X. Once the lock is busy N/X grows as N^2, so X falls as 1/N:
collapse, while a queued (MCS) lock would stay at 1/s. With c = 0 it is the machine repairman.

Source: S. Boyd-Wickizer, M. F. Kaashoek, R. Morris and N. Zeldovich, "Non-scalable locks are
dangerous", Linux Symposium 2012, section 3: their a, s and c, their s_k = 1 / (s + c k / 2) from
k + 1 at the lock to k. In it each arrival slows the service that is going on.
"""


def _both_us(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    """Mean time to the next departure from the pair, with k = 1..max(threads) in it."""
    return in_series_us(_ticket_hold_us(threads, params), params["j_us"])


def _two_queue_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return 1e6 * closed_rate_per_us(threads, params["Z_us"], _both_us(threads, params))


def _two_queue_box(threads: FloatArray, rates: FloatArray) -> Box:
    """Of all four times: no demand is longer than 1/X."""
    lock = _ticket_box(threads, rates)
    return {**lock, "j_us": lock["s_us"]}


TWO_QUEUE = Law("two_queue", (*TIMES, LawParameter("j_us", "us")), _two_queue_per_s, _two_queue_box)
"""A lock and a second queue: what the journal lets through when the lock is gone.

N threads work alone for a mean Z, queue for a lock and then for a second, FIFO resource with
demand j an operation (the journal, a disk, a cache line of one counter). The lock is
Boyd-Wickizer's ticket lock, h(k) = s + c (k - 1)/2 with k at the lock; c = 0 makes it a plain hold.
A product-form network, so X is exact: closed_chain.py replaces both queues by one.

The second queue softens the knee and, where j > s, is the ceiling 1/j until the lock collapses
under its own waiters. The order of the two does not matter, nor does how often an operation
passes through either.

Sources: boyd_wickizer.py for the lock; F. Baskett, K. M. Chandy, R. R. Muntz and F. G. Palacios,
"Open, Closed, and Mixed Networks of Queues with Different Classes of Customers", J. ACM 22(2),
1975 (product form).
"""


def _think_us(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return params["Z_us"] + params["moved_us"] * (1 - 1 / threads)


def _repairman_sharing_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    hold_us = params["s_us"] * np.ones_like(at_the_lock(threads))
    return 1e6 * closed_rate_per_us(threads, _think_us(threads, params), hold_us)


def _two_queue_sharing_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return 1e6 * closed_rate_per_us(threads, _think_us(threads, params), _both_us(threads, params))


def _with_moved(law: Law) -> Callable[[FloatArray, FloatArray], Box]:
    def box(threads: FloatArray, rates: FloatArray) -> Box:
        its = law.box(threads, rates)
        longest = its["Z_us"][1]
        return {**its, "moved_us": (1e-2 * longest, longest)}

    return box


_MOVED = LawParameter("moved_us", "us")

REPAIRMAN_SHARING = Law(
    "repairman_sharing",
    (*MACHINE_REPAIRMAN.parameters, _MOVED),
    _repairman_sharing_per_s,
    _with_moved(MACHINE_REPAIRMAN),
)
"""Lines that several threads write: work outside the lock costs more when it is not alone.

Outside the lock an operation writes cache lines that the others write too (counters of the super
block, the journal's atomics). Such a line is in the own cache only if this thread was the last to
write it. N threads that come in any order are equally likely to have been the last, so a share
1 - 1/N of the operations fetches the lines, c in all:

    Z(N) = Z + c (1 - 1/N)

One thread alone never pays, two pay half, many pay c: the rate of one thread lies above what the
others point to. The lock and the second queue behind it see the longer think time, no more: nobody
waits for a line.

    repairman_sharing   machine repairman, Z(N) in place of Z
    two_queue_sharing   lock with collapse and second queue, Z(N) in place of Z

Derived here. c and Z are distinguished by the smallest thread counts alone.
"""
TWO_QUEUE_SHARING = Law(
    "two_queue_sharing", (*TWO_QUEUE.parameters, _MOVED), _two_queue_sharing_per_s, _with_moved(TWO_QUEUE)
)
