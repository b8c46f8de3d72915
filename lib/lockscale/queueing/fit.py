# SPDX-License-Identifier: MIT
"""Fit a model to a table of rates, say what the table can tell and what it cannot, and predict."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.fitted import Estimate, Fit
from lockscale.queueing.interval import Noise, crossing, noise
from lockscale.queueing.model import Model, check_params
from lockscale.queueing.points import Points, points
from lockscale.queueing.search import NO_RATE, Optimum, Problem

LOCAL_STARTS = 4


def fit(
    threads: npt.ArrayLike,
    values: npt.ArrayLike,
    model: Model,
    *,
    fixed: Mapping[str, float] | None = None,
    n_min: int = 1,
    weights: npt.ArrayLike | None = None,
) -> Fit:
    """Least squares on ln(value / model), with profile-likelihood 95% intervals.

    threads, values: shape (rows,), rates per second; rows of one thread count are repeats. fixed:
    parameters known from elsewhere. n_min leaves out smaller thread counts. weights: number of
    runs behind each row. Raises BadInput for a table or a parameter that cannot be used.
    """
    return fit_points(points(threads, values, weights=weights, n_min=n_min), model, fixed or {})


def fit_points(table: Points, model: Model, fixed: Mapping[str, float]) -> Fit:
    """`fit` for a table that is checked already."""
    check_params(model, fixed)
    problem = Problem(model, table, fixed, model.search_box(table.threads, table.rate_per_s))
    if len(problem.free) > len(table):
        raise BadInput(
            f"model {model.name} has {len(problem.free)} free parameters and the table "
            f"{len(table)} thread count(s): measure more of them or fix parameters."
        )
    best = problem.minimise(problem.starts(LOCAL_STARTS))
    if np.any(problem.misses(best.x) == NO_RATE):
        raise BadInput(f"model {model.name} gives no rate with {dict(fixed)}: fix other values.")
    found = noise(table, best.ss, len(problem.free))
    estimates = tuple(_estimate(problem, best, found, k) for k in range(len(problem.free)))
    return Fit(problem, best, found, estimates)


def _estimate(problem: Problem, best: Optimum, found: Noise | None, k: int) -> Estimate:
    p, at = problem.free[k], float(best.x[k])
    value = problem.value(k, at)
    if found is None:
        return Estimate(p.name, p.unit, value, None, None, "calibrated")
    ends = [_end(problem, best, found, k, float(bounds[k])) for bounds in problem.bounds]
    low, high = (None if end is None else problem.value(k, end) for end in ends)
    on_bound = not p.positive and value in (p.low, p.high)
    status = "identified"
    if low is None or high is None:
        status = "open-high" if high is None else "open-low"
    if on_bound:
        status = "at-bound"
    if low is None:
        low = p.low
    if high is None and np.isfinite(p.high):
        high = p.high
    return Estimate(p.name, p.unit, value, low, high, status)


def _end(problem: Problem, best: Optimum, found: Noise, k: int, bound: float) -> float | None:
    """Coordinate where the profile of parameter k leaves the interval towards bound, or None."""
    warm = [best.x]

    def excess(at: float) -> float:
        optimum = problem.minimise_near([warm[-1], best.x], {k: at})
        warm.append(optimum.x)
        return float(np.sqrt(max(optimum.ss - best.ss, 0.0)) - np.sqrt(found.limit))

    return crossing(excess, float(best.x[k]), _wald_step(best, found, k), bound)


def _wald_step(best: Optimum, found: Noise, k: int) -> float:
    """Half width if the model were linear: only a first guess for the profile."""
    with np.errstate(all="ignore"):
        spread = np.linalg.pinv(best.jacobian.T @ best.jacobian)[k, k] * found.limit
    step = float(np.sqrt(max(spread, 0.0)))
    return step if 1e-12 < step < 1e3 else 0.1 * max(abs(float(best.x[k])), 1e-3)
