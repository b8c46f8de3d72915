# SPDX-License-Identifier: MIT
"""Least squares on relative residuals: global starts first, then a bounded local search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import least_squares

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.inference.gauss_newton import Residuals, settle
from lockscale.queueing.inference.share import rate_of
from lockscale.queueing.model import Box, Model, Parameter
from lockscale.queueing.points import Points

STARTS = 256
APART = 0.2  # of the box in some direction: nearer starts would end in the same optimum
PRIMES = (
    2,
    3,
    5,
    7,
    11,
    13,
    17,
    19,
    23,
    29,
    31,
    37,
    41,
    43,
    47,
    53,
)  # multiples of their roots, modulo 1, fill a cube evenly (Weyl)
NO_RATE = 300.0  # log ratio where the model gives no rate at all: worse than any real miss
COARSE, FINE = 1e-5, 1e-10  # relative, of the sum of squares
E_FOLDS = 25.0  # beyond the box, where a parameter without a physical bound ends


@dataclass(frozen=True)
class Optimum:
    """Coordinates of the free parameters (free,), sum of squares, Jacobian (points, free)."""

    x: FloatArray
    ss: float
    jacobian: FloatArray


@dataclass(frozen=True)
class Problem:
    """One model, one table. Coordinates x are parameters / scale, or their log if `positive`."""

    model: Model
    points: Points
    fixed: Mapping[str, float]
    box: Box
    tries: int = STARTS

    @cached_property
    def free(self) -> list[Parameter]:
        return [p for p in self.model.parameters if p.name not in self.fixed]

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Physical bounds as coordinates; where there is none, one far outside the search box."""
        low, high = [], []
        for p in self.free:
            start, end = self.box[p.name]
            if p.positive:
                low.append(np.log(p.low) if p.low > 0 else np.log(start) - E_FOLDS)
                high.append(min(np.log(p.high), np.log(end) + E_FOLDS))
            else:
                low.append(p.low / end)
                high.append(min(p.high / end, 1e6))
        return np.array(low), np.array(high)

    def value(self, k: int, x: float) -> float:
        """Parameter k in its own unit."""
        p = self.free[k]
        value = float(np.exp(x)) if p.positive else float(x * self.box[p.name][1])
        return min(max(value, p.low), p.high)

    def coordinates(self, params: Mapping[str, float]) -> FloatArray:
        """The free ones of params, in their own units, as coordinates within the bounds."""
        with np.errstate(divide="ignore"):
            x = [
                np.log(params[p.name]) if p.positive else params[p.name] / self.box[p.name][1]
                for p in self.free
            ]
        return np.clip(x, *self.bounds)

    def params(self, x: Sequence[float] | FloatArray) -> dict[str, float]:
        return dict(self.fixed) | {p.name: self.value(k, x[k]) for k, p in enumerate(self.free)}

    def misses(self, x: FloatArray) -> FloatArray:
        """Model over table as log ratios, shape (points,), not weighted."""
        with np.errstate(all="ignore"):
            rate = rate_of(self.model, self.points.threads, self.points.column, self.params(x))
            log_rate = np.log(rate)
        misses = log_rate - self.points.log_rate
        return np.where(np.abs(misses) < NO_RATE, misses, NO_RATE)

    @cached_property
    def root_weight(self) -> FloatArray:
        """Root of the weight of each point; a model that has noise of its own lowers it."""
        variance = 1 / self.points.weight
        if added := getattr(self.model, "added_variance", None):
            variance = variance + added(self.points.threads, self.points.rate_per_s)
        return np.asarray(variance**-0.5)

    def residuals(self, x: FloatArray) -> FloatArray:
        return self.root_weight * self.misses(x)

    @cached_property
    def _cube(self) -> FloatArray:
        return np.outer(np.arange(1, self.tries + 1), np.sqrt(PRIMES[: len(self.free)])) % 1

    @cached_property
    def scan(self) -> tuple[FloatArray, FloatArray]:
        """Global starts spread evenly in the box (tries, free), and misses (tries, points)."""
        ends = np.log([self.box[p.name] for p in self.free])
        spread = ends[:, 0] + self._cube * (ends[:, 1] - ends[:, 0])
        linear = [not p.positive for p in self.free]
        spread[:, linear] = np.exp(spread[:, linear] - ends[linear, 1])
        spread = np.clip(spread, *self.bounds)
        return spread, np.array([self.misses(x) for x in spread])

    def starts(self, count: int, mask: FloatArray | float = 1.0) -> list[FloatArray]:
        """The best starts of the scan that lie apart; mask weighs points, 0 leaves one out."""
        if not self.free:
            return [np.empty(0)]
        where, misses = self.scan
        score = np.sum(mask * (self.root_weight * misses) ** 2, axis=1)
        chosen: list[int] = []
        for i in np.argsort(score, kind="stable").tolist():
            if all(np.abs(self._cube[i] - self._cube[j]).max() > APART for j in chosen):
                chosen.append(i)
            if len(chosen) == count:
                break
        return [where[i] for i in chosen]

    def optima(self, starts: Sequence[FloatArray]) -> list[Optimum]:
        """The local optimum found from each start, best first; only that one to all digits."""
        found = sorted((self._descend(x, {}, COARSE) for x in starts), key=lambda one: one.ss)
        return [self._descend(found[0].x, {}, FINE), *found[1:]]

    def minimise(self, starts: Sequence[FloatArray]) -> Optimum:
        """The best of the local optima found from each start."""
        return self.optima(starts)[0]

    def least_ss(self, k: int, at: float) -> float:
        """Least sum of squares with coordinate k at `at`, by a short global search of its own."""
        fixed = dict(self.fixed) | {self.free[k].name: self.value(k, at)}
        rest = replace(self, fixed=fixed, tries=max(self.tries // 16, 1))
        return rest._descend(rest.starts(1)[0], {}, COARSE).ss

    def minimise_near(self, starts: Sequence[FloatArray], hold: Mapping[int, float]) -> Optimum:
        """Local optimum from the best start only, with the coordinates in `hold` kept there.

        For profiles, which move in small steps and need their sum of squares to four digits.
        """
        start = min((_put(x, hold) for x in starts), key=self._ss)
        moved, loose = self._moved(start, hold)
        low, high = self.bounds
        start[loose], ss, settled = settle(moved, start[loose], low[loose], high[loose])
        if not settled:
            return self._descend(start, hold, COARSE)
        return Optimum(start, ss, np.empty((len(self.points), 0)))

    def _ss(self, x: FloatArray) -> float:
        return float(np.sum(self.residuals(x) ** 2))

    def _moved(self, x: FloatArray, held: Mapping[int, float]) -> tuple[Residuals, list[int]]:
        """Residuals of the coordinates that are not held, and which these are."""
        loose = [k for k in range(len(self.free)) if k not in held]

        def moved(part: FloatArray) -> FloatArray:
            y = x.copy()
            y[loose] = part
            return self.residuals(y)

        return moved, loose

    def _descend(self, start: FloatArray, held: Mapping[int, float], precision: float) -> Optimum:
        x = start.copy()
        moved, loose = self._moved(start, held)
        low, high = self.bounds
        if not loose:
            return Optimum(x, self._ss(x), np.empty((len(self.points), 0)))
        with np.errstate(all="ignore"):
            # dogbox ends exactly on a bound, so `at-bound` needs no tolerance
            found = least_squares(
                moved,
                np.clip(x[loose], low[loose], high[loose]),
                bounds=(low[loose], high[loose]),
                method="dogbox",
                x_scale="jac",
                ftol=precision,
                xtol=precision,
                gtol=None,
                max_nfev=60 if precision == FINE else 20,
            )
        x[loose] = found.x
        return Optimum(x, 2 * float(found.cost), found.jac)


def _put(x: FloatArray, hold: Mapping[int, float]) -> FloatArray:
    moved = x.copy()
    for k, at in hold.items():
        moved[k] = at
    return moved
