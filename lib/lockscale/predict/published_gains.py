# SPDX-License-Identifier: MIT
"""How much of what a patch promises arrives, learned from published patches.

The promise of a patch is the gain if the waiting that it removes were simply deleted. What arrives differs,
because of a next lock that the unpatched side's profile does not show, or because the waiting slowed
everybody. Neither is known of a patch that is not written, but published ones say how they turned out. The
model: y, the logarithm of the gain, plus FLOOR has the Box-Cox transform z with exponent POWER (G. Box and D.
Cox, J. R. Stat. Soc. B 26, 1964), and

    z = intercept + left[of the lock] + slope ln(promise) + known + scale[left] * Student(FREEDOM)

with the promise's terms 0 where no share of a profile is known, and normal priors that hold the rest near
zero. Its mode and curvature (Laplace) are found from all cases; a prediction carries both the scatter and
what so few cases leave open of the coefficients. An interval is the shortest that has its probability: gains
are skewed, and few patches make anything slower.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from lockscale.predict.answer import LEAST_GAIN
from lockscale.predict.change_kind import LEFT
from lockscale.queueing.model import FloatArray

FLOOR = float(np.log(LEAST_GAIN))  # what a patch's own code may cost
POWER, FREEDOM = 0.25, 6
SMALLEST = 0.02  # of y + FLOOR: a patch that made it slower counts as one that costs its own code
TYPICAL = 0.9  # ln of a promise in the middle of the cases: a share of 59%
LEAST_PROMISE, MOST_PROMISE = 0.05, 3.5  # of its logarithm, beyond which cases say nothing
MOST_SHARE = 0.97  # of a profile: more is indistinguishable from all of it
LEAST_BUSY = 0.3  # assumed: who publishes a profile of a contended lock has kept the CPUs that busy
HOLDS = 0.90
EACH = (np.arange(2000) + 0.5) / 2000  # probabilities, evenly
BOUND_SD = 0.05  # of its logarithm: two rates of which each has noise
ROOM = 1.25  # assumed: how much the estimate of the next limit may be off
SUPERLINEAR = 1.15  # assumed: caches; more than N times one thread's rate is not expected of N threads

_SLOPE, _KNOWN = len(LEFT) + 1, len(LEFT) + 2
_MEANS = _KNOWN + 1
_PRIOR_MEAN = np.array([-0.64, *[0.0] * 3, 0.6, 0.0, -0.2, *[0.0] * 3])
_PRIOR_SD = np.array([1.0, *[0.7] * 3, 0.3, 0.3, 0.5, *[0.4] * 3])


class PublishedGain(NamedTuple):
    """One measured gain.

    left: what is left of the lock, None where the kind is not known. promise: of deleting the waits, None
    where no profile says it. weight: 1 over how many gains its case has.
    """

    gain: float
    left: str | None
    promise: float | None
    family: str
    weight: float


class GainInterval(NamedTuple):
    """Of a gain: patched over unpatched, 1.0 is no change. value: the median.

    worth: how likely it is that the gain pays for the patch's own code, from 0 to 1.
    """

    low: float
    value: float
    high: float
    worth: float = 1.0

    @property
    def width(self) -> float:
        return self.high / self.low


@dataclass(frozen=True)
class GainModel:
    """Coefficients (k,) and their covariance (k, k); gains: how many they are learned from; patches:
    how many patches gave those.

    promises: quartiles of what profiles promised, where there was one.
    """

    mode: FloatArray
    covariance: FloatArray
    gains: int
    patches: int
    promises: tuple[float, ...] = (float(np.exp(TYPICAL)),)

    def gain(
        self,
        left: str | None,
        promise: float | None,
        most: float = np.inf,
        holds: float = HOLDS,
        *,
        timed: bool = False,
        next_limit: float = np.inf,
    ) -> GainInterval:
        """Of a patch. `most`: what none exceeds, as N threads do no more than N times what one does.

        timed: the promise is of all who wait. Where those are fewer than in any case, so is the gain, down to
        a lock for which nobody waits: the patch's own code then costs or saves FLOOR at most. next_limit: the
        gain at which another lock limits, known to a factor of ROOM; what arrives is the lesser of the two.
        """
        means, scales = _row(left, promise)
        z = float(means @ self.mode[:_MEANS])
        log_scale = float(scales @ self.mode[_MEANS:])
        unsure = float(means @ self.covariance[:_MEANS, :_MEANS] @ means)
        if left is None:  # any of them: as far apart as they are
            z += float(np.mean(self.mode[1:_SLOPE]))
            unsure += float(np.var(self.mode[1:_SLOPE]))
        spread = np.hypot(np.exp(log_scale), np.sqrt(unsure))
        part = min(np.log(max(promise, 1.0)) / LEAST_PROMISE, 1.0) if timed and promise is not None else 1.0

        def log_gain(probability: FloatArray) -> FloatArray:
            learned = _from_z(z + spread * stdtrit(FREEDOM, probability))
            return part * learned + (1 - part) * FLOOR * (2 * probability - 1)

        limited = np.isfinite(next_limit)
        arrives = _lesser(log_gain(EACH), float(np.log(max(next_limit, 1.0)))) if limited else log_gain
        each = arrives(EACH)
        lows = np.linspace(0.0005, 1 - holds - 0.0005, 100)
        shortest = int(np.argmin(arrives(lows + holds) - arrives(lows)))
        low, value, high = np.exp(arrives(np.array([lows[shortest], 0.5, lows[shortest] + holds])))
        if limited:  # no case has a known next lock, so the low end is not raised by one
            low = min(low, self.gain(left, promise, most, holds, timed=timed).low)
        bound = max(most, 1.0)  # what is learned may be more, what arrives is not
        if np.isfinite(bound):
            value = _middle(each, float(np.log(bound * SUPERLINEAR)), value)
        worth = stdtr(FREEDOM, (z - _to_z(np.array(FLOOR))) / spread)
        if part < 1 or limited:
            worth = float(np.mean(each > FLOOR))
        worth *= ndtr((np.log(bound) - FLOOR) / BOUND_SD)
        value, high = min(value, bound), min(high, bound * SUPERLINEAR)
        return GainInterval(float(low), float(value), float(high), float(worth))


def _middle(gains: FloatArray, most: float, of_all: float) -> float:
    """The median of those gains, logarithms, that rates allow: one of all would be the bound itself, for each
    patch alike, where half of them are above it."""
    possible = gains[gains <= most]
    return float(np.exp(np.median(possible))) if len(possible) else of_all


def _lesser(gains: FloatArray, limit: float) -> Callable[[FloatArray], FloatArray]:
    """Quantiles of the lesser of two: a gain with these quantiles at EACH, and a limit that is no loss.

    All are logarithms; the limit's is normal, and one in twenty is more than ROOM times `limit`.
    """
    above = ndtr((limit - gains) / (np.log(ROOM) / ndtri(0.95)))
    below = 1 - (1 - EACH) * np.where(gains > 0, above, 1.0)
    return lambda probability: np.asarray(np.interp(probability, below, gains))


def learn(cases: Sequence[PublishedGain]) -> GainModel:
    """From measured gains of any number of families; of none it is the prior."""
    rows = [_row(case.left, case.promise) for case in cases]
    means = np.array([row[0] for row in rows]).reshape(len(rows), _MEANS)
    scales = np.array([row[1] for row in rows]).reshape(len(rows), len(LEFT) + 1)
    z = _to_z(np.log([case.gain for case in cases]))
    weights = _weights(cases)

    def loss(at: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log of the posterior, and its slopes."""
        log_scale = scales @ at[_MEANS:]
        u = (z - means @ at[:_MEANS]) / np.exp(log_scale)
        off = (at - _PRIOR_MEAN) / _PRIOR_SD
        value = weights @ ((FREEDOM + 1) / 2 * np.log1p(u * u / FREEDOM) + log_scale) + off @ off / 2
        pull = weights * (FREEDOM + 1) * u / (FREEDOM + u * u)
        slopes = np.concatenate([-(pull / np.exp(log_scale)) @ means, (weights - pull * u) @ scales])
        return float(value), slopes + off / _PRIOR_SD

    mode = minimize(loss, _PRIOR_MEAN, jac=True, method="BFGS").x
    step = 1e-4 * np.eye(len(mode))
    curvature = np.array([loss(mode + one)[1] - loss(mode - one)[1] for one in step]) / 2e-4
    covariance = np.asarray(np.linalg.inv((curvature + curvature.T) / 2))
    patches = round(sum(case.weight for case in cases))
    known = [case.promise for case in cases if case.promise is not None] or [float(np.exp(TYPICAL))]
    quartiles = tuple(float(one) for one in np.quantile(known, [0.25, 0.5, 0.75]))
    return GainModel(mode, covariance, len(cases), patches, quartiles)


def promise_of(share: float, idle: float = 0.0) -> float:
    """The gain if that share of a profile's samples were deleted; idle samples are no part of the work."""
    return float(1 / (1 - min(share_of_busy(share, idle), MOST_SHARE)))


def share_of_busy(share: float, idle: float) -> float:
    """Of the time in which CPUs had something to do, of a share of all of it and that in which they idled."""
    return share / max(1 - idle, LEAST_BUSY)


def most_gain(rates: Mapping[int, float], threads: int, saved: float = 0.0, work: float = 0.0) -> float:
    """N times the rate of one thread over that of N; infinite where one of the two was not measured.

    saved: how much of the time for which an operation holds the lock the patch takes away, 0 to 1: so much
    faster one thread gets, too. Of one lock that is at most the time between two operations of all N.
    work: what it takes away of the N threads' time that is no waiting, 0 to 1.
    """
    if threads == 1 or not {1, threads} <= rates.keys():
        return float("inf")
    one_s, longest_hold_s = 1 / rates[1], min(1 / rates[1], 1 / rates[threads])
    left_s = one_s - saved * longest_hold_s - work * threads / rates[threads]
    return threads / left_s / rates[threads] if left_s > 0 else float("inf")


def _row(left: str | None, promise: float | None) -> tuple[FloatArray, FloatArray]:
    """What the mean's coefficients, shape (6,), and the scale's, shape (4,), are multiplied by."""
    means, scales = np.zeros(_MEANS), np.zeros(len(LEFT) + 1)
    means[0] = scales[0] = 1.0
    if left is not None:
        means[1 + LEFT.index(left)] = scales[1 + LEFT.index(left)] = 1.0
    if promise is not None:
        log_promise = float(np.clip(np.log(max(promise, 1.0)), LEAST_PROMISE, MOST_PROMISE))
        means[_SLOPE], means[_KNOWN] = np.log(log_promise / TYPICAL), 1.0
    return means, scales


def _weights(cases: Sequence[PublishedGain]) -> FloatArray:
    """Each case's, over the square root of how many its family has for that kind: they repeat one another."""
    of_family: dict[tuple[str, str | None], float] = {}
    for case in cases:
        key = case.family, case.left
        of_family[key] = of_family.get(key, 0.0) + case.weight
    return np.array([case.weight / np.sqrt(of_family[case.family, case.left]) for case in cases])


def _to_z(log_gains: FloatArray) -> FloatArray:
    return np.asarray((np.maximum(log_gains + FLOOR, SMALLEST) ** POWER - 1) / POWER)


def _from_z(z: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(1 + POWER * z, 0.0) ** (1 / POWER) - FLOOR)
