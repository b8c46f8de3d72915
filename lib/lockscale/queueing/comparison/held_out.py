# SPDX-License-Identifier: MIT
"""Errors where a fit has not looked: at larger thread counts, and at each in turn."""

import numpy as np

from lockscale.queueing.inference.fitted import Fit
from lockscale.queueing.inference.interval import noise
from lockscale.queueing.inference.left_out import Without, without


def extrapolation_pct(one: Fit) -> float | None:
    """Mean absolute percentage error at the larger half of thread counts, fitted to the smaller.

    None where the smaller half (rounded up) has no more thread counts than free parameters, and where
    fits of it that are equally good say different rates.
    """
    table = one.points
    large = np.arange(len(table)) >= (len(table) + 1) // 2
    if not large.any() or (~large).sum() <= one.free_parameters:
        return None
    ahead = without(one.problem, large)
    if not ahead.determined.all():
        return None
    return float(np.mean(np.abs(table.error_pct(ahead.misses))))


def coverage_pct(one: Fit) -> float | None:
    """Share of thread counts whose rate is in the 95% interval that a fit without it predicts there.

    None where a fit without one of them has no degree of freedom, and so no interval.
    """
    if not one.left_out:
        return None
    return float(100 * np.mean(np.concatenate([_inside(one, apart) for apart in one.left_out])))


def _inside(one: Fit, apart: Without) -> list[bool]:
    problem, best = apart.problem, apart.best
    refit = Fit(problem, best, noise(problem.points, best.ss, one.free_parameters), ())
    out = one.points.keep(apart.out)
    ahead = [refit.predict([n], one.points.names[k]) for n, k in zip(out.threads, out.column, strict=True)]
    seen = out.as_printed(out.threads, out.rate_per_s)
    return [bool(a.low[0] <= rate <= a.high[0]) for a, rate in zip(ahead, seen, strict=True)]
