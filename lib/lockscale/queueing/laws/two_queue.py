# SPDX-License-Identifier: MIT
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
1975 (product form). Units: microseconds, rates per second. Domain: N >= 1, Z, s, c, j >= 0,
not all 0.
"""

from collections.abc import Mapping

from lockscale.queueing.closed_chain import closed_rate_per_us, in_series_us
from lockscale.queueing.columns import FloatArray
from lockscale.queueing.laws.boyd_wickizer import TIMES, search_box, ticket_hold_us
from lockscale.queueing.model import Box, Law, Parameter


def both_us(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    """Mean time to the next departure from the pair, with k = 1..max(threads) in it."""
    return in_series_us(ticket_hold_us(threads, params), params["j_us"])


def _rate_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return 1e6 * closed_rate_per_us(threads, params["Z_us"], both_us(threads, params))


def two_queue_box(threads: FloatArray, rates: FloatArray) -> Box:
    """Of all four times: no demand is longer than 1/X."""
    lock = search_box(threads, rates)
    return {**lock, "j_us": lock["s_us"]}


TWO_QUEUE = Law("two_queue", (*TIMES, Parameter("j_us", "us")), _rate_per_s, two_queue_box)
