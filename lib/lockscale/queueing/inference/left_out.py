# SPDX-License-Identifier: MIT
"""Fits made without some of the points: what a model says of thread counts that it has not seen.

Each is a fit of its own, with a search box, a scan and starts of the points that are left: neither the
fit of the whole table nor the points that are out have a say. Where very different rates at a point
that is out go with equally good fits of the others (a ridge), there is no such rate.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.inference.global_search import problem_of, search
from lockscale.queueing.inference.interval import NOISE_FLOOR
from lockscale.queueing.inference.search import Optimum, Problem

FOLDS = 32
"""Most fits that leave-one-out makes."""
EQUAL = 1e-6  # of a sum of squares: fits that differ by less are equally good
LOOSE = 0.01  # of a rate: what equally good fits may differ by

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Without:
    """The best fit without the points of `out`, and what it makes of them.

    misses: ln(model / table) at those points. determined: whether every equally good fit says the same.
    """

    out: Mask
    problem: Problem
    best: Optimum
    misses: FloatArray
    determined: Mask


def without(whole: Problem, out: Mask) -> Without:
    """The fit of the other points."""
    rest = problem_of(whole.model, whole.points.keep(~out), whole.fixed)
    optima = search(rest)
    floor = optima[0].ss + NOISE_FLOOR * len(rest.points)
    alike = [one.x for one in optima if one.ss - optima[0].ss <= EQUAL * floor]
    seen = replace(rest, points=whole.points.keep(out)).many_misses(np.array(alike))
    return Without(out, rest, optima[0], seen[0], np.ptp(seen, axis=0) < LOOSE)


def each_without(whole: Problem) -> Iterator[Without]:
    """Without each point in turn; beyond FOLDS points FOLDS fits leave out every FOLDS-th."""
    fold = np.arange(len(whole.points)) % FOLDS
    return (without(whole, fold == k) for k in range(int(fold.max()) + 1))


def can_leave_out(whole: Problem) -> bool:
    """Whether what is left has more points than free parameters: else a fit of it says nothing."""
    folds = -(-len(whole.points) // FOLDS)
    return len(whole.points) - folds > len(whole.free)
