# SPDX-License-Identifier: MIT
"""The best parameters anywhere: a scan of the box, descents from what is best in it."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.inference.search import STARTS, Optimum, Problem
from lockscale.queueing.inference.share import Shared, box_of, of_one
from lockscale.queueing.model import Model
from lockscale.queueing.points import Points

FEW_FREE = 4  # beyond so many free parameters a scan needs more places
SCANNED = 16  # starts in the scan for one to descend from
FEWEST = 4
THINNED = 24  # points that are enough to find where an optimum is


def problem_of(model: Model, table: Points, fixed: Mapping[str, float]) -> Problem:
    """The search for the best parameters of one table, which knows nothing of any other table."""
    problem = Problem(model, table, fixed, box_of(model, table))
    more = 4 if len(problem.free) > FEW_FREE else 1
    return replace(problem, tries=getattr(of_one(model), "scan_starts", more * STARTS))


def search(problem: Problem) -> list[Optimum]:
    """Local optima, best first; only that one to all digits."""
    if isinstance(problem.model, Shared) and not hasattr(of_one(problem.model), "scan_starts"):
        return problem.optima(_shared_starts(problem, problem.model))
    count = max(problem.tries // SCANNED, FEWEST)
    if len(problem.points) <= THINNED:
        return problem.optima(problem.starts(count))
    kept = np.zeros(len(problem.points), dtype=np.bool_)
    kept[np.linspace(0, len(kept) - 1, THINNED).round().astype(np.intp)] = True
    few = replace(problem, points=problem.points.keep(kept))
    return problem.optima([one.x for one in few.local(few.starts(count))[:FEWEST]])


def _shared_starts(problem: Problem, shared: Shared) -> list[FloatArray]:
    """For each column in turn: its own best fit, and the others' with the shared parameters from it."""
    table, starts = problem.points, []
    columns = [table.keep(table.column == k) for k in range(len(shared.columns))]
    for lead in range(len(columns)):
        held = _own(problem, shared, lead, columns[lead], {})
        common = {name: held[name] for name in held if name in shared.share}
        found = dict(held)
        for k, column in enumerate(columns):
            found |= _own(problem, shared, k, column, common) if k != lead else {}
        starts.append(problem.coordinates(found))
    return starts


def _own(
    problem: Problem, shared: Shared, k: int, column: Points, common: Mapping[str, float]
) -> dict[str, float]:
    """Best parameters of column k alone, under their shared names."""
    given = dict(problem.fixed) | dict(common)
    here = {p.name: name for p in shared.model.parameters for name in shared.to_shared(k, {p.name: 0.0})}
    own = {name: given[there] for name, there in here.items() if there in given}
    alone = problem_of(shared.model, column, own)
    best = search(alone)[0]
    return shared.to_shared(k, alone.params(best.x))
