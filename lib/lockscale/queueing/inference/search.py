# SPDX-License-Identifier: MIT
"""Least squares on relative residuals: global starts first, then a bounded local search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.inference.descent import descend
from lockscale.queueing.inference.gauss_newton import settle
from lockscale.queueing.inference.loose import Loose
from lockscale.queueing.inference.share import rate_of
from lockscale.queueing.model import Box, Model, Parameter
from lockscale.queueing.points import Points

STARTS = 256
RATES_AT_ONCE = 500_000
APART = 0.2  # of the box in some direction: nearer starts would end in the same optimum
# Multiples of their roots, modulo 1, fill a cube evenly (Weyl).
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
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
    def ends(self) -> FloatArray:
        """The upper end of the search box, the unit of each coordinate: a fit does not know its units."""
        return np.array([self.box[p.name][1] for p in self.free])

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Physical bounds as coordinates; where there is none, one far outside the search box."""
        low, high = [], []
        for p in self.free:
            start, end = self.box[p.name]
            if p.positive:
                low.append(np.log(p.low / end) if p.low > 0 else np.log(start / end) - E_FOLDS)
                high.append(min(np.log(p.high / end), E_FOLDS))
            else:
                low.append(p.low / end)
                high.append(min(p.high / end, 1e6))
        return np.array(low), np.array(high)

    @cached_property
    def _scales(self) -> list[tuple[float, bool, float, float]]:
        """`ends` and what `_values` asks of a parameter, as Python's numbers: one value is wanted often."""
        return [(float(end), p.positive, p.low, p.high) for p, end in zip(self.free, self.ends, strict=True)]

    def value(self, k: int, x: float) -> float:
        """Parameter k in its own unit."""
        end, positive, low, high = self._scales[k]
        return min(max(end * float(np.exp(x) if positive else x), low), high)

    def _values(self, k: int, x: FloatArray) -> FloatArray:
        p, end = self.free[k], self.ends[k]
        value = end * (np.exp(x) if p.positive else x)
        return np.asarray(np.minimum(np.maximum(value, p.low), p.high))

    def coordinates(self, params: Mapping[str, float]) -> FloatArray:
        """The free ones of params, in their own units, as coordinates within the bounds."""
        shares = np.array([params[p.name] for p in self.free]) / self.ends
        positive = [p.positive for p in self.free]
        with np.errstate(divide="ignore"):
            return np.clip(np.where(positive, np.log(shares), shares), *self.bounds)

    def params(self, x: Sequence[float] | FloatArray) -> dict[str, float]:
        return dict(self.fixed) | {p.name: self.value(k, x[k]) for k, p in enumerate(self.free)}

    def misses(self, x: FloatArray) -> FloatArray:
        """Model over table as log ratios, shape (points,), not weighted."""
        with np.errstate(all="ignore"):
            rate = rate_of(self.model, self.points.threads, self.points.column, self.params(x))
            log_rate = np.log(rate)
        misses = log_rate - self.points.log_rate
        return np.where(np.abs(misses) < NO_RATE, misses, NO_RATE)

    def many_misses(self, xs: FloatArray) -> FloatArray:
        """The same for sets of coordinates (S, free), shape (S, points)."""
        if not getattr(self.model, "broadcasts", False) or not self.free:
            return np.array([self.misses(x) for x in xs]).reshape(len(xs), len(self.points))
        at_once = max(RATES_AT_ONCE // len(self.points), 1)
        return np.concatenate(
            [self._many(xs[k : k + at_once]) for k in range(0, len(xs), at_once)]
            or [np.empty((0, len(self.points)))]
        )

    def _many(self, xs: FloatArray) -> FloatArray:
        sets: dict[str, Any] = {p.name: self._values(k, xs[:, k : k + 1]) for k, p in enumerate(self.free)}
        with np.errstate(all="ignore"):
            rate = rate_of(self.model, self.points.threads, self.points.column, {**self.fixed, **sets})
            misses = np.log(rate) - self.points.log_rate
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

    def many_residuals(self, xs: FloatArray) -> FloatArray:
        return self.root_weight * self.many_misses(xs)

    @cached_property
    def scan(self) -> tuple[FloatArray, FloatArray]:
        """Global starts spread evenly in the box: places in it (tries, free), 0 to 1, and coordinates."""
        cube = np.outer(np.arange(1, self.tries + 1), np.sqrt(PRIMES[: len(self.free)])) % 1
        depth = np.log([self.box[p.name][0] / self.box[p.name][1] for p in self.free])
        spread = depth * (1 - cube)
        linear = [not p.positive for p in self.free]
        spread[:, linear] = np.exp(spread[:, linear])
        return cube, np.clip(spread, *self.bounds)

    def starts(self, count: int) -> list[FloatArray]:
        """The best of the scan that lie apart."""
        if not self.free:
            return [np.empty(0)]
        cube, where = self.scan
        left = np.argsort(np.sum(self.many_residuals(where) ** 2, axis=1), kind="stable")
        chosen: list[FloatArray] = []
        while left.size and len(chosen) < count:
            chosen.append(where[left[0]])
            left = left[np.abs(cube[left] - cube[left[0]]).max(axis=1) > APART]
        return chosen

    def optima(self, starts: Sequence[FloatArray]) -> list[Optimum]:
        """The local optimum found from each start, best first; only that one to all digits."""
        found = self.local(starts)
        return [self._descend(found[0].x, {}, FINE), *found[1:]]

    def local(self, starts: Sequence[FloatArray]) -> list[Optimum]:
        """The same, each to some digits."""
        found = descend(self.many_residuals, np.clip(starts, *self.bounds), *self.bounds)
        optima = [Optimum(*one) for one in zip(found.x, found.ss.tolist(), found.jacobian, strict=True)]
        return sorted(optima, key=lambda one: one.ss)

    def minimise(self, starts: Sequence[FloatArray]) -> Optimum:
        """The best of the local optima found from each start."""
        return self.optima(starts)[0]

    def least_ss(self, k: int, at: float, enough: float) -> float:
        """Least sum of squares with coordinate k at `at`, by a short global search of its own.

        What is no more than `enough` is not made less.
        """
        fixed = dict(self.fixed) | {self.free[k].name: self.value(k, at)}
        rest = replace(self, fixed=fixed, tries=max(self.tries // 16, 1))
        start = rest.starts(1)[0]
        ss = rest._ss(start)
        return ss if ss <= enough else rest._descend(start, {}, COARSE).ss

    def minimise_near(
        self,
        starts: Sequence[FloatArray],
        hold: Mapping[int, float],
        known: dict[bytes, Optimum] | None = None,
    ) -> Optimum:
        """Local optimum from the best start only, with the coordinates in `hold` kept there.

        For profiles, which move in small steps and need their sum of squares to four digits. known: what
        this call found from other starts, to which it adds.
        """
        moved = [_put(x, hold) for x in starts]
        missed = [self.residuals(x) for x in moved]
        best = int(np.argmin([np.sum(miss**2) for miss in missed]))
        known, start = {} if known is None else known, moved[best].tobytes()
        if start not in known:
            known[start] = self._settled(moved[best], hold, missed[best])
        return known[start]

    def _settled(self, x: FloatArray, hold: Mapping[int, float], miss: FloatArray) -> Optimum:
        loose = Loose(self, x, hold, miss)
        low, high = (bound[loose.places] for bound in self.bounds)
        x[loose.places], ss, settled = settle(loose.residuals, loose.slopes, x[loose.places], low, high)
        if not settled:
            return self._descend(x, hold, COARSE, loose)
        return Optimum(x, ss, np.empty((len(self.points), 0)))

    def _ss(self, x: FloatArray) -> float:
        return float(np.sum(self.residuals(x) ** 2))

    def _descend(
        self, start: FloatArray, held: Mapping[int, float], precision: float, known: Loose | None = None
    ) -> Optimum:
        x, loose = start.copy(), known or Loose(self, start, held)
        if not loose.places:
            return Optimum(x, self._ss(x), np.empty((len(self.points), 0)))
        low, high = (bound[loose.places] for bound in self.bounds)
        with np.errstate(all="ignore"):
            # dogbox ends exactly on a bound, so `at-bound` needs no tolerance
            found = least_squares(
                loose.residuals,
                np.clip(x[loose.places], low, high),
                jac=loose.slopes,
                bounds=(low, high),
                method="dogbox",
                x_scale="jac",
                ftol=precision,
                xtol=precision,
                gtol=None,
                max_nfev=60 if precision == FINE else 20,
            )
        x[loose.places] = found.x
        return Optimum(x, 2 * float(found.cost), found.jac)


def _put(x: FloatArray, hold: Mapping[int, float]) -> FloatArray:
    moved = x.copy()
    for k, at in hold.items():
        moved[k] = at
    return moved
