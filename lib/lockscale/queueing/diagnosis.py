# SPDX-License-Identifier: MIT
"""What a fit says of the machine: knee, ceiling, saturation and collapse of its curve, with intervals.

    knee        where X^2 / N, rate over response time, is largest: up to there one per cent more
                threads give at least half a per cent more rate (L. Kleinrock, "Power and
                deterministic rules of thumb", ICC 1979). For Amdahl's law N = 1/sigma - 1.
    ceiling     the largest rate
    saturation  the first N with 95% of the ceiling
    collapse    the N of the ceiling, where the rate falls after it

All on whole thread counts up to HORIZON times the largest of the table, with a parabola through the
three about it; a landmark beyond the table is an extrapolation of the model.

A number g(parameters) belongs to its 95% interval if some parameters give it and fit the table with
SS <= SS_min + limit (that of interval.py): profile likelihood does not depend on how a
model is written. That region is explored by a random walk, for models may have kinks; then each
extreme is climbed. Ends are right to some per cent of the interval's width, on its inner side.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from lockscale.queueing.fitted import Fit, short
from lockscale.queueing.interval import Noise
from lockscale.queueing.model import MAX_THREADS, FloatArray
from lockscale.queueing.shared import Shared, rate_of

HORIZON = 4
NONE = math.inf
GRID = 48  # a parabola through three of them is right to half a per cent in N for smooth curves
STEEP = 4.0  # d ln X / d ln N of more than this is a jump: no parabola goes through it
RISES = 0.1  # d ln X / d ln N over the last octave of more than this: no ceiling up to the horizon
FALLS = 0.95  # of the ceiling: what still counts as saturated, and what no longer does as the ceiling


@dataclass(frozen=True)
class CurveShape:
    """Rates at rising whole thread counts, logarithms of both, shape (n,)."""

    log_threads: FloatArray
    log_rate: FloatArray

    @property
    def rises(self) -> bool:
        """Whether the rate still grows with the last doubling of threads."""
        octave_ago = np.interp(self.log_threads[-1] - np.log(2), self.log_threads, self.log_rate)
        return bool(self.log_rate[-1] - octave_ago > RISES * np.log(2))


Landmark = Callable[[CurveShape], float]
"""The logarithm of a landmark, NONE where the curve has none up to the horizon."""


@lru_cache(maxsize=16)
def grid(largest: float) -> FloatArray:
    """Whole thread counts up to the horizon, dense at first, shape (n,), read-only."""
    end = min(HORIZON * largest, MAX_THREADS)
    threads = np.unique(np.round(np.geomspace(1, end, GRID)))
    threads.flags.writeable = False
    return threads


def log_knee(curve: CurveShape) -> float:
    at = _top(curve.log_threads, 2 * curve.log_rate - curve.log_threads)[0]
    return NONE if at == curve.log_threads[-1] else at


def log_ceiling(curve: CurveShape) -> float:
    return NONE if curve.rises else _top(curve.log_threads, curve.log_rate)[1]


def log_saturation(curve: CurveShape) -> float:
    enough = log_ceiling(curve) + np.log(FALLS)
    if enough == NONE:
        return NONE
    first = int(np.argmax(curve.log_rate >= enough))
    return _crossing(curve.log_threads, curve.log_rate, first, enough)


def log_collapse(curve: CurveShape) -> float:
    at, height = _top(curve.log_threads, curve.log_rate)
    return at if curve.log_rate[-1] < height + np.log(FALLS) else NONE


def _crossing(x: FloatArray, y: FloatArray, first: int, height: float) -> float:
    """Where y, which has its first value of at least `height` at `first`, reaches it.

    Between parabolas through the two points about it and the one before or after them, as the curve bends; on
    the straight line at a kink, where they disagree.
    """
    if first == 0:
        return float(x[0])
    line = float(np.interp(height, y[first - 1 : first + 1], x[first - 1 : first + 1]))
    if first == 1 or first + 1 == len(y):
        return line
    before, after = (_on_parabola(x[k : k + 3], y[k : k + 3], height) for k in (first - 2, first - 1))
    if not abs(after - before) <= max(abs(before - line), abs(after - line)) / 2:
        return line
    return (before + after) / 2


def _on_parabola(x: FloatArray, y: FloatArray, height: float) -> float:
    """Where the rising side of the parabola through three points has this height; nan where it has not."""
    up, on = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    bend = (on - up) / (x[2] - x[0])
    slope = up - bend * (x[1] - x[0])  # at the first
    square = slope**2 + 4 * bend * (height - y[0])
    if square < 0 or slope + square**0.5 <= 0:
        return math.nan
    return float(x[0] + 2 * (height - y[0]) / (slope + square**0.5))


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


PER_SECOND = "1/s"
"""Of a rate of whatever the points count."""
LANDMARKS: dict[str, tuple[str, Landmark]] = {
    "knee_threads": ("threads", log_knee),
    "ceiling_per_s": (PER_SECOND, log_ceiling),
    "saturation_threads": ("threads", log_saturation),
    "collapse_threads": ("threads", log_collapse),
}
ONE_THREAD = 0.0  # its logarithm
MANY, PARTS = 1000, 6  # a chain's cost is thread counts x largest: beyond MANY the smaller go apart


@dataclass(frozen=True)
class Diagnosis:
    """One landmark and its 95% interval; ends are None where the data set none.

    name: `knee_threads`, and `knee_threads[COLUMN]` of a fit of several columns.
    status: `identified`, `open-low`, `open-high`, `misfit` (in place of `identified`, of a `Fit.misfit`),
    `calibrated` (no interval), or `none`: the curve has no such landmark up to the horizon, and `low` is then
    where one could at the earliest be. extrapolated: it lies beyond the table.
    """

    name: str
    unit: str
    value: float | None
    low: float | None
    high: float | None
    status: str
    extrapolated: bool

    def __str__(self) -> str:
        name = self.name.replace("_threads", "", 1).replace("_per_s", "", 1)
        name = f"{name} ".ljust(40 if "[" in name else 14)
        if self.value is None:
            return f"{name}none" + (f", or beyond {short(self.low)} {self.unit}" if self.low else "")
        interval = f"[{short(self.low)}, {short(self.high)}]"
        if self.status in ("calibrated", "fixed"):
            interval = ""
        where = " beyond the table" if self.extrapolated else ""
        return f"{name}{short(self.value):>12} {self.unit:<8} {interval:<22} {self.status}{where}"


def diagnose(one: Fit) -> tuple[Diagnosis, ...]:
    """Knee, ceiling, saturation and collapse of a fit (see above, and `region`), of each of its columns."""
    columns = range(len(one.problem.model.columns) if isinstance(one.problem.model, Shared) else 1)
    if one.noise is None or not one.problem.free:
        status = "calibrated" if one.problem.free else "fixed"
        return tuple(_diagnosis(one, k, name, None, None, status) for k in columns for name in LANDMARKS)
    near = region(one, one.noise)
    found = []
    for k in columns:
        curves = [_curve(one, k, x) for x in near.inside]
        found += [_with_ends(near, k, curves, name) for name in LANDMARKS]
    return tuple(replace(landmark, status=one.status(landmark.status)) for landmark in found)


def _with_ends(near: Region, column: int, curves: list[CurveShape], name: str) -> Diagnosis:
    landmark = LANDMARKS[name][1]
    logs = np.array([landmark(curve) for curve in curves])
    lowest = -near.climb(int(logs.argmin()), lambda x: -landmark(_curve(near.one, column, x)))
    highest = near.climb(int(logs.argmax()), lambda x: landmark(_curve(near.one, column, x)))
    low = None if lowest in (ONE_THREAD, NONE) else float(np.exp(lowest))
    high = None if highest == NONE else float(np.exp(highest))
    status = "open-high" if high is None else "open-low" if low is None else "identified"
    return _diagnosis(near.one, column, name, low, high, status)


def _diagnosis(
    one: Fit, column: int, name: str, low: float | None, high: float | None, status: str
) -> Diagnosis:
    unit, landmark = LANDMARKS[name]
    curve = _curve(one, column, one.best.x)
    found = landmark(curve)
    at = log_saturation(curve) if unit == PER_SECOND else found
    extrapolated = bool(at > np.log(_most_threads(one, column)))
    if isinstance(one.problem.model, Shared):
        name += f"[{one.problem.model.columns[column]}]"
    if found == NONE:
        return Diagnosis(name, unit, None, low, None, "none", extrapolated)
    return Diagnosis(name, unit, float(np.exp(found)), low, high, status, extrapolated)


def _most_threads(one: Fit, column: int) -> float:
    return float(np.max(one.points.threads[one.points.column == column]))


def _curve(one: Fit, column: int, x: FloatArray) -> CurveShape:
    threads = grid(_most_threads(one, column))
    parts = np.array_split(threads, PARTS) if threads[-1] > MANY else [threads]
    params = one.problem.params(x)
    with np.errstate(all="ignore"):
        of = one.problem.model
        rates = np.concatenate([rate_of(of, part, np.full(len(part), column), params) for part in parts])
        return CurveShape(np.log(threads), np.log(rates))
