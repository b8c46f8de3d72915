# SPDX-License-Identifier: MIT
"""Damped Gauss-Newton from many starts at once, far from the optimum or near it.

One call of the model serves every start and every coordinate's slope, so that a search from many
starts costs little more than one. Damping and bounds as in gauss_newton.py.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.inference.gauss_newton import SINGULAR, pressed

STEPS = 50
SETTLED = 1e-8  # of the sum of squares: a step that gains less is the last
DIFFERENCE = 1.5e-8  # root of the machine's precision: the best forward difference
HOPELESS = 1e5  # damping beyond which no step goes downhill
EARLY, BEHIND = 6, 4.0  # after so many steps who has so many times the least sum of squares is given up

Many = Callable[[FloatArray], FloatArray]
"""Residuals (S, points) of S sets of coordinates (S, free)."""


@dataclass
class Descents:
    """Where each start has come to: x (S, free), miss (S, points), jacobian (S, points, free)."""

    x: FloatArray
    miss: FloatArray
    jacobian: FloatArray

    @property
    def ss(self) -> FloatArray:
        return np.asarray(np.sum(self.miss**2, axis=1))


def descend(residuals: Many, starts: FloatArray, low: FloatArray, high: FloatArray) -> Descents:
    """The local optimum found from each of starts, shape (S, free), inside the bounds."""
    miss = residuals(starts)
    all_of_them = Descents(starts.copy(), miss, slopes(residuals, starts, miss, high))
    damping = np.full(len(starts), 1e-3)
    going = np.arange(len(starts))
    for step in range(STEPS if starts.shape[1] else 0):
        here = Descents(*(part[going] for part in vars(all_of_them).values()))
        there = np.clip(here.x + _steps(here, low, high, damping[going]), low, high)
        missed = residuals(there)
        before, after = here.ss, np.sum(missed**2, axis=1)
        better = after < before
        damping[going] *= np.where(better, 0.1, 10.0)
        moved = going[better]
        all_of_them.x[moved], all_of_them.miss[moved] = there[better], missed[better]
        going = going[np.where(better, before - after > SETTLED * before, damping[going] < HOPELESS)]
        if step >= EARLY:
            ss = all_of_them.ss
            going = going[ss[going] <= BEHIND * ss.min()]
        if not going.size:
            break
        if fresh := np.intersect1d(moved, going).tolist():
            all_of_them.jacobian[fresh] = slopes(
                residuals, all_of_them.x[fresh], all_of_them.miss[fresh], high
            )
    all_of_them.jacobian = slopes(residuals, all_of_them.x, all_of_them.miss, high)
    return all_of_them


def slopes(residuals: Many, x: FloatArray, miss: FloatArray, high: FloatArray) -> FloatArray:
    """Forward differences, backward on an upper bound."""
    sets, free = x.shape
    if not free:
        return np.empty((*miss.shape, 0))
    far = DIFFERENCE * np.maximum(1.0, np.abs(x))
    far = np.where(x + far <= high, far, -far)
    near = x[:, None, :] + far[:, None, :] * np.eye(free)
    far = np.diagonal(near, axis1=1, axis2=2) - x
    missed = residuals(near.reshape(-1, free)).reshape(sets, free, -1)
    return np.asarray(np.swapaxes((missed - miss[:, None, :]) / far[:, :, None], 1, 2))


def _steps(at: Descents, low: FloatArray, high: FloatArray, damping: FloatArray) -> FloatArray:
    """A step for each; coordinates that a bound holds back stay, and so do those that it would cross."""
    scale = np.sqrt(np.sum(at.jacobian**2, axis=1))
    moves = scale > 0
    scale[~moves] = 1.0
    scaled = at.jacobian / scale[:, None, :]
    downhill = -np.einsum("spf,sp->sf", scaled, at.miss)
    square = np.einsum("spf,spg->sfg", scaled, scaled)
    square += (damping + SINGULAR)[:, None, None] * np.eye(at.x.shape[1])
    moves &= ~pressed(at.x, downhill, low, high)
    step = np.zeros_like(at.x)
    for _ in range(at.x.shape[1]):
        both = moves[:, :, None] & moves[:, None, :]
        kept = np.where(both, square, np.eye(at.x.shape[1]))
        step = np.linalg.solve(kept, np.where(moves, downhill, 0.0)[:, :, None])[:, :, 0]
        held = moves & pressed(at.x, step, low, high)
        if not held.any():
            break
        moves &= ~held
        step[~moves] = 0.0
    return np.asarray(step / scale)
