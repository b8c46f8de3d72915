# SPDX-License-Identifier: MIT
"""Where to measure next, so that two models can be told apart."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.columns import check_threads
from lockscale.queueing.inference.fitted import Fit
from lockscale.queueing.inference.global_search import FEWEST


@dataclass(frozen=True)
class Candidate:
    """A thread count at which to tell two models apart; rates per second.

    separation: the distance of the models over the noise of a prediction. Above 1, one run there that
    obeys the one model excludes the other at 95%.
    """

    threads: int
    rates_per_s: tuple[float, float]
    separation: float


def tell_apart(one: Fit, other: Fit, threads: npt.ArrayLike) -> tuple[Candidate, ...]:
    """Thread counts from a list, the one that tells two fits of one table apart best first.

    Suppose that a run at N gives exactly what the one model says. How much worse does the other fit
    the table and that run, after it has adjusted its parameters? The root of that rise over its 95%
    limit is the separation; the smaller of both directions counts. This is T-optimality (A. C. Atkinson
    and V. V. Fedorov, Biometrika 62, 1975, p. 57) for one more run.
    """
    if one.noise is None or other.noise is None:
        raise BadInput("a fit without a degree of freedom knows no noise: measure more thread counts first.")
    found = []
    for n in np.unique(check_threads(threads)):
        rates = tuple(float(f.problem.model.rate(np.array([n]), f.params)[0]) for f in (one, other))
        separation = min(_rise(other, n, rates[0]), _rise(one, n, rates[1]))
        found.append(Candidate(int(n), (rates[0], rates[1]), separation))
    return tuple(sorted(found, key=lambda c: (-c.separation, c.threads)))


def _rise(one: Fit, threads: float, rate_per_s: float) -> float:
    assert one.noise is not None
    weight = one.noise.unit / one.noise.row
    table = one.points.with_row(threads, float(np.log(rate_per_s)), weight)
    problem = replace(one.problem, points=table)
    again = problem.minimise([one.best.x, *problem.starts(FEWEST)])
    return float(np.sqrt(max(again.ss - one.best.ss, 0.0) / one.noise.limit))
