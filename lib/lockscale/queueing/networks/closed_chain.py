# SPDX-License-Identifier: MIT
"""Exact solution of N threads that think, then queue where the speed depends on the queue.

Markov chain with k = 0..N threads at the lock: k to k + 1 at rate (N - k)/Z, back from k at rate
1/h(k). The detailed balance of the chain, and of every closed network that the flow-equivalent
theorem reduces to it, gives

    p(k) ~ Z^(N-k) / (N-k)!  x  h(1) h(2) ... h(k),        X(N) = sum over k of p(k) / h(k)

Every term is positive and is summed as a logarithm, so nothing cancels or overflows: exact to
1e-11 up to some thousand threads. Two queues in series are one queue to the threads that think:

    h(k) = B(k) / B(k-1),   B(k) = sum over i <= k of f(1) .. f(i)  j^(k-i)

with f(i) the first queue's mean time to the next departure and j the second's demand. With r(k)
the probability that the second is empty: h(k) = j + r(k-1) f(k), r(k) = r(k-1) f(k) / h(k).

Sources: L. Kleinrock, "Queueing Systems" vol. 1, Wiley 1975, chapter 3 (birth-death chains);
K. M. Chandy, U. Herzog and L. Woo, "Parametric Analysis of Queuing Networks", IBM J. R&D 19(1),
1975 (flow equivalence). Units: microseconds, rates per microsecond.
"""

from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from lockscale.errors import BadInput
from lockscale.queueing.columns import FloatArray

MAX_STATES = 4_000_000
CACHED_STATES = 20_000
SHORTEST_US = 1e-200  # stands for a time of 0, whose logarithm there is not


def at_the_lock(threads: FloatArray) -> FloatArray:
    """k = 1, 2, ... up to the largest thread count: how many may be at the lock."""
    return np.arange(1.0, threads.max() + 1)


def closed_rate_per_us(threads: FloatArray, think_us: float | FloatArray, hold_us: FloatArray) -> FloatArray:
    """Departures per microsecond at each thread count, shape (n,).

    think_us: Z, one or (n,). hold_us: h(k) for k = 1..max(threads), mean time to the next departure
    with k threads at the lock. Raises BadInput where the chains have too many states in all.
    """
    states = threads.size * (len(hold_us) + 1)
    if states > MAX_STATES:
        raise BadInput(
            f"{threads.size} thread counts up to {len(hold_us)} need {states:.2g} states in this model, "
            f"more than {MAX_STATES:.0e}: leave out some of the largest thread counts."
        )
    grid = _cached_grid if states <= CACHED_STATES else _grid
    thinking, logs = grid(threads.tobytes(), len(hold_us))
    hold = np.maximum(hold_us, SHORTEST_US)
    log_think = np.log(np.maximum(think_us, SHORTEST_US))
    logs = logs + thinking * np.reshape(log_think, (-1, 1))
    logs[:, 1:] += np.log(hold).cumsum()
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    rates: FloatArray = weights[:, 1:] @ (1 / hold) / weights.sum(axis=1)
    return rates


def _grid(threads: bytes, top: int) -> tuple[FloatArray, FloatArray]:
    """N - k, and -ln (N - k)! or -infinity where k > N; both (n, top + 1)."""
    left = np.frombuffer(threads)[:, None] - np.arange(top + 1.0)
    thinking = np.maximum(left, 0)
    return thinking, np.where(left < 0, -np.inf, -gammaln(thinking + 1))


# A fit asks for the same thread counts some thousand times.
_cached_grid = lru_cache(maxsize=64)(_grid)


def in_series_us(first_us: FloatArray, second_us: float) -> FloatArray:
    """h(k) of a queue with f(k) = first_us[k - 1] and a FIFO queue of demand second_us, in us."""
    empty, both = 1.0, []
    for first in first_us.tolist():
        through_first = empty * first
        both.append(second_us + through_first)
        empty = through_first / both[-1] if both[-1] > 0 else 1.0
    return np.array(both)
