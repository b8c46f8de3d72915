# SPDX-License-Identifier: MIT
"""Ticket lock that collapses: the hand-over takes longer the more threads spin.

N threads work alone for a mean Z, then queue for a ticket lock with critical section s. All
waiters spin on one cache line; a release makes each of them fetch it anew and the next owner gets
its turn after half of them on average, c each. With k at the lock, k - 1 of them waiting:

    h(k) = s + c (k - 1) / 2

and the chain of closed_chain.py gives X. Once the lock is busy N/X grows as N^2, so X falls as 1/N:
collapse, while a queued (MCS) lock would stay at 1/s. With c = 0 it is the machine repairman.

Source: S. Boyd-Wickizer, M. F. Kaashoek, R. Morris and N. Zeldovich, "Non-scalable locks are
dangerous", Linux Symposium 2012, section 3: their a, s and c, their s_k = 1 / (s + c k / 2) from
k + 1 at the lock to k. In it each arrival slows the service that is going on. Units: microseconds,
rates per second. Domain: N >= 1, Z >= 0, s >= 0, c >= 0, not all 0.
"""

from collections.abc import Mapping

from lockscale.queueing.closed_chain import at_the_lock, closed_rate_per_us
from lockscale.queueing.columns import FloatArray
from lockscale.queueing.model import Box, Law, Parameter


def ticket_hold_us(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    """h(k) for k = 1..max(threads)."""
    return params["s_us"] + params["c_us"] * (at_the_lock(threads) - 1) / 2


def _rate_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return 1e6 * closed_rate_per_us(threads, params["Z_us"], ticket_hold_us(threads, params))


def search_box(threads: FloatArray, rates: FloatArray) -> Box:
    """Of Z_us, s_us and c_us: the fastest cycle, the highest rate and the last point bound them."""
    cycle_us = 1e6 * float((threads / rates).min())
    service_us = 1e6 / float(rates.max())
    collapse_us = 2e6 / float(rates[threads.argmax()]) / max(float(threads.max()) - 1, 1)
    return {
        "Z_us": (1e-3 * cycle_us, 3 * cycle_us),
        "s_us": (1e-3 * service_us, service_us),
        "c_us": (1e-3 * collapse_us, 2 * collapse_us),
    }


TIMES = (Parameter("Z_us", "us"), Parameter("s_us", "us"), Parameter("c_us", "us"))

BOYD_WICKIZER = Law("boyd_wickizer", TIMES, _rate_per_s, search_box)
