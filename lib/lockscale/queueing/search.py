# SPDX-License-Identifier: MIT
"""Least squares on relative residuals: global starts first, then a bounded local search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from lockscale.queueing.gauss_newton import NEAR, descend, slopes
from lockscale.queueing.model import Box, FloatArray, LawParameter, QueueingModel
from lockscale.queueing.points import Points
from lockscale.queueing.shared import Shared, box_of, of_one, rate_of

STARTS = 256
RATES_AT_ONCE = 500_000
APART = 0.2  # of the box in some direction: nearer starts would end in the same optimum
NO_RATE = 300.0  # log ratio where the model gives no rate at all: worse than any real miss
COARSE, FINE = 1e-5, 1e-10  # relative, of the sum of squares
E_FOLDS = 25.0  # beyond the box, where a parameter without a physical bound ends


@cache
def primes(count: int) -> FloatArray:
    """The first ones: multiples of their roots, modulo 1, fill a cube evenly (Weyl)."""
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % one for one in found):
            found.append(number)
        number += 1
    return np.array(found, dtype=np.float64)


@dataclass(frozen=True)
class Optimum:
    """Coordinates of the free parameters (free,), sum of squares, Jacobian (points, free)."""

    x: FloatArray
    ss: float
    jacobian: FloatArray


@dataclass(frozen=True)
class Problem:
    """One model, one table. Coordinates x are parameters / scale, or their log if `positive`."""

    model: QueueingModel
    points: Points
    fixed: Mapping[str, float]
    box: Box
    tries: int = STARTS

    @cached_property
    def free(self) -> list[LawParameter]:
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

    def value(self, k: int, x: Any) -> Any:
        """Parameter k in its own unit, of one coordinate or of an array of them."""
        p, end = self.free[k], self.ends[k]
        return np.minimum(np.maximum(end * (np.exp(x) if p.positive else x), p.low), p.high)

    def coordinates(self, params: Mapping[str, float]) -> FloatArray:
        """The free ones of params, in their own units, as coordinates within the bounds."""
        shares = np.array([params[p.name] for p in self.free]) / self.ends
        positive = [p.positive for p in self.free]
        with np.errstate(divide="ignore"):
            return np.clip(np.where(positive, np.log(shares), shares), *self.bounds)

    def params(self, x: Sequence[float] | FloatArray) -> dict[str, float]:
        return dict(self.fixed) | {p.name: float(self.value(k, x[k])) for k, p in enumerate(self.free)}

    def misses(self, x: FloatArray) -> FloatArray:
        """Model over table as log ratios, shape (points,), not weighted."""
        return self._misses(self.params(x))

    def many_misses(self, xs: FloatArray) -> FloatArray:
        """The same for sets of coordinates (S, free), shape (S, points)."""
        if not getattr(self.model, "broadcasts", False) or not self.free:
            return np.array([self.misses(x) for x in xs]).reshape(len(xs), len(self.points))
        at_once = max(RATES_AT_ONCE // len(self.points), 1)
        parts = [xs[k : k + at_once] for k in range(0, len(xs), at_once)]
        found = [
            self._misses(
                {**self.fixed, **{p.name: self.value(k, x[:, [k]]) for k, p in enumerate(self.free)}}
            )
            for x in parts
        ]
        return np.concatenate(found) if found else np.empty((0, len(self.points)))

    def _misses(self, params: Mapping[str, Any]) -> FloatArray:
        with np.errstate(all="ignore"):
            rate = rate_of(self.model, self.points.threads, self.points.column, params)
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
        cube = np.outer(np.arange(1, self.tries + 1), np.sqrt(primes(len(self.free)))) % 1
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
        return [self._polished(found[0].x, FINE), *found[1:]]

    def local(self, starts: Sequence[FloatArray]) -> list[Optimum]:
        """The same, each to some digits."""
        found = descend(self.many_residuals, np.clip(starts, *self.bounds), *self.bounds)
        jacobians = slopes(self.many_residuals, found.x, found.miss, self.bounds[1])
        optima = [Optimum(*one) for one in zip(found.x, found.ss.tolist(), jacobians, strict=True)]
        return sorted(optima, key=lambda one: one.ss)

    def minimise(self, starts: Sequence[FloatArray]) -> Optimum:
        """The best of the local optima found from each start."""
        return self.optima(starts)[0]

    def least_ss(self, k: int, at: float, enough: float) -> float:
        """Least sum of squares with coordinate k at `at`, by a short global search of its own.

        What is no more than `enough` is not made less.
        """
        fixed = dict(self.fixed) | {self.free[k].name: float(self.value(k, at))}
        rest = replace(self, fixed=fixed, tries=max(self.tries // 16, 1))
        start = rest.starts(1)[0]
        ss = float(np.sum(rest.residuals(start) ** 2))
        return ss if ss <= enough else rest._polished(start, COARSE).ss

    def minimise_near(
        self,
        starts: Sequence[FloatArray],
        hold: Mapping[int, float],
        known: dict[bytes, Optimum] | None = None,
    ) -> Optimum:
        """Local optimum from the best start only, with the coordinates in `hold` kept there; no Jacobian.

        For profiles, which move in small steps and need their sum of squares to four digits. known: what
        this call found from other starts, to which it adds.
        """
        moved = np.array([_put(x, hold) for x in starts])
        missed = np.array([self.residuals(x) for x in moved])
        best = int(np.argmin(np.sum(missed**2, axis=1)))
        known, start = {} if known is None else known, moved[best].tobytes()
        if start not in known:
            known[start] = self._settled(moved[best], hold, missed[best])
        return known[start]

    def _settled(self, x: FloatArray, hold: Mapping[int, float], miss: FloatArray) -> Optimum:
        loose = [k for k in range(len(x)) if k not in hold]
        low, high = (bound[loose] for bound in self.bounds)

        def residuals(parts: FloatArray) -> FloatArray:
            xs = np.repeat(x[None], len(parts), axis=0)
            xs[:, loose] = parts
            # far out on a profile, sums of logarithms for many at once have too few digits
            return self.many_residuals(xs) if len(xs) > 1 else self.residuals(xs[0])[None]

        found = descend(residuals, x[None, loose], low, high, NEAR, miss[None])
        return Optimum(
            _put(x, dict(zip(loose, found.x[0], strict=True))), float(found.ss[0]), np.empty((0, 0))
        )

    def _polished(self, start: FloatArray, precision: float) -> Optimum:
        """By scipy, which finds its way along bounds where many at once give up."""
        if not len(start):
            return Optimum(start, float(np.sum(self.residuals(start) ** 2)), np.empty((len(self.points), 0)))

        def jacobian(x: FloatArray) -> FloatArray:
            return np.asarray(
                slopes(self.many_residuals, x[None], self.residuals(x)[None], self.bounds[1])[0]
            )

        with np.errstate(all="ignore"):
            # dogbox ends exactly on a bound, by which `at-bound` is known
            found = least_squares(
                self.residuals,
                start,
                jac=jacobian,
                bounds=self.bounds,
                method="dogbox",
                x_scale="jac",
                ftol=precision,
                xtol=precision,
                gtol=None,
                max_nfev=60 if precision == FINE else 20,
            )
        return Optimum(found.x, 2 * float(found.cost), found.jac)


def _put(x: FloatArray, hold: Mapping[int, float]) -> FloatArray:
    moved = x.copy()
    for k, at in hold.items():
        moved[k] = at
    return moved


FEW_FREE = 4  # beyond so many free parameters a scan needs more places
SCANNED = 16  # starts in the scan for one to descend from
FEWEST = 4
THINNED = 24  # points that are enough to find where an optimum is


def problem_of(model: QueueingModel, table: Points, fixed: Mapping[str, float]) -> Problem:
    """The search for the best parameters of one table, which knows nothing of any other table."""
    problem = Problem(model, table, fixed, box_of(model, table))
    more = 4 if len(problem.free) > FEW_FREE else 1
    return replace(problem, tries=getattr(of_one(model), "scan_starts", more * STARTS))


def search(problem: Problem) -> list[Optimum]:
    """Local optima, best first; only that one to all digits."""
    if isinstance(problem.model, Shared) and not hasattr(of_one(problem.model), "scan_starts"):
        return problem.optima(_shared_starts(problem, problem.model))
    count = max(problem.tries // SCANNED, FEWEST)
    if len(problem.points) <= THINNED:
        return problem.optima(problem.starts(count))
    kept = np.zeros(len(problem.points), dtype=np.bool_)
    kept[np.linspace(0, len(kept) - 1, THINNED).round().astype(np.intp)] = True
    few = replace(problem, points=problem.points.keep(kept))
    return problem.optima([one.x for one in few.local(few.starts(count))[:FEWEST]])


def _shared_starts(problem: Problem, shared: Shared) -> list[FloatArray]:
    """For each column in turn: its own best fit, and the others' with the shared parameters from it.

    One of which no point is left leads nothing, and begins as the one that leads.
    """
    table, starts = problem.points, []
    columns = [table.keep(table.column == k) for k in range(len(shared.columns))]
    for lead, points in enumerate(columns):
        if not len(points):
            continue
        held = _own(problem, shared, lead, points, {})
        common = {name: held[name] for name in held if name in shared.share}
        found = dict(held)
        for k, column in enumerate(columns):
            found |= _own(problem, shared, k, column if len(column) else points, common) if k != lead else {}
        starts.append(problem.coordinates(found))
    return starts


def _own(
    problem: Problem, shared: Shared, k: int, column: Points, common: Mapping[str, float]
) -> dict[str, float]:
    """Best parameters of column k alone, under their shared names."""
    given = dict(problem.fixed) | dict(common)
    here = {p.name: shared.name_in(k, p.name) for p in shared.model.parameters}
    own = {name: given[there] for name, there in here.items() if there in given}
    alone = problem_of(shared.model, column, own)
    return {here[name]: value for name, value in alone.params(search(alone)[0].x).items()}
