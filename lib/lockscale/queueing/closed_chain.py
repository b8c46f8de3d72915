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
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from lockscale.errors import BadInput
from lockscale.queueing.model import FloatArray

MAX_STATES = 4_000_000
CACHED_STATES = 100_000
STATES_AT_ONCE = 500_000  # of all sets of times: what fits a cache
SHORTEST_US = 1e-200  # stands for a time of 0, whose logarithm there is not


def at_the_lock(threads: FloatArray) -> FloatArray:
    """k = 1, 2, ... up to the largest thread count: how many may be at the lock."""
    return np.arange(1.0, threads.max() + 1)


def closed_rate_per_us(threads: FloatArray, think_us: float | FloatArray, hold_us: FloatArray) -> FloatArray:
    """Departures per microsecond at each thread count, shape (n,); for S sets of times (S, n).

    think_us: Z, one or (n,), or (S, 1 or n). hold_us: h(k) for k = 1..max(threads), mean time to the
    next departure with k threads at the lock, (top,) or (S, top). Raises BadInput where the chains have
    too many states in all.
    """
    top = hold_us.shape[-1]
    states = threads.size * (top + 1)
    if states > MAX_STATES:
        raise BadInput(
            f"{threads.size} thread counts up to {top} need {states:.2g} states in this model, "
            f"more than {MAX_STATES:.0e}: leave out some of the largest thread counts."
        )
    at_once = max(STATES_AT_ONCE // states, 1)
    think = np.asarray(think_us, dtype=np.float64)
    sets = max(len(times) if times.ndim > 1 else 1 for times in (think, hold_us))
    if sets <= at_once:
        return _rates(threads, think, hold_us)
    hold = np.broadcast_to(hold_us, (sets, top))
    think = np.broadcast_to(think, (sets, think.shape[-1] if think.ndim else 1))
    parts = [slice(k, k + at_once) for k in range(0, sets, at_once)]
    return np.concatenate([_rates(threads, think[part], hold[part]) for part in parts])


class _States(NamedTuple):
    """k = 0..N of every thread count, in one row (states,): k, N - k and -ln (N - k)!.

    first and size of each thread count in the row, (n,); place of the states in a table (n, top + 1).
    """

    k: npt.NDArray[np.intp]
    thinking: FloatArray
    log_orders: FloatArray
    first: npt.NDArray[np.intp]
    size: npt.NDArray[np.intp]
    place: npt.NDArray[np.intp]


def _rates(threads: FloatArray, think_us: FloatArray, hold_us: FloatArray) -> FloatArray:
    top = hold_us.shape[-1]
    states_of = _cached_states if threads.size * (top + 1) <= CACHED_STATES else _states
    k, thinking, log_orders, first, size, place = states_of(threads.tobytes(), top)
    hold = np.maximum(hold_us, SHORTEST_US)
    log_think = np.log(np.maximum(think_us, SHORTEST_US))
    if log_think.ndim and log_think.shape[-1] > 1:
        log_think = log_think.repeat(size, axis=-1)
    log_holds = np.zeros((*hold.shape[:-1], top + 1))
    np.log(hold).cumsum(axis=-1, out=log_holds[..., 1:])
    logs = log_orders + thinking * log_think + log_holds.take(k, axis=-1)
    logs -= np.maximum.reduceat(logs, first, axis=-1).repeat(size, axis=-1)
    table = np.zeros((*logs.shape[:-1], threads.size * (top + 1)))
    table[..., place] = np.exp(logs, out=logs)
    weights = table.reshape(*logs.shape[:-1], threads.size, top + 1)
    rates: FloatArray = (weights[..., 1:] @ (1 / hold)[..., None])[..., 0] / weights.sum(axis=-1)
    return rates


def _states(threads: bytes, top: int) -> _States:
    counts = np.frombuffer(threads)
    left = counts[:, None] - np.arange(top + 1)
    count, k = np.nonzero(left >= 0)
    thinking, size = left[count, k], counts.astype(np.intp) + 1
    place = count * (top + 1) + k
    return _States(k, thinking, -gammaln(thinking + 1), size.cumsum() - size, size, place)


# A fit asks for the same thread counts some thousand times.
_cached_states = lru_cache(maxsize=32)(_states)


def in_series_us(first_us: FloatArray, second_us: float | FloatArray) -> FloatArray:
    """h(k) of a queue with f(k) = first_us[k - 1] and a FIFO queue of demand second_us, in us.

    first_us: (top,) or (S, top); second_us: one, or (S, 1).
    """
    if max(first_us.ndim, np.ndim(second_us)) > 1:
        return _many_in_series_us(np.atleast_2d(first_us), np.reshape(second_us, (-1, 1)))
    second, empty, both = float(second_us), 1.0, []
    for first in first_us.tolist():
        through_first = empty * first
        departure = second + through_first
        both.append(departure)
        empty = through_first / departure if departure > 0 else 1.0
    return np.array(both)


def _many_in_series_us(first_us: FloatArray, second_us: FloatArray) -> FloatArray:
    log_second = np.log(np.maximum(second_us, SHORTEST_US))
    shares = np.log(np.maximum(first_us, SHORTEST_US)) - log_second
    begun = np.zeros((len(shares), 1))
    # ln of B(k) / j^k, k = 0, 1, ..
    sums = np.logaddexp.accumulate(np.concatenate([begun, shares.cumsum(axis=1)], axis=1), axis=1)
    return np.asarray(np.exp(np.diff(sums, axis=1) + log_second))
