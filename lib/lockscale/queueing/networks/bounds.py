# SPDX-License-Identifier: MIT
"""Between which rates a closed network must lie, from its demands alone.

D = sum of the demands D_i, D_max the largest and D_avg their mean over the queues, Z the work
outside them.

Asymptotic: at worst every thread waits for all the others everywhere, at best nobody waits until
the largest demand is the limit.

    N / (Z + N D)  <=  X(N)  <=  min(N / (Z + D), 1 / D_max)

Balanced job: a network with all demands equal is solved in closed form, is better than any other
of the same D, and one with all demands D_max is worse.

    N / (Z + D + (N-1) D_max / (1 + Z/(N D)))  <=  X(N)
    X(N)  <=  min(1 / D_max, N / (Z + D + (N-1) D_avg / (1 + Z/D)))

Asymptotic bounds hold for any service distribution; balanced job bounds need the product form of
mva.py, and a lock that slows down under its waiters obeys neither lower bound.

Sources: E. D. Lazowska, J. Zahorjan, G. S. Graham and K. C. Sevcik, "Quantitative System
Performance", Prentice-Hall 1984, chapter 5; J. Zahorjan, K. C. Sevcik, D. L. Eager
and B. Galler, "Balanced Job Bound Analysis of Queueing Networks", Comm. ACM 25(2), 1982. Units:
microseconds, rates per second. Domain: as mva.py, and at least one demand above 0.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.columns import FloatArray
from lockscale.queueing.networks.mva import network


@dataclass(frozen=True)
class Bounds:
    """Lowest and highest possible rate at each thread count, per second, both (n,)."""

    low_per_s: FloatArray
    high_per_s: FloatArray


def asymptotic(threads: npt.ArrayLike, think_us: float, demands_us: npt.ArrayLike) -> Bounds:
    """Bounds for any distribution of service. Raises BadInput outside the domain."""
    n, think, demands = _queues(threads, think_us, demands_us)
    total = demands.sum()
    best = np.minimum(n / (think + total), 1 / demands.max())
    return Bounds(1e6 * n / (think + n * total), 1e6 * best)


def balanced_job(threads: npt.ArrayLike, think_us: float, demands_us: npt.ArrayLike) -> Bounds:
    """Closer bounds, for exponential service. Raises BadInput outside the domain."""
    n, think, demands = _queues(threads, think_us, demands_us)
    total, longest = demands.sum(), demands.max()
    worst_wait = (n - 1) * longest / (1 + think / (n * total))
    best_wait = (n - 1) * demands.mean() / (1 + think / total)
    best = np.minimum(n / (think + total + best_wait), 1 / longest)
    return Bounds(1e6 * n / (think + total + worst_wait), 1e6 * best)


def _queues(
    threads: npt.ArrayLike, think_us: float, demands_us: npt.ArrayLike
) -> tuple[FloatArray, float, FloatArray]:
    n, think, demands = network(threads, think_us, demands_us)
    if not demands.any():
        raise BadInput("all demands are 0: a network that never queues has no bounds to ask for.")
    return n, think, demands
