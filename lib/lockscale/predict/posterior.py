# SPDX-License-Identifier: MIT
"""A model's parameters from what was observed of the base, and what they say of a patched kernel.

Logarithms of the free parameters have a wide normal prior around the model's own values, a factor of
PRIOR_FACTOR at 95%: what the data do not reach stays as open as that. The best set minimises misses
over their standard deviations, prior included (damped Gauss-Newton with the same random numbers
everywhere), and the curvature there gives its covariance (Laplace's approximation). Where the model
misses the data by more than they scatter, the data's curvature counts that much less (R. Birge, Phys.
Rev. 40, 1932); the prior's does not, so that no parameter is ever less known than before the data. A
patched rate is simulated at the best set and at pairs of sets one covariance away (the unscented
transform: S. Julier and J. Uhlmann, Proc. IEEE 92(3), 2004), which gives its mean and spread.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.stats import norm, qmc

Floats = npt.NDArray[np.float64]
Named = Mapping[str, float]
Start = tuple[Floats, Floats]
End = tuple[Floats, Floats, Floats]
Misses = Callable[[dict[str, float]], Floats]
"""Observed less simulated, each over its standard deviation; any finite numbers where nothing runs."""

PRIOR_FACTOR = 10.0
SD = float(np.log(PRIOR_FACTOR) / norm.ppf(0.975))
STEP = 0.08  # of a logarithm: far above what common random numbers leave of noise
STARTS, TRIES, ROUNDS = 31, 4, 8
GOOD = 2.0  # times as many squared misses as numbers: a descent that ends above it may be stuck
ENOUGH = 0.02  # of a standard deviation: a step that is no longer worth its simulations


@dataclass(frozen=True)
class Posterior:
    """Free parameters; mean (k,) and covariance (k, k) of their logarithms; misses of the data (n,).

    The covariance has the inflation in it already.
    """

    names: tuple[str, ...]
    mean: Floats
    covariance: Floats
    misses: Floats

    @property
    def best(self) -> dict[str, float]:
        return self._named(self.mean)

    @property
    def spread(self) -> Floats:
        """Standard deviation of each logarithm."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def inflation(self) -> float:
        """By how much the misses exceed what their deviations allow (Birge's ratio), at least 1."""
        return _inflation(self.misses, len(self.names))

    def _named(self, logs: Floats) -> dict[str, float]:
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


def posterior(start: Named, misses: Misses, longer: Misses, shown: Callable[[int], None]) -> Posterior:
    """From the model's own values. ``shown`` is told how many sets of parameters were tried.

    Where nothing fits, two states may take turns for long (a storm near its threshold): the descents go on
    with ``longer`` runs.
    """
    names, centre = tuple(start), np.log(list(start.values()))
    tried = 0

    def with_prior(of: Misses, logs: Floats) -> Floats:
        nonlocal tried
        tried += 1
        shown(tried)
        sets = dict(zip(names, np.exp(logs).tolist(), strict=True))
        return np.concatenate([of(sets), (logs - centre) / SD])

    ends = _ends(_starts(centre, partial(with_prior, misses)), partial(with_prior, misses))
    if not _good(ends[0]):
        again = partial(with_prior, longer)
        ends = _ends([(at, again(at)) for at, _, _ in ends[:2]], again)
    at, found, slopes = ends[0]
    of_data = slice(0, -len(names))
    return Posterior(names, at, _covariance(slopes[of_data], found[of_data]), found[of_data])


def _inflation(misses: Floats, free: int) -> float:
    return max(1.0, float(np.sqrt(_chi2(misses) / max(len(misses) - free, 1))))


def _covariance(slopes: Floats, misses: Floats) -> Floats:
    """From the data's slopes (n, k) and misses (n,), the data inflated, and the prior."""
    free = slopes.shape[1]
    data = slopes / _inflation(misses, free)
    return np.asarray(np.linalg.inv(data.T @ data + np.eye(free) / SD**2))


def _ends(starts: Sequence[Start], misses: Callable[[Floats], Floats]) -> list[End]:
    """Where descents end, the best first, up to the first good one."""
    ends: list[End] = []
    for at, found in starts[:TRIES]:
        ends.append(_descend(misses, at, found))
        if _good(ends[-1]):
            break
    return sorted(ends, key=lambda end: _chi2(end[1]))


def _good(end: End) -> bool:
    return _chi2(end[1]) < GOOD * len(end[1])


def _chi2(found: Floats) -> float:
    return float(found @ found)


def _starts(centre: Floats, misses: Callable[[Floats], Floats]) -> list[Start]:
    """The model's own values and a spread of the prior (Sobol, the same in every run), the best first."""
    draws = qmc.Sobol(len(centre), rng=np.random.default_rng(0)).random(STARTS + 1)[1:]
    sets = [centre, *(centre + SD * norm.ppf(np.clip(draws, 0.01, 0.99)))]
    return sorted(((one, misses(one)) for one in sets), key=lambda pair: _chi2(pair[1]))


def _descend(misses: Callable[[Floats], Floats], at: Floats, found: Floats) -> End:
    """Where the damped steps end, the misses there, and their slopes."""
    damping = 1e-3
    for _ in range(ROUNDS):
        slopes = _slopes(misses, at, found)
        at, found, damping, moved = _step(misses, at, found, slopes, damping)
        if moved < ENOUGH:
            break
    return at, found, _slopes(misses, at, found)


def _slopes(misses: Callable[[Floats], Floats], at: Floats, found: Floats) -> Floats:
    steps = STEP * np.eye(len(at))
    return np.stack([(misses(at + one) - found) / STEP for one in steps], axis=1)


def _step(
    misses: Callable[[Floats], Floats], at: Floats, found: Floats, slopes: Floats, damping: float
) -> tuple[Floats, Floats, float, float]:
    """One damped step that does not make the misses larger; how far it went, in deviations."""
    curve = slopes.T @ slopes
    for _ in range(5):
        step = -np.linalg.solve(curve + damping * np.diag(np.diag(curve)), slopes.T @ found)
        step = np.clip(step, -1.5, 1.5)
        after = misses(at + step)
        if _chi2(after) < _chi2(found):
            return at + step, after, damping / 10, float(np.sqrt(step @ curve @ step))
        damping = max(10 * damping, 1e-2)
    return at, found, damping, 0.0
