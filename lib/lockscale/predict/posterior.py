# SPDX-License-Identifier: MIT
"""A model's parameters from what was observed of the unpatched side, and what they say of a patched kernel.

Logarithms of the free parameters have a wide normal prior around the model's own values, a factor of
PRIOR_FACTOR at 95%: what the data do not reach stays as open as that. Of a run on another machine than the
model's, most of that factor is the machine's, common to all times (`of_one_machine`). The best set
minimises misses over their standard deviations, prior included (damped Gauss-Newton with the same random
numbers everywhere; queueing/gauss_newton.py), and the curvature there gives its covariance (Laplace's
approximation). Where the model misses the data by more than they scatter, the data's curvature counts that
much less (R. Birge, Phys. Rev. 40, 1932); the prior's does not, so that no parameter is ever less known than
before the data. A patched rate is simulated at the best set and at pairs of sets one covariance away (the
unscented transform: S. Julier and J. Uhlmann, Proc. IEEE 92(3), 2004), which gives its mean and spread.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtri

from lockscale.queueing.gauss_newton import Effort, Residuals, descend, slopes
from lockscale.queueing.model import FloatArray

Named = Mapping[str, float]
End = tuple[FloatArray, FloatArray]
Misses = Callable[[dict[str, float]], FloatArray]
"""Observed less simulated, each over its standard deviation; any finite numbers where nothing runs."""

NO_BOUND = np.array(np.inf)
PRIOR_FACTOR = 10.0
SD = float(np.log(PRIOR_FACTOR) / ndtri(0.975))
STARTS, TRIES = 31, 4
GOOD = 2.0  # times as many squared misses as numbers: a descent that ends above it may be stuck
STEP = 0.08 / SD  # slopes are over 8%: far above what common random numbers leave of noise
ENOUGH = 0.02  # of a standard deviation: a step that is no longer worth its simulations
OWN_FACTOR = 3.0
"""Assumed: how far one time of a model is off at 95%, once the machine's own factor is known."""
BY_SIMULATION = Effort(
    steps=12, settled=0.0, gained=ENOUGH**2, damping=1e-3, hopeless=1e2, difference=STEP, longest=1.5 / SD
)
"""Of descents whose coordinates are deviations of the prior."""


@dataclass(frozen=True)
class Posterior:
    """Free parameters; mean (k,) and covariance (k, k) of their logarithms; misses of the data (n,).

    The covariance has the inflation in it already.
    """

    names: tuple[str, ...]
    mean: FloatArray
    covariance: FloatArray
    misses: FloatArray

    @property
    def best(self) -> dict[str, float]:
        return self._named(self.mean)

    @property
    def spread(self) -> FloatArray:
        """Standard deviation of each logarithm."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def inflation(self) -> float:
        """By how much the misses exceed what their deviations allow (Birge's ratio), at least 1."""
        return _inflation(self.misses, len(self.names))

    def _named(self, logs: FloatArray) -> dict[str, float]:
        return dict(zip(self.names, np.exp(logs).tolist(), strict=True))

    def points(self) -> list[dict[str, float]]:
        """The best set, then a pair for each direction, sqrt(k) deviations away."""
        k = len(self.names)
        steps = np.linalg.cholesky(self.covariance).T * np.sqrt(k)
        return [self.best, *(self._named(self.mean + sign * s) for s in steps for sign in (1, -1))]

    def spread_of(self, rates: Sequence[float]) -> tuple[float, float]:
        """Mean and standard deviation of the logarithm of a rate given at ``points``."""
        logs = np.log(rates)[1:]
        return float(np.mean(logs)), float(np.std(logs))


def each_alone(free: int) -> FloatArray:
    """The prior's spread (k, k), a factor of its covariance: of the logarithms, each for itself."""
    return SD * np.eye(free)


def of_one_machine(free: int) -> FloatArray:
    """As each_alone(), where a faster machine shortens all of the model's times alike.

    So a time that the data do not reach follows those that they do.
    """
    own = SD * np.log(OWN_FACTOR) / np.log(PRIOR_FACTOR)
    return np.asarray(np.linalg.cholesky(own**2 * np.eye(free) + (SD**2 - own**2) * np.ones((free, free))))


def posterior(
    start: Named,
    misses: Misses,
    longer: Misses,
    shown: Callable[[int], None],
    spread: FloatArray | None = None,
) -> Posterior:
    """From the model's own values. ``shown`` is told how many sets of parameters were tried.

    ``spread``: the prior's, by default each_alone(). Where nothing fits, two states may take turns for long
    (a storm near its threshold): the descents go on with ``longer`` runs.
    """
    names, centre = tuple(start), np.log(list(start.values()))
    scale = each_alone(len(names)) if spread is None else spread
    tried = 0

    def with_prior(of: Misses, sets: FloatArray) -> FloatArray:
        """Shape (S, n + k), of sets (S, k) in deviations of the prior."""
        nonlocal tried
        found = []
        for one in sets:
            tried += 1
            shown(tried)
            values = np.exp(centre + scale @ one).tolist()
            found.append(np.concatenate([of(dict(zip(names, values, strict=True))), one]))
        return np.array(found)

    residuals = partial(with_prior, misses)
    ends = _ends(_starts(len(names), residuals), residuals)
    if not _good(ends[0]):
        residuals = partial(with_prior, longer)
        ends = _ends([(at, residuals(at[None])[0]) for at, _ in ends[:2]], residuals)
    at, found = ends[0]
    jacobian = slopes(residuals, at[None], found[None], NO_BOUND, STEP)[0]
    of_data = slice(0, -len(names))
    covariance = scale @ _covariance(jacobian[of_data], found[of_data]) @ scale.T
    return Posterior(names, centre + scale @ at, covariance, found[of_data])


def _inflation(misses: FloatArray, free: int) -> float:
    return max(1.0, float(np.sqrt(_chi2(misses) / max(len(misses) - free, 1))))


def _covariance(jacobian: FloatArray, misses: FloatArray) -> FloatArray:
    """In deviations of the prior, from the data's slopes (n, k) and misses (n,), the data inflated."""
    free = jacobian.shape[1]
    data = jacobian / _inflation(misses, free)
    return np.asarray(np.linalg.inv(data.T @ data + np.eye(free)))


def _ends(starts: Sequence[End], residuals: Residuals) -> list[End]:
    """Where descents end and the misses there, the best first, up to the first good one."""
    ends: list[End] = []
    for at, miss in starts[:TRIES]:
        found = descend(residuals, at[None], -NO_BOUND, NO_BOUND, BY_SIMULATION, miss[None])
        ends.append((found.x[0], found.miss[0]))
        if _good(ends[-1]):
            break
    return sorted(ends, key=lambda end: _chi2(end[1]))


def _good(end: End) -> bool:
    return _chi2(end[1]) < GOOD * len(end[1])


def _chi2(found: FloatArray) -> float:
    return float(found @ found)


def _starts(free: int, residuals: Residuals) -> list[End]:
    """The model's own values and a spread of the prior (Sobol, the same in every run), the best first."""
    from scipy.stats import qmc  # slow to import, and most commands fit nothing

    draws = qmc.Sobol(free, rng=np.random.default_rng(0)).random(STARTS + 1)[1:]
    sets = np.concatenate([np.zeros((1, free)), ndtri(np.clip(draws, 0.01, 0.99))])
    return sorted(zip(sets, residuals(sets), strict=True), key=lambda pair: _chi2(pair[1]))
