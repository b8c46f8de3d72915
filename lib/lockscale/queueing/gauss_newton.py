# SPDX-License-Identifier: MIT
"""Damped Gauss-Newton steps inside bounds: `settle` near an optimum, `descend` from many starts at once.

A profile moves in small steps and asks for hundreds of optima; each is two or three steps from the
one before, too few to pay for a general optimiser. Damping as D. W. Marquardt, SIAM J. Applied
Mathematics 11, 1963; bounds by projection (D. P. Bertsekas, SIAM J. Control and Optimization 20,
1982).

Far from the optimum one call of the model serves every start and every coordinate's slope, so that a
search from many starts costs little more than one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lockscale.queueing.model import FloatArray

STEPS = 15
SETTLED = 1e-4  # of the sum of squares: what the last step may have gained
SAME = 1e-9  # of the sum of squares: no more than this is the optimum's own roundness
SINGULAR = 1e-12  # added damping, so that parameters that do the same share a step

Residuals = Callable[[FloatArray], FloatArray]
Slopes = Callable[[FloatArray, FloatArray], FloatArray]
"""The Jacobian (points, n) at coordinates (n,) that have these residuals (points,)."""


def settle(
    residuals: Residuals, slopes: Slopes, start: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, float, bool]:
    """Where the sum of squares is least near start, shape (n,), that sum, and whether it is the least."""
    x = start
    miss = residuals(x)
    damping = 1e-4
    for _ in range(STEPS if len(x) else 0):
        jacobian = slopes(x, miss)
        for _ in range(6):
            moved = np.clip(x + _step(jacobian, miss, x, low, high, damping), low, high)
            missed = residuals(moved)
            gain = float(miss @ miss - missed @ missed)
            if gain >= -SAME * float(miss @ miss):
                break
            damping *= 10
        else:
            return x, float(miss @ miss), False
        x, miss, damping = moved, missed, damping / 10
        if gain <= SETTLED * float(miss @ miss):
            return x, float(miss @ miss), True
    return x, float(miss @ miss), not len(x)


def _step(
    jacobian: FloatArray, miss: FloatArray, x: FloatArray, low: FloatArray, high: FloatArray, damping: float
) -> FloatArray:
    """Step of the coordinates that no bound holds back; each bound that it would cross holds one."""
    scale = np.sqrt(np.sum(jacobian**2, axis=0))
    moves = scale > 0
    scale[~moves] = 1.0
    scaled = jacobian / scale
    downhill = -(scaled.T @ miss)
    square = scaled.T @ scaled + (damping + SINGULAR) * np.eye(len(x))
    moves &= ~pressed(x, downhill, low, high)
    step = np.zeros(len(x))
    while moves.any():
        step[:] = 0.0
        step[moves] = np.linalg.solve(square[np.ix_(moves, moves)], downhill[moves])
        held = moves & pressed(x, step, low, high)
        if not held.any():
            break
        moves &= ~held
    return np.asarray(step / scale)


def pressed(x: FloatArray, direction: FloatArray, low: FloatArray, high: FloatArray) -> npt.NDArray[np.bool_]:
    """Which coordinates, of one set (n,) or of many (S, n), are on a bound and would go out through it."""
    out: npt.NDArray[np.bool_] = (x <= low) & (direction <= 0) | (x >= high) & (direction >= 0)
    return out


DESCENT_STEPS = 50
DESCENT_SETTLED = 1e-8  # of the sum of squares: a step that gains less is the last
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
    for step in range(DESCENT_STEPS if starts.shape[1] else 0):
        here = Descents(*(part[going] for part in vars(all_of_them).values()))
        there = np.clip(here.x + _steps(here, low, high, damping[going]), low, high)
        missed = residuals(there)
        before, after = here.ss, np.sum(missed**2, axis=1)
        better = after < before
        damping[going] *= np.where(better, 0.1, 10.0)
        moved = going[better]
        all_of_them.x[moved], all_of_them.miss[moved] = there[better], missed[better]
        going = going[np.where(better, before - after > DESCENT_SETTLED * before, damping[going] < HOPELESS)]
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
