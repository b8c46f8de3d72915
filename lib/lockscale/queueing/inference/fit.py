# SPDX-License-Identifier: MIT
"""Fit a model to a table of rates, say what the table can tell and what it cannot, and predict."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import cast, overload

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.inference.fitted import Fit
from lockscale.queueing.inference.global_search import problem_of, search
from lockscale.queueing.inference.interval import noise
from lockscale.queueing.inference.profile import estimates
from lockscale.queueing.inference.search import NO_RATE, Optimum, Problem
from lockscale.queueing.inference.share import Shared, of_one
from lockscale.queueing.model import Model, check_params
from lockscale.queueing.points import Points, points, stacked

Column = tuple[npt.ArrayLike, npt.ArrayLike] | Points
Table = Column | Mapping[str, Column]
"""Thread counts and values of one column, or of several columns by name."""


@overload
def fit(
    table: Table,
    model: Model,
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
    model: Model,
    /,
    *,
    fixed: Mapping[str, float] | None = None,
    n_min: int = 1,
    weights: npt.ArrayLike | None = None,
) -> Fit: ...


def fit(
    table: object,
    values: object,
    model: Model | None = None,
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
        column, model = cast(Table, table), cast(Model, values)
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


def fit_points(table: Points, model: Model, fixed: Mapping[str, float]) -> Fit:
    """`fit` for one column that is checked already."""
    check_params(model, fixed)
    return _fit(model, table, fixed)


def fit_shared(
    columns: Mapping[str, Points], model: Model, share: Collection[str], fixed: Mapping[str, float]
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


def _fit(model: Model, table: Points, fixed: Mapping[str, float]) -> Fit:
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
