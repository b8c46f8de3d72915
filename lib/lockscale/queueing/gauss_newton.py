# SPDX-License-Identifier: MIT
"""Damped Gauss-Newton steps inside bounds, from many starts at once.

One call of the model serves every start and every coordinate's slope, so that a search from many starts
costs little more than one. A profile moves in small steps and asks for hundreds of optima; each is two or
three steps from the one before, too few to pay for a general optimiser (`NEAR`). Damping as D. W.
Marquardt, SIAM J. Applied Mathematics 11, 1963; bounds by projection (D. P. Bertsekas, SIAM J. Control and
Optimization 20, 1982).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lockscale.queueing.model import FloatArray

SAME = 1e-9  # of the sum of squares: no more than this is the optimum's own roundness
SINGULAR = 1e-12  # added damping, so that parameters that do the same share a step
DIFFERENCE = 1.5e-8  # root of the machine's precision: the best forward difference
EARLY, BEHIND = 6, 4.0  # after so many steps who has so many times the least sum of squares is given up

Residuals = Callable[[FloatArray], FloatArray]
"""Residuals (S, points) of S sets of coordinates (S, free)."""


@dataclass(frozen=True)
class Effort:
    """How long to go on: at most `steps`, until one gains no more than `settled` of the sum of squares.

    gained: or no more than this, whatever the sum is.
    damping: the first; beyond `hopeless` no step goes downhill. difference: that slopes are taken over, and
    of coordinates above 1 this share. longest: of a step, in each coordinate.
    """

    steps: int
    settled: float
    damping: float
    hopeless: float
    gained: float = 0.0
    difference: float = DIFFERENCE
    longest: float = np.inf


FAR = Effort(steps=50, settled=1e-8, damping=1e-3, hopeless=1e5)
NEAR = Effort(steps=20, settled=1e-4, damping=1e-4, hopeless=1e2)


@dataclass
class Descents:
    """Where each start has come to: x (S, free), miss (S, points), and whether it settled there (S,)."""

    x: FloatArray
    miss: FloatArray
    settled: npt.NDArray[np.bool_]

    @property
    def ss(self) -> FloatArray:
        return np.asarray(np.sum(self.miss**2, axis=1))


def descend(
    residuals: Residuals,
    starts: FloatArray,
    low: FloatArray,
    high: FloatArray,
    effort: Effort = FAR,
    miss: FloatArray | None = None,
) -> Descents:
    """The local optimum found from each of starts, shape (S, free), inside the bounds.

    miss: their residuals (S, points), where they are known.
    """
    miss = residuals(starts) if miss is None else miss.copy()
    found = Descents(starts.copy(), miss, np.full(len(starts), not starts.shape[1]))
    ss, damping = found.ss, np.full(len(starts), effort.damping)
    jacobian = np.empty((*found.miss.shape, starts.shape[1]))
    going = fresh = np.arange(len(starts))
    for step in range(effort.steps if starts.shape[1] else 0):
        if fresh.size:
            here = found.x[fresh], found.miss[fresh]
            jacobian[fresh] = slopes(residuals, *here, high, effort.difference)
        move = _steps(jacobian[going], found.miss[going], found.x[going], low, high, damping[going])
        there = np.clip(found.x[going] + np.clip(move, -effort.longest, effort.longest), low, high)
        missed = residuals(there)
        before, after = ss[going], np.sum(missed**2, axis=1)
        better = after < before
        damping[going] *= np.where(better, 0.1, 10.0)
        moved = going[better]
        found.x[moved], found.miss[moved], ss[moved] = there[better], missed[better], after[better]
        worth = before - after > effort.settled * before + effort.gained
        flat = after - before <= SAME * before
        found.settled[going] = np.where(better, ~worth, flat)
        going = going[np.where(better, worth, ~flat & (damping[going] < effort.hopeless))]
        if step >= EARLY:
            going = going[ss[going] <= BEHIND * ss.min()]
        if not going.size:
            break
        fresh = np.intersect1d(moved, going, assume_unique=True)
    return found


def slopes(
    residuals: Residuals, x: FloatArray, miss: FloatArray, high: FloatArray, difference: float = DIFFERENCE
) -> FloatArray:
    """Jacobians (S, points, free) by forward differences, backward on an upper bound."""
    sets, free = x.shape
    if not free:
        return np.empty((*miss.shape, 0))
    far = difference * np.maximum(1.0, np.abs(x))
    far = np.where(x + far <= high, far, -far)
    near = x[:, None, :] + far[:, None, :] * np.eye(free)
    far = np.diagonal(near, axis1=1, axis2=2) - x
    missed = residuals(near.reshape(-1, free)).reshape(sets, free, -1)
    return np.asarray(np.swapaxes((missed - miss[:, None, :]) / far[:, :, None], 1, 2))


def pressed(x: FloatArray, direction: FloatArray, low: FloatArray, high: FloatArray) -> npt.NDArray[np.bool_]:
    """Which coordinates (S, free) are on a bound and would go out through it."""
    out: npt.NDArray[np.bool_] = (x <= low) & (direction <= 0) | (x >= high) & (direction >= 0)
    return out


def _steps(
    jacobian: FloatArray,
    miss: FloatArray,
    x: FloatArray,
    low: FloatArray,
    high: FloatArray,
    damping: FloatArray,
) -> FloatArray:
    """A step for each; coordinates that a bound holds back stay, and so do those that it would cross."""
    scale = np.sqrt(np.sum(jacobian**2, axis=1))
    moves = scale > 0
    scale[~moves] = 1.0
    scaled = jacobian / scale[:, None, :]
    transposed = np.swapaxes(scaled, 1, 2)
    downhill = -(transposed @ miss[:, :, None])[:, :, 0]
    square = transposed @ scaled + (damping + SINGULAR)[:, None, None] * np.eye(x.shape[1])
    moves &= ~pressed(x, downhill, low, high)
    step = np.zeros_like(x)
    for _ in range(x.shape[1]):
        both = moves[:, :, None] & moves[:, None, :]
        kept = np.where(both, square, np.eye(x.shape[1]))
        step = np.linalg.solve(kept, np.where(moves, downhill, 0.0)[:, :, None])[:, :, 0]
        held = moves & pressed(x, step, low, high)
        if not held.any():
            break
        moves &= ~held
        step[~moves] = 0.0
    return np.asarray(step / scale)
