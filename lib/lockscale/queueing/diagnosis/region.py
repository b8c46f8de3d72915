# SPDX-License-Identifier: MIT
"""The parameters that the data do not exclude, and the extremes of any number made of them.

A number g(parameters) belongs to its 95% interval if some parameters give it and fit the table with
SS <= SS_min + limit (that of inference/interval.py): profile likelihood does not depend on how a
model is written. That region is explored by a random walk, for models may have kinks; then each
extreme is climbed. Ends are right to some per cent of the interval's width, on its inner side.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.inference.fitted import Fit
from lockscale.queueing.inference.interval import Noise

STEPS = 1500
CLIMBS = 120
WIDEST = 3.0  # first step along a direction of which the table says nothing
SCALES = (0.1, 0.4, 1.0)


@dataclass(frozen=True)
class Region:
    """Points inside, as coordinates of the fit's free parameters, shape (points, free)."""

    one: Fit
    limit_ss: float
    inside: FloatArray

    def holds(self, x: FloatArray) -> bool:
        """Whether the parameters are physical and fit the table well enough."""
        low, high = self.one.problem.bounds
        if np.any(x < low) or np.any(x > high):
            return False
        return float(np.sum(self.one.problem.residuals(x) ** 2)) <= self.limit_ss

    def climb(self, start: int, height: Callable[[FloatArray], float]) -> float:
        """The largest height found inside, uphill from a point; steps shrink where they fail."""
        rng = np.random.default_rng(1)
        best = self.inside[start]
        top = height(best)
        step = self.inside.std(axis=0)
        for _ in range(CLIMBS):
            x = best + step * rng.normal(size=len(best))
            if self.holds(x) and height(x) > top:
                best, top, step = x, height(x), 1.5 * step
            else:
                step = 0.9 * step
        return top


def region(one: Fit, noise: Noise) -> Region:
    """A random walk from the best fit; the second half steps as the first half was spread."""
    walk = Region(one, one.best.ss + noise.limit, one.best.x[None, :])
    first = _walk(walk, one.best.x, _wald_axes(one, noise))
    spread = np.cov(np.array(first).T).reshape(len(one.best.x), -1)
    axes = np.asarray(np.linalg.cholesky(spread + 1e-18 * np.eye(len(spread))), dtype=np.float64)
    second = _walk(walk, first[-1], axes)
    return Region(one, walk.limit_ss, np.array(first + second))


def _walk(within: Region, start: FloatArray, axes: FloatArray) -> list[FloatArray]:
    rng = np.random.default_rng(0)
    visited = [start]
    for scale, moves in zip(rng.choice(SCALES, STEPS), rng.normal(size=(STEPS, len(start))), strict=True):
        x = visited[-1] + scale * axes @ moves
        if within.holds(x):
            visited.append(x)
    return visited


def _wald_axes(one: Fit, noise: Noise) -> FloatArray:
    """Half axes of the region if the model were linear, one a column."""
    curvature, directions = np.linalg.eigh(one.best.jacobian.T @ one.best.jacobian)
    widths = np.sqrt(noise.limit / np.maximum(curvature, noise.limit / WIDEST**2))
    return np.asarray(directions * widths, dtype=np.float64)
