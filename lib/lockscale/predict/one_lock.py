# SPDX-License-Identifier: MIT
"""N threads that work, then take one lock: the unpatched side from what was seen of it, and the same with a
patch.

An operation works for a time outside of the lock, waits for it in FIFO order and holds it; both times are
exponential, so that the network is solved exactly (queueing/closed_chain.py). The share of the threads' time
that is spent waiting, at N threads, says how long the lock is held against the rest: with one lock

    wait share = 1 - X (Z + s) / N

A patch changes the visits, the hold, or how many locks there are: K of which each operation needs a certain
one, or K of which any free one will do, as where a thread that meets a held lock goes on to the next.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize

from lockscale.predict.patch_language import Change
from lockscale.queueing.closed_chain import closed_rate_per_us
from lockscale.queueing.model import FloatArray

SHORTEST, LONGEST = 1e-6, 1e3  # of a hold, in times the work outside
MOST_WAIT = 0.98
MOST_THREADS = 4096  # more are reckoned as that many: the curve is flat there


@dataclass(frozen=True)
class OneLock:
    """Times of an operation of one thread in us, without waiting: outside of the lock, and holding it."""

    outside_us: float
    hold_us: float

    def rate_per_s(self, threads: int, change: Change | None = None) -> float:
        """Operations of all threads; patched, if there is a change."""
        n = min(threads, MOST_THREADS)
        hold_us = _hold_us(self.hold_us, n, change)
        # what batching or avoiding saves of the work is in the hold alone: the rest is still done
        rate = closed_rate_per_us(np.array([float(n)]), self.outside_us, hold_us)
        return float(1e6 * rate[0])

    def wait_share(self, threads: int) -> float:
        """Of the threads' time."""
        rate_per_us = self.rate_per_s(threads) / 1e6
        return 1 - rate_per_us * (self.outside_us + self.hold_us) / min(threads, MOST_THREADS)

    def busy(self, threads: int) -> float:
        """The share of the time in which somebody holds the lock, 0 to 1: utilisation of so many threads."""
        return self.rate_per_s(threads) * self.hold_us / 1e6

    def gain(self, threads: int, change: Change) -> float:
        """The promise of a patch: the rate with it over the rate without, if nothing else is in the way."""
        return self.rate_per_s(threads, change) / self.rate_per_s(threads)


def _hold_us(hold_us: float, threads: int, change: Change | None) -> FloatArray:
    """Mean time to the next release with k = 1..threads at the lock."""
    k = np.arange(1.0, threads + 1)
    if change is None:
        return np.full(threads, hold_us)
    one_us = hold_us * change.hold * change.visits
    if change.pooled:
        return np.asarray(one_us / np.minimum(k, change.parts))
    # K single queues, each asked for as often: with k threads in them k K / (k + K - 1) / K are at work
    return np.asarray(one_us * (k + change.parts - 1) / (k * change.parts))


def from_wait_share(wait_share: float, threads: int, rate_per_s: float | None = None) -> OneLock:
    """One whose threads wait that share of their time; where the rate is unknown, an operation is 1 us."""
    share = min(max(wait_share, 0.0), MOST_WAIT)

    def off(log_ratio: float) -> float:
        return OneLock(1.0, float(np.exp(log_ratio))).wait_share(threads) - share

    low, high = np.log(SHORTEST), np.log(LONGEST)
    if off(low) >= 0 or threads < 2:
        found = OneLock(1.0, SHORTEST)
    elif off(high) <= 0:
        found = OneLock(1.0, LONGEST)
    else:
        found = OneLock(1.0, float(np.exp(brentq(off, low, high, xtol=1e-4))))
    scale = found.rate_per_s(threads) / rate_per_s if rate_per_s else 1 / (1 + found.hold_us)
    return OneLock(found.outside_us * scale, found.hold_us * scale)


def from_rates(rates_per_s: Mapping[int, float]) -> OneLock:
    """The unpatched side that comes nearest to the logarithms of these rates; at least two thread counts."""
    threads = np.array(sorted(rates_per_s), dtype=float)
    logs = np.log([rates_per_s[int(n)] for n in threads])
    work_us = 1e6 * threads[0] / rates_per_s[int(threads[0])]

    def off(at: FloatArray) -> float:
        outside_us, hold_us = np.exp(at)
        rates = closed_rate_per_us(
            np.minimum(threads, MOST_THREADS),
            float(outside_us),
            np.full(min(int(threads[-1]), MOST_THREADS), float(hold_us)),
        )
        return float(((np.log(1e6 * rates) - logs) ** 2).sum())

    starts = [np.log([work_us * (1 - part), work_us * part]) for part in (0.3, 0.05, 0.005)]
    best = min((minimize(off, start, method="Nelder-Mead") for start in starts), key=lambda end: end.fun)
    return OneLock(*(float(time_us) for time_us in np.exp(best.x)))


def off_by_pct(base: OneLock, rates_per_s: Mapping[int, float]) -> float:
    """The median of how far calculated unpatched rates are from the measured ones, in percent."""
    misses = [abs(np.log(base.rate_per_s(n) / rate)) for n, rate in rates_per_s.items()]
    return float(100 * np.expm1(np.median(misses)))
