# SPDX-License-Identifier: MIT
"""Damped Gauss-Newton steps inside bounds, for starts that are near the optimum already.

A profile moves in small steps and asks for hundreds of optima; each is two or three steps from the
one before, too few to pay for a general optimiser. Damping as D. W. Marquardt, SIAM J. Applied
Mathematics 11, 1963; bounds by projection (D. P. Bertsekas, SIAM J. Control and Optimization 20,
1982).
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lockscale.queueing.columns import FloatArray

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
