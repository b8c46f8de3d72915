# SPDX-License-Identifier: MIT
"""Errors where a fit has not looked: at larger thread counts, and at each in turn."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from lockscale.queueing.inference.fit import LOCAL_STARTS
from lockscale.queueing.inference.fitted import Fit
from lockscale.queueing.inference.interval import noise


def extrapolation_pct(one: Fit) -> float | None:
    """Mean absolute percentage error at the larger half of thread counts, fitted to the smaller.

    None where the smaller half (rounded up) has fewer thread counts than free parameters.
    """
    table = one.points
    small = np.arange(len(table)) < (len(table) + 1) // 2
    if small.all() or small.sum() < max(one.free_parameters, 1):
        return None
    half = _refit(one, small)
    ahead = one.problem.model.rate(table.threads[~small], half.params)
    return float(100 * np.mean(np.abs(ahead / table.rate_per_s[~small] - 1)))


def coverage_pct(one: Fit) -> float | None:
    """Share of thread counts whose rate is in the 95% interval that a fit without it predicts there.

    None where a fit without one of them has no degree of freedom, and so no interval.
    """
    table = one.points
    if len(table) - 1 <= one.free_parameters:
        return None
    inside = []
    for j, n in enumerate(table.threads):
        ahead = _refit(one, np.arange(len(table)) != j).predict([n])
        inside.append(ahead.low[0] <= table.rate_per_s[j] <= ahead.high[0])
    return float(100 * np.mean(inside))


def _refit(one: Fit, kept: npt.NDArray[np.bool_]) -> Fit:
    """The same model and fixed parameters on fewer thread counts; no intervals of parameters."""
    table = one.points.keep(kept)
    box = one.problem.model.search_box(table.threads, table.rate_per_s)
    problem = replace(one.problem, points=table, box=box)
    best = problem.minimise(problem.starts(LOCAL_STARTS))
    return Fit(problem, best, noise(table, best.ss, one.free_parameters), ())
