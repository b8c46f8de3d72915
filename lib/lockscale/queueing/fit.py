# SPDX-License-Identifier: MIT
"""Fit a model to a table of rates, say what the table can tell and what it cannot, and predict.

The interval of each parameter is from the profile of the sum of squares.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import cast, overload

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.fitted import Estimate, Fit
from lockscale.queueing.interval import Noise, crossing, noise
from lockscale.queueing.model import FloatArray, QueueingModel, check_params
from lockscale.queueing.points import Points, points, stacked
from lockscale.queueing.search import NO_RATE, Optimum, Problem, problem_of, search
from lockscale.queueing.shared import Shared, of_one

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


Column = tuple[npt.ArrayLike, npt.ArrayLike] | Points
Table = Column | Mapping[str, Column]
"""Thread counts and values of one column, or of several columns by name."""


@overload
def fit(
    table: Table,
    model: QueueingModel,
    /,
    *,
    share: Collection[str] = (),
    fixed: Mapping[str, float] | None = None,
    n_min: int = 1,
) -> Fit: ...


@overload
def fit(
    threads: npt.ArrayLike,
    values: npt.ArrayLike,
    model: QueueingModel,
    /,
    *,
    fixed: Mapping[str, float] | None = None,
    n_min: int = 1,
    weights: npt.ArrayLike | None = None,
) -> Fit: ...


def fit(
    table: object,
    values: object,
    model: QueueingModel | None = None,
    /,
    *,
    share: Collection[str] = (),
    fixed: Mapping[str, float] | None = None,
    n_min: int = 1,
    weights: npt.ArrayLike | None = None,
) -> Fit:
    """Least squares on ln(value / model), with profile-likelihood 95% intervals.

    `fit((threads, values), model)`, or the same without the brackets. threads, values: shape (rows,),
    rates per second; rows of one thread count are repeats. fixed: parameters known from elsewhere. n_min
    leaves out smaller thread counts. weights: number of runs behind each row. Several columns
    {name: (threads, values)} are fitted at once: the parameters named in `share` are one number for
    all, any other p is p[name]; their noise is taken to be the same share of the rate. Raises BadInput
    for a table or a parameter that cannot be used.
    """
    if model is None:
        column, model = cast(Table, table), cast(QueueingModel, values)
    else:
        column = cast(Column, (table, values))
    if isinstance(column, Mapping):
        columns = {str(name): _points(one, n_min, weights) for name, one in column.items()}
        return fit_shared(columns, model, share, fixed or {})
    if share:
        raise BadInput("share needs several columns: give a table {name: (threads, values)}.")
    return fit_points(_points(column, n_min, weights), model, fixed or {})


def _points(column: Column, n_min: int, weights: npt.ArrayLike | None) -> Points:
    if isinstance(column, Points):
        return column.at_least(n_min)
    if not isinstance(column, tuple | list) or len(column) != 2:
        raise BadInput(
            "a column is a pair (threads, values): give both, or use lockscale.fitting.fit for files and "
            "data frames."
        )
    threads, values = column
    return points(threads, values, weights=weights, n_min=n_min)


def fit_points(table: Points, model: QueueingModel, fixed: Mapping[str, float]) -> Fit:
    """`fit` for one column that is checked already."""
    check_params(model, fixed)
    return _fit(model, table, fixed)


def fit_shared(
    columns: Mapping[str, Points], model: QueueingModel, share: Collection[str], fixed: Mapping[str, float]
) -> Fit:
    """`fit` for several columns that are checked already."""
    known = [p.name for p in model.parameters]
    if isinstance(share, str) or not share or not set(share) <= set(known):
        raise BadInput(f"share = {share!r}: name parameters of {model.name} in a list: {', '.join(known)}.")
    if len(columns) < 2:
        raise BadInput(f"share needs several columns and the table has {len(columns)}.")
    shared = Shared(model, tuple(columns), frozenset(share))
    check_params(shared, fixed)
    return _fit(shared, stacked(columns), fixed)


def _enough(problem: Problem) -> None:
    if len(problem.free) > len(problem.points):
        raise BadInput(
            f"model {problem.model.name} has {len(problem.free)} free parameters and the table "
            f"{len(problem.points)} thread count(s): measure more of them or fix parameters."
        )


def _fit(model: QueueingModel, table: Points, fixed: Mapping[str, float]) -> Fit:
    problem = problem_of(model, table, fixed)
    _enough(problem)
    with getattr(of_one(model), "while_fitted", nullcontext)():
        return _fitted(problem, search(problem))


def _fitted(problem: Problem, optima: Sequence[Optimum]) -> Fit:
    best = optima[0]
    if np.any(problem.misses(best.x) == NO_RATE):
        raise BadInput(
            f"model {problem.model.name} gives no rate with {dict(problem.fixed)}: fix other values."
        )
    found = noise(problem.points, best.ss, len(problem.free))
    return Fit(problem, best, found, estimates(problem, optima, found))
