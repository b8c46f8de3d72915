# SPDX-License-Identifier: MIT
"""Fit a model to a table of rates, say what the table can tell and what it cannot, and predict.

The interval of each parameter is from the profile of the sum of squares.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.fitted import Estimate, Fit
from lockscale.queueing.interval import Noise, crossing, noise
from lockscale.queueing.model import FloatArray, LawParameter, QueueingModel, check_params
from lockscale.queueing.points import Points, points, stacked
from lockscale.queueing.search import NO_RATE, Optimum, Problem, problem_of, search
from lockscale.queueing.shared import Shared, of_one

SAME = 0.01  # of a box: two optima nearer than this are one


def estimates(problem: Problem, optima: Sequence[Optimum], found: Noise | None) -> tuple[Estimate, ...]:
    """One for each parameter of the model; optima has the best first."""
    places = {p.name: k for k, p in enumerate(problem.free)}
    return tuple(
        _estimate(problem, optima, found, places[p.name]) if p.name in places else _given(problem, p)
        for p in problem.model.parameters
    )


def _given(problem: Problem, p: LawParameter) -> Estimate:
    value = float(problem.fixed[p.name])
    return Estimate(p.name, p.unit, value, value, value, "fixed")


def _estimate(problem: Problem, optima: Sequence[Optimum], found: Noise | None, k: int) -> Estimate:
    p, at = problem.free[k], float(optima[0].x[k])
    value = float(problem.value(k, at))
    if found is None:
        return Estimate(p.name, p.unit, value, None, None, "calibrated")
    ends = [_end(problem, optima, found, k, float(bounds[k])) for bounds in problem.bounds]
    low, high = (None if end is None else float(problem.value(k, end)) for end in ends)
    status = "open-high" if high is None else "open-low" if low is None else "identified"
    # to the digits of exp(log(bound)), which are not always all
    on_low, on_high = (math.isclose(value, bound, rel_tol=1e-12) for bound in (p.low, p.high))
    if on_high or (on_low and not (p.positive and p.low == 0)):
        status = "at-bound"
    low = p.low if low is None else low
    high = p.high if high is None and np.isfinite(p.high) else high
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


Table = Points | tuple[npt.ArrayLike, npt.ArrayLike]
"""Thread counts and rates per second, checked already or not."""


def fit_model(
    table: Table | Mapping[str, Table],
    model: QueueingModel,
    *,
    share: Collection[str] = (),
    fixed: Mapping[str, float] | None = None,
) -> Fit:
    """Least squares on ln(value / model), with profile-likelihood 95% intervals.

    table: a pair (threads, values), rates per second, rows of one thread count being repeats; or `points`
    of them. fixed: parameters known from elsewhere. Several tables {name: table} are fitted at once: the
    parameters named in `share` are one number for all, any other p is p[name]; their noise is taken to be
    the same share of the rate. Raises BadInput for a table or a parameter that cannot be used.
    """
    if isinstance(table, Mapping):
        columns = {str(name): as_points(one) for name, one in table.items()}
        model, one = _shared(model, columns, share), stacked(columns)
    elif share:
        raise BadInput("share needs several columns: give a table {name: (threads, values)}.")
    else:
        one = as_points(table)
    known = {} if fixed is None else fixed
    check_params(model, known)
    problem = problem_of(model, one, known)
    if len(problem.free) > len(one):
        raise BadInput(
            f"model {model.name} has {len(problem.free)} free parameters and the table "
            f"{len(one)} thread count(s): measure more of them or fix parameters."
        )
    with getattr(of_one(model), "while_fitted", nullcontext)():
        return _fitted(problem, search(problem))


def as_points(table: Table) -> Points:
    """The table's points; BadInput for what is no pair of columns."""
    if isinstance(table, Points):
        return table
    if not isinstance(table, tuple | list) or len(table) != 2:
        raise BadInput(
            "a column is a pair (threads, values): give both, or use lockscale.fitting.fit for files and "
            "data frames."
        )
    return points(*table)


def _shared(model: QueueingModel, columns: Mapping[str, Points], share: Collection[str]) -> Shared:
    known = [p.name for p in model.parameters]
    if isinstance(share, str) or not share or not set(share) <= set(known):
        named = share if isinstance(share, str) else ", ".join(map(str, share)) or "nothing"
        raise BadInput(f"share names {named}: name parameters of {model.name} in a list: {', '.join(known)}.")
    if len(columns) < 2:
        raise BadInput(
            f"share needs several columns, a curve each, and the table has {len(columns)}: name the curves "
            "in a column arm, or leave share out."
        )
    return Shared(model, tuple(columns), frozenset(share))


def _fitted(problem: Problem, optima: Sequence[Optimum]) -> Fit:
    best = optima[0]
    if np.any(problem.misses(best.x) == NO_RATE):
        raise BadInput(
            f"model {problem.model.name} gives no rate with {dict(problem.fixed)}: fix other values."
        )
    found = noise(problem.points, best.ss, len(problem.free))
    return Fit(problem, best, found, estimates(problem, optima, found))
