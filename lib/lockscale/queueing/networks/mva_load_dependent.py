# SPDX-License-Identifier: MIT
"""Exact closed networks whose stations change their speed with their queue.

Station i with k threads there works at speed a_i(k), so it lets one go every D_i / a_i(k):
a(k) = 1 is a FIFO queue, min(k, c) is c servers, k a delay, 1/(1 + b (k - 1)) a lock that
collapses. The network is of product form:

    f_i(k) = D_i^k / (a_i(1) .. a_i(k)),    f_0(k) = Z^k / k!  for the work on their own,
    G = f_0 * f_1 * ..  (convolution),      X(N) = G(N-1) / G(N),
    P(k threads at i) = f_i(k) G_i(N-k) / G(N),   G_i the convolution of the others

Sums of positive terms, as logarithms: unlike the load-dependent mean value analysis, whose
p(0) = 1 - sum is lost at saturation, this stays exact. Cost: stations^2 x N^2, so N <= 1000.

Source: J. P. Buzen, "Computational Algorithms for Closed Queueing Networks with Exponential
Servers", Comm. ACM 16(9), 1973. Units: microseconds, rates per second.
"""

from functools import reduce

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, logsumexp, xlogy

from lockscale.errors import BadInput
from lockscale.queueing.columns import FloatArray
from lockscale.queueing.networks.mva import Solution, network

MOST_THREADS = 1000


def load_dependent(
    threads: npt.ArrayLike, think_us: float, demands_us: npt.ArrayLike, speeds: npt.ArrayLike
) -> Solution:
    """speeds: a_i(k) > 0 for k = 1..max(threads), shape (stations, at least max(threads)).

    Raises BadInput outside the domain and above MOST_THREADS threads.
    """
    n, think, demands = network(threads, think_us, demands_us)
    top = int(n.max())
    speed = _speeds(speeds, len(demands), top)
    k = np.arange(top + 1)
    logs = [xlogy(k, think) - gammaln(k + 1)]
    for demand, row in zip(demands, speed, strict=True):
        logs.append(xlogy(k, demand) - np.concatenate([[0.0], np.cumsum(np.log(row))]))
    place = n.astype(np.int64)
    whole = reduce(_convolve, logs)
    numbers = [_mean_number(logs, i, whole) for i in range(1, len(logs))]
    rates: FloatArray = 1e6 * np.exp(whole[place - 1] - whole[place])
    return Solution(rates, np.array(numbers).T[place])


def _speeds(speeds: npt.ArrayLike, stations: int, top: int) -> FloatArray:
    if top > MOST_THREADS:
        raise BadInput(f"{top} threads: a load-dependent network is solved up to {MOST_THREADS}.")
    try:
        speed = np.atleast_2d(np.asarray(speeds, dtype=np.float64))
    except (TypeError, ValueError):
        raise BadInput("speeds must be numbers, one row for each station.") from None
    good = speed.ndim == 2 and speed.shape[0] == stations and speed.shape[1] >= top
    if not good or not ((speed[:, :top] > 0) & (speed[:, :top] < np.inf)).all():
        raise BadInput(
            f"speeds has shape {speed.shape}: give {stations} row(s) of at least {top} numbers above 0."
        )
    return speed[:, :top]


def _convolve(a: FloatArray, b: FloatArray) -> FloatArray:
    """ln of the convolution of exp(a) and exp(b), both (top + 1,)."""
    size = len(a)
    other = np.arange(size)[:, None] - np.arange(size)
    terms = np.where(other < 0, -np.inf, a + b[np.maximum(other, 0)])
    logs: FloatArray = logsumexp(terms, axis=1)
    return logs


def _mean_number(logs: list[FloatArray], i: int, whole: FloatArray) -> FloatArray:
    """Mean number of threads at station i, for every population 0..top."""
    own = logs[i] + np.log(np.maximum(np.arange(len(whole)), 1e-300))
    own[0] = -np.inf
    others = reduce(_convolve, logs[:i] + logs[i + 1 :])
    number: FloatArray = np.exp(_convolve(own, others) - whole)
    return number
