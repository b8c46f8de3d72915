# SPDX-License-Identifier: MIT
"""Landmarks of a curve of rate against threads: knee, ceiling, saturation, collapse.

    knee        where X^2 / N, rate over response time, is largest: up to there one per cent more
                threads give at least half a per cent more rate (L. Kleinrock, "Power and
                deterministic rules of thumb", ICC 1979). For Amdahl's law N = 1/sigma - 1.
    ceiling     the largest rate
    saturation  the first N with 95% of the ceiling
    collapse    the N of the ceiling, where the rate falls after it

All on whole thread counts up to HORIZON times the largest of the table, with a parabola through the
best three; a landmark beyond the table is an extrapolation of the model.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lockscale.queueing.columns import MAX_THREADS, FloatArray

HORIZON = 4
NONE = math.inf
GRID = 48  # a parabola through three of them is right to half a per cent in N for smooth curves
STEEP = 4.0  # d ln X / d ln N of more than this is a jump: no parabola goes through it
RISES = 0.1  # d ln X / d ln N over the last octave of more than this: no ceiling up to the horizon
FALLS = 0.95  # of the ceiling: what still counts as saturated, and what no longer does as the ceiling


@dataclass(frozen=True)
class Curve:
    """Rates at rising whole thread counts, logarithms of both, shape (n,)."""

    log_threads: FloatArray
    log_rate: FloatArray

    @property
    def rises(self) -> bool:
        """Whether the rate still grows with the last doubling of threads."""
        octave_ago = np.interp(self.log_threads[-1] - np.log(2), self.log_threads, self.log_rate)
        return bool(self.log_rate[-1] - octave_ago > RISES * np.log(2))


Landmark = Callable[[Curve], float]
"""The logarithm of a landmark, NONE where the curve has none up to the horizon."""


@lru_cache(maxsize=16)
def grid(largest: float) -> FloatArray:
    """Whole thread counts up to the horizon, dense at first, shape (n,), read-only."""
    end = min(HORIZON * largest, MAX_THREADS)
    threads = np.unique(np.round(np.geomspace(1, end, GRID)))
    threads.flags.writeable = False
    return threads


def log_knee(curve: Curve) -> float:
    at = _top(curve.log_threads, 2 * curve.log_rate - curve.log_threads)[0]
    return NONE if at == curve.log_threads[-1] else at


def log_ceiling(curve: Curve) -> float:
    return NONE if curve.rises else _top(curve.log_threads, curve.log_rate)[1]


def log_saturation(curve: Curve) -> float:
    enough = log_ceiling(curve) + np.log(FALLS)
    if enough == NONE:
        return NONE
    first = int(np.argmax(curve.log_rate >= enough))
    around = slice(max(first - 1, 0), first + 1)
    return float(np.interp(enough, curve.log_rate[around], curve.log_threads[around]))


def log_collapse(curve: Curve) -> float:
    at, height = _top(curve.log_threads, curve.log_rate)
    return at if curve.log_rate[-1] < height + np.log(FALLS) else NONE


def _top(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Place and height of the maximum: of the parabola through the largest y and its neighbours."""
    k = int(np.argmax(y))
    at, height = float(x[k]), float(y[k])
    if k in (0, len(y) - 1):
        return at, height
    left, right = x[k - 1] - x[k], x[k + 1] - x[k]
    down, up = (y[k - 1] - y[k]) / left, (y[k + 1] - y[k]) / right
    bend = (up - down) / (right - left)
    slope = down - bend * left
    if bend >= 0 or down > STEEP or up < -STEEP:
        return at, height
    return at - float(slope / (2 * bend)), height - float(slope**2 / (4 * bend))
