# SPDX-License-Identifier: MIT
"""How wide: the noise of a fit, and where a profile of the sum of squares crosses its limit.

A value v of a parameter belongs to the 95% interval if the best fit with that parameter held at v
has SS(v) - SS_min <= s^2 t^2, t the 97.5% quantile of Student's t (D. M. Bates and D. G. Watts,
"Nonlinear Regression Analysis and Its Applications", Wiley 1988, chapter 6).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from scipy.optimize import brentq
from scipy.special import fdtri, stdtrit

from lockscale.queueing.points import Points

# Printed rates have few digits: no table knows its noise better than one in a million.
NOISE_FLOOR = 1e-12


@dataclass(frozen=True)
class Noise:
    """Variance of ln(rate): `unit` of a point of weight 1, `row` of one more run.

    beyond: of `row`, what no number of repeats averages away: how far the model is wrong.
    """

    unit: float
    row: float
    dof: int
    beyond: float = 0.0

    def of_mean(self, runs: float) -> float:
        """Variance of the mean of so many more runs at one number of threads."""
        return self.row + (self.row - self.beyond) * (1 / runs - 1)

    @property
    def limit(self) -> float:
        """How far the sum of squares may rise inside a 95% interval."""
        return self._rise(0.975)

    @property
    def excluding(self) -> float:
        """How far it must rise before the data exclude a bound: a 97.5% interval.

        At 95% a table that says nothing of a parameter with two bounds would exclude one or the
        other in 5% of cases; and what is called identified by chance is always wrong.
        """
        return self._rise(0.9875)

    def _rise(self, quantile: float) -> float:
        return float(self.unit * stdtrit(self.dof, quantile) ** 2)


def noise(points: Points, misfit_ss: float, free: int) -> Noise | None:
    """Noise from the misfit and from the repeats; None where neither has a degree of freedom.

    Both are pooled unless the misfit is larger than repeats explain (F test, 5%): then the model
    is wrong by more than noise, and its misfit alone says how far a prediction may be off.
    """
    misfit_dof, repeat_dof = len(points) - free, points.repeat_dof
    if misfit_dof + repeat_dof == 0:
        return None
    repeat = points.repeat_ss / repeat_dof if repeat_dof else 0.0
    misfit = misfit_ss / misfit_dof if misfit_dof else 0.0
    if misfit_dof and repeat_dof and misfit > repeat * fdtri(misfit_dof, repeat_dof, 0.95):
        beyond = (misfit - repeat) / float(points.weight.mean())
        return Noise(max(misfit, NOISE_FLOOR), max(repeat + beyond, NOISE_FLOOR), misfit_dof, beyond)
    pooled = max((misfit_ss + points.repeat_ss) / (misfit_dof + repeat_dof), NOISE_FLOOR)
    return Noise(pooled, pooled, misfit_dof + repeat_dof)


def crossing(excess: Callable[[float], float], centre: float, step: float, bound: float) -> float | None:
    """Where excess, below 0 at centre, first rises above 0 on the way to bound; None if never.

    step is a first guess of the distance, to 0.3% of which the answer is exact. Of an excess that is not
    below 0 at centre, as where two optima are apart by no less than noise allows, it is centre itself.
    """
    profile = cache(excess)
    side = 1.0 if bound > centre else -1.0
    inner, distance = centre, abs(step)
    if profile(centre) >= 0:
        return centre
    while inner != bound:
        outer = centre + side * min(distance, abs(bound - centre))
        if outer == inner or abs(outer - centre) >= abs(bound - centre):
            outer = bound
        if profile(outer) > 0:
            inner, outer = _narrowed(profile, centre, inner, outer)
            return float(brentq(profile, inner, outer, xtol=3e-3 * abs(outer - centre)))
        inner, distance = outer, 2 * distance
    return None


def _narrowed(
    profile: Callable[[float], float], centre: float, inner: float, outer: float
) -> tuple[float, float]:
    """A bracket that ends at most eight times as far out as the crossing: the guess may be far off."""
    while inner == centre and abs(outer - centre) > 1e-12 * max(1.0, abs(centre)):
        nearer = centre + (outer - centre) / 8
        if profile(nearer) <= 0:
            return nearer, outer
        outer = nearer
    return inner, outer
