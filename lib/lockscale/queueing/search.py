# SPDX-License-Identifier: MIT
"""Least squares on relative residuals: global starts first, then a bounded local search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import least_squares

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.model import Box, Model, Parameter
from lockscale.queueing.points import Points

STARTS = 256
PRIMES = (2, 3, 5, 7, 11, 13)  # multiples of their roots, modulo 1, fill a cube evenly (Weyl)
NO_RATE = 300.0  # log ratio where the model gives no rate at all: worse than any real miss


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

    @cached_property
    def free(self) -> list[Parameter]:
        return [p for p in self.model.parameters if p.name not in self.fixed]

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Physical bounds as coordinates; a bound at infinity is far outside the search box."""
        low, high = [], []
        for p in self.free:
            start, end = self.box[p.name]
            low.append(np.log(start) - 25 if p.positive else p.low / end)
            high.append(np.log(end) + 25 if p.positive else min(p.high / end, 1e6))
        return np.array(low), np.array(high)

    def value(self, k: int, x: float) -> float:
        """Parameter k in its own unit."""
        p = self.free[k]
        return float(np.exp(x)) if p.positive else float(x * self.box[p.name][1])

    def params(self, x: Sequence[float] | FloatArray) -> dict[str, float]:
        return dict(self.fixed) | {p.name: self.value(k, x[k]) for k, p in enumerate(self.free)}

    def misses(self, x: FloatArray) -> FloatArray:
        """Model over table as log ratios, shape (points,), not weighted."""
        with np.errstate(all="ignore"):
            log_rate = np.log(self.model.rate(self.points.threads, self.params(x)))
        misses = log_rate - self.points.log_rate
        return np.where(np.abs(misses) < NO_RATE, misses, NO_RATE)

    def residuals(self, x: FloatArray) -> FloatArray:
        return np.sqrt(self.points.weight) * self.misses(x)

    @cached_property
    def scan(self) -> tuple[FloatArray, FloatArray]:
        """Global starts spread evenly in the box (STARTS, free), and misses (STARTS, points)."""
        cube = np.outer(np.arange(1, STARTS + 1), np.sqrt(PRIMES[: len(self.free)])) % 1
        ends = np.log([self.box[p.name] for p in self.free])
        spread = ends[:, 0] + cube * (ends[:, 1] - ends[:, 0])
        linear = [not p.positive for p in self.free]
        spread[:, linear] = np.exp(spread[:, linear] - ends[linear, 1])
        return spread, np.array([self.misses(x) for x in spread])

    def starts(self, count: int, mask: FloatArray | float = 1.0) -> list[FloatArray]:
        """The best starts of the scan; mask weighs points, 0 leaves one out."""
        if not self.free:
            return [np.empty(0)]
        where, misses = self.scan
        score = np.sum(mask * self.points.weight * misses**2, axis=1)
        return [where[i] for i in np.argsort(score, kind="stable")[:count]]

    def minimise(self, starts: Sequence[FloatArray]) -> Optimum:
        """The best of the local optima found from each start."""
        return min((self._descend(x, {}, 1e-12) for x in starts), key=lambda found: found.ss)

    def minimise_near(self, starts: Sequence[FloatArray], hold: Mapping[int, float]) -> Optimum:
        """Local optimum from the best start only, with the coordinates in `hold` kept there.

        For profiles, which move in small steps and need their sum of squares to four digits.
        """
        held = [_put(x, hold) for x in starts]
        return self._descend(min(held, key=self._ss), hold, 1e-8)

    def _ss(self, x: FloatArray) -> float:
        return float(np.sum(self.residuals(x) ** 2))

    def _descend(self, start: FloatArray, held: Mapping[int, float], precision: float) -> Optimum:
        x = start.copy()
        loose = [k for k in range(len(self.free)) if k not in held]
        low, high = self.bounds

        def moved(part: FloatArray) -> FloatArray:
            y = x.copy()
            y[loose] = part
            return self.residuals(y)

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
                max_nfev=60,
            )
        x[loose] = found.x
        return Optimum(x, 2 * float(found.cost), found.jac)


def _put(x: FloatArray, hold: Mapping[int, float]) -> FloatArray:
    moved = x.copy()
    for k, at in hold.items():
        moved[k] = at
    return moved
