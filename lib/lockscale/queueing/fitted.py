# SPDX-License-Identifier: MIT
"""What a fit found: parameters with intervals, errors in and out of sample, predictions."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from lockscale.queueing.columns import FloatArray, check_threads
from lockscale.queueing.interval import Noise, crossing
from lockscale.queueing.model import Parameter
from lockscale.queueing.points import Points
from lockscale.queueing.search import Optimum, Problem


@dataclass(frozen=True)
class Estimate:
    """One parameter and its 95% interval.

    status: `identified` (both ends found), `open-low` or `open-high` (the data do not exclude the
    bound; with both ends open, `open-high`), `at-bound` (the best value is a physical bound),
    `fixed` (given by the caller), `calibrated` (no degree of freedom left to say how sure).
    An open end is the physical bound, or None where there is none.
    """

    name: str
    unit: str
    value: float
    low: float | None
    high: float | None
    status: str


@dataclass(frozen=True)
class Prediction:
    """Rates with 95% intervals for one more run (a row of weight 1); all arrays have shape (n,).

    low and high are NaN where the fit has no degree of freedom left (`calibrated`).
    """

    threads: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, repr=False)
class Fit:
    """A model fitted to a table. Made by `lockscale.queueing.fit.fit`."""

    problem: Problem
    best: Optimum
    noise: Noise | None
    estimates: tuple[Estimate, ...]

    @property
    def model(self) -> str:
        return self.problem.model.name

    @property
    def points(self) -> Points:
        return self.problem.points

    @property
    def params(self) -> dict[str, float]:
        """Every parameter of the model by name, fixed ones included."""
        return self.problem.params(self.best.x)

    @property
    def parameters(self) -> tuple[Estimate, ...]:
        """Every parameter in the model's order, fixed ones included."""
        found = {e.name: e for e in self.estimates}
        return tuple(found.get(p.name) or self._given(p) for p in self.problem.model.parameters)

    def _given(self, p: Parameter) -> Estimate:
        value = float(self.problem.fixed[p.name])
        return Estimate(p.name, p.unit, value, value, value, "fixed")

    @property
    def free_parameters(self) -> int:
        return len(self.problem.free)

    @property
    def calibrated(self) -> bool:
        """As many free parameters as thread counts: the curve goes through every point."""
        return self.free_parameters == len(self.points)

    @property
    def residuals_pct(self) -> FloatArray:
        """100 (value - model) / value at each thread count, shape (points,)."""
        return _share_pct(self.problem, self.best)

    @property
    def mape_pct(self) -> float:
        """Mean absolute percentage error in sample."""
        return float(np.mean(np.abs(self.residuals_pct)))

    @cached_property
    def loo_pct(self) -> float | None:
        """Mean absolute percentage error at each thread count when that one is left out of the fit.

        None where leaving one out leaves fewer thread counts than free parameters.
        """
        if len(self.points) - 1 < max(self.free_parameters, 1):
            return None
        return float(np.mean([self._held_out_pct(j) for j in range(len(self.points))]))

    def _held_out_pct(self, j: int) -> float:
        kept = np.arange(len(self.points)) != j
        rest = replace(self.problem, points=self.points.keep(kept))
        starts = [self.best.x, *self.problem.starts(2, mask=kept.astype(np.float64))]
        return float(abs(_share_pct(self.problem, rest.minimise(starts))[j]))

    def predict(self, threads: npt.ArrayLike) -> Prediction:
        """The model's rate and a 95% interval for one more run, from parameters and noise together.

        A rate y belongs to the interval if the best fit to the table *and* y is not worse than
        the best fit to the table by more than its limit: the profile predictive likelihood
        (J. F. Bjornstad, Statistical Science 5, 1990). For a linear model this is the textbook
        prediction interval; here it keeps the physical bounds too.
        """
        n = check_threads(threads)
        value = self.problem.model.rate(n, self.params)
        logs = np.log(value)
        ends = np.array([self._interval(*at) for at in zip(n, logs, strict=True)])
        return Prediction(n, value, np.exp(ends[:, 0]), np.exp(ends[:, 1]))

    def _interval(self, threads: float, log_value: float) -> tuple[float, float]:
        if self.noise is None:
            return np.nan, np.nan
        limit, weight = self.noise.limit, self.noise.unit / self.noise.row
        warm = [self.best.x]

        def excess(log_rate: float) -> float:
            table = self.points.with_row(threads, log_rate, weight)
            optimum = replace(self.problem, points=table).minimise_near([warm[-1], self.best.x], {})
            warm.append(optimum.x)
            return float(np.sqrt(max(optimum.ss - self.best.ss, 0.0)) - np.sqrt(limit))

        step = 1.3 * float(np.sqrt(limit / weight))
        low = crossing(excess, log_value, step, log_value - FAR)
        warm.append(self.best.x)
        high = crossing(excess, log_value, step, log_value + FAR)
        return -np.inf if low is None else low, np.inf if high is None else high

    def to_json(self, table: str, column: str) -> dict[str, Any]:
        """The `fit` shape of the command line; table and column are the caller's names."""
        return {
            "table": table,
            "column": column,
            "model": self.model,
            "parameters": [vars(e) for e in self.parameters],
            "mape_pct": self.mape_pct,
            "loo_pct": self.loo_pct,
            "free_parameters": self.free_parameters,
            "points": len(self.points),
            "calibrated": self.calibrated,
        }

    def __repr__(self) -> str:
        n = self.points.threads
        span = f"{n[0]:g} to {n[-1]:g} threads" if len(n) > 1 else f"{n[0]:g} threads"
        held_out = "not computable" if self.loo_pct is None else f"{self.loo_pct:.1f}%"
        lines = [f"{self.model}: {span}, points: {len(n)}, free parameters: {self.free_parameters}"]
        lines += [_line(e) for e in self.parameters]
        lines += [f"  error {self.mape_pct:.1f}% in sample, {held_out} leave-one-out"]
        if self.calibrated:
            lines += ["  calibrated: no degree of freedom, so the error in sample says nothing"]
        return "\n".join(lines)


FAR = 50.0
"""ln of the largest factor by which a prediction may be off before its end is called open."""


def _share_pct(problem: Problem, optimum: Optimum) -> FloatArray:
    return 100 * (1 - np.exp(problem.misses(optimum.x)))


def _line(e: Estimate) -> str:
    if e.status in ("fixed", "calibrated"):
        interval = ""
    else:
        interval = f"[{e.low:.4g}, {'no upper end' if e.high is None else f'{e.high:.4g}'}]"
    return f"  {e.name:<14}{e.value:>12.5g} {e.unit:<4} {interval:<26} {e.status}"
