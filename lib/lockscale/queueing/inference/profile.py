# SPDX-License-Identifier: MIT
"""The interval of each parameter, from the profile of the sum of squares, and its status."""

from collections.abc import Sequence

import numpy as np

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.inference.fitted import Estimate
from lockscale.queueing.inference.interval import Noise, crossing
from lockscale.queueing.inference.search import Optimum, Problem

SAME = 0.01  # of a box: two optima nearer than this are one


def estimates(problem: Problem, optima: Sequence[Optimum], found: Noise | None) -> tuple[Estimate, ...]:
    """One for each free parameter; optima has the best first."""
    return tuple(_estimate(problem, optima, found, k) for k in range(len(problem.free)))


def _estimate(problem: Problem, optima: Sequence[Optimum], found: Noise | None, k: int) -> Estimate:
    p, at = problem.free[k], float(optima[0].x[k])
    value = problem.value(k, at)
    if found is None:
        return Estimate(p.name, p.unit, value, None, None, "calibrated")
    ends = [_end(problem, optima, found, k, float(bounds[k])) for bounds in problem.bounds]
    low, high = (None if end is None else problem.value(k, end) for end in ends)
    status = "identified"
    if low is None or high is None:
        status = "open-high" if high is None else "open-low"
    if value == p.high or (value == p.low and not (p.positive and p.low == 0)):
        status = "at-bound"
    if low is None:
        low = p.low
    if high is None and np.isfinite(p.high):
        high = p.high
    return Estimate(p.name, p.unit, value, low, high, status)


def _end(problem: Problem, optima: Sequence[Optimum], found: Noise, k: int, bound: float) -> float | None:
    """Coordinate where the profile of parameter k leaves the interval towards bound.

    None if the data do not exclude the bound, to which there may be a way that no profile goes along
    (one parameter takes over another's part), so it is searched for there anew. Two optima that the
    data cannot tell apart (two queues that change places, a kink on either side of a point) both
    belong to the interval: the search goes outwards from the last of them, and follows that one and
    the best.
    """
    best = optima[0]
    if _reaches(problem, optima, k, bound, best.ss + found.excluding):
        return None
    rivals = [one for one in optima if one.ss - best.ss < found.limit]
    outermost = min(rivals, key=lambda one: abs(float(one.x[k]) - bound))
    apart = np.abs(outermost.x - best.x).max() > SAME
    known: dict[bytes, Optimum] = {}
    trails = [_Trail(problem, one, k, known) for one in ([outermost, best] if apart else [outermost])]

    def excess(at: float) -> float:
        least = np.inf
        for trail in trails:
            least = min(least, trail.ss(at) - best.ss)
            if least <= found.limit:
                break  # inside: the others cannot change that
        return float(np.sqrt(max(least, 0.0)) - np.sqrt(found.limit))

    return crossing(excess, float(outermost.x[k]), _wald_step(outermost, found, k), bound)


def _reaches(problem: Problem, optima: Sequence[Optimum], k: int, bound: float, enough: float) -> bool:
    """Whether some sum of squares with coordinate k on the bound is no more than `enough`."""
    there = np.array([one.x for one in optima if one.ss <= enough])
    there[:, k] = bound
    if np.any(np.sum(problem.many_residuals(there) ** 2, axis=1) <= enough):
        return True
    return problem.least_ss(k, bound, enough) <= enough


class _Trail:
    """The profile of parameter k as it is followed from one optimum; trails that meet share what is known."""

    def __init__(self, problem: Problem, start: Optimum, k: int, known: dict[bytes, Optimum]) -> None:
        self.problem, self.start, self.k, self.known = problem, start.x, k, known
        self.along, self.warm = _tangent(start, k), start.x

    def ss(self, at: float) -> float:
        ahead = self.start + self.along * (at - self.start[self.k])
        starts = [self.warm, np.clip(ahead, *self.problem.bounds)]
        optimum = self.problem.minimise_near(starts, {self.k: at}, self.known)
        self.warm = optimum.x
        return optimum.ss


def _tangent(best: Optimum, k: int) -> FloatArray:
    """How the other coordinates follow coordinate k along its profile, where the model is linear."""
    others = np.arange(len(best.x)) != k
    along = np.ones(len(best.x))
    along[others] = -np.linalg.lstsq(best.jacobian[:, others], best.jacobian[:, k], rcond=1e-9)[0]
    return along


def _wald_step(best: Optimum, found: Noise, k: int) -> float:
    """Half width if the model were linear: only a first guess for the profile."""
    with np.errstate(all="ignore"):
        spread = np.linalg.pinv(best.jacobian.T @ best.jacobian)[k, k] * found.limit
    step = float(np.sqrt(max(spread, 0.0)))
    return step if 1e-12 < step < 1e3 else 0.1 * max(abs(float(best.x[k])), 1e-3)
