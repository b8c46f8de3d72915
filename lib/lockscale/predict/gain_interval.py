# SPDX-License-Identifier: MIT
"""The interval of a gain: what the fitted model says, what stands in the way, and what the model lacks.

Two things end a gain, whatever the model says. N processes do no more than N times one. And a cache line
that the patch does not touch: where it is on its way to a CPU for nearly all of the time, the patch gives
nearly nothing (`fullest_untouched_line` of predict/unpatched_run.py).

One thing is in no rate. Two processes hardly wait; what they lose is cache-line transfers. Whether those
are the lock's, which the patch takes away, or those of every operation, looks the same to the unpatched rate:
any part of that loss may go, as far as the arm changes anything at all.

Nor does a rate show how long an arm's own code takes. A study names the functions that the others replace;
the function costs of one process say how much of its time they are, and any part of that may be saved beside
what the model saves already.

A fit carries what the data leave open of a model's parameters, not what the model lacks, a next limit with
it (M. Kennedy and A. O'Hagan, J. R. Stat. Soc. B 63, 2001). The lack shows in gains of other studies that
were told and then measured. Of an arm that changes nothing nothing is told wrong; of one that takes half of
an operation's time away, how much of that half is the model's word. So ln(measured / told) has Student's
distribution with FREEDOM and the scale

    sqrt(repeats^2 + draws^2 + (relative |ln told|)^2)

where `draws` is the spread that the fit has already, and `repeats` what two boots differ by and a patch's own
code costs. Both are learned: the most likely pair, each arm of another study counting as one observation, as
its points share what the model lacks, beside a prior that counts as PRIOR_ARMS.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from lockscale.predict.published_gains import SUPERLINEAR
from lockscale.queueing.model import FloatArray

DRAWS = 4000
LEVEL = 0.90
FEWER_VISITS = 0.1
"""Assumed: the mean of the logarithm by which a patch makes visits to a line fewer that it does not touch."""
FREEDOM = 4
"""Assumed: most models are near, and some are far off."""
PRIOR_RELATIVE, RELATIVE_SD = 0.6, 0.7
"""Assumed before anything is judged: about a factor of 2 off at 90% where a gain of 1.6 is told."""
PRIOR_REPEATS, REPEATS_SD = 0.04, 0.7
"""Assumed: two boots of an arm lie up to 5% apart, and a patch has code of its own."""
PRIOR_ARMS = 2
RELATIVES = np.linspace(0.02, 1.5, 75)[:, None]
REPEATS = np.linspace(0.02, 0.2, 19)[None, :]
NORMAL_90 = 3.29
"""A normal distribution's middle 90% in standard deviations."""


class JudgedGain(NamedTuple):
    """One point of one arm: ln(measured / told), |ln told|, and the spread of what was told."""

    study: str
    arm: str
    off: float
    changed: float
    spread: float


@dataclass(frozen=True)
class Discrepancy:
    """relative: of |ln gain|; repeats: of any gain's logarithm; arms: how many were judged, of `studies`."""

    relative: float
    repeats: float
    freedom: float
    arms: int
    studies: tuple[str, ...]

    def lacking(self, changed: float, size: int, rng: np.random.Generator) -> FloatArray:
        """Of ln(measured / told), shape (size,), where |ln told| is `changed`."""
        return np.asarray(self.relative * changed * rng.standard_t(self.freedom, size))

    def noise(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Of the same, of any arm."""
        return np.asarray(self.repeats * rng.standard_t(self.freedom, size))


def spread_of(logs: FloatArray) -> float:
    """Standard deviation of a normal distribution that is as wide between 5% and 95%."""
    low, high = np.quantile(logs, [0.05, 0.95])
    return float(high - low) / NORMAL_90


def _log_density(off: FloatArray) -> FloatArray:
    """Of Student's t with FREEDOM degrees, but for a constant."""
    return -(FREEDOM + 1) / 2 * np.log1p(off**2 / FREEDOM)


def learned(judged: Iterable[JudgedGain]) -> Discrepancy:
    """From other studies' gains; from none it is the prior."""
    by_arm: dict[tuple[str, str], list[JudgedGain]] = {}
    for one in judged:
        by_arm.setdefault((one.study, one.arm), []).append(one)
    far = (np.log(RELATIVES / PRIOR_RELATIVE) / RELATIVE_SD) ** 2
    far = far + (np.log(REPEATS / PRIOR_REPEATS) / REPEATS_SD) ** 2
    likely = -PRIOR_ARMS * far / 2
    for points in by_arm.values():
        for one in points:
            scale = np.sqrt(REPEATS**2 + one.spread**2 + (RELATIVES * one.changed) ** 2)
            likely += _log_density(one.off / scale) / len(points) - np.log(scale) / len(points)
    relative, repeats = np.unravel_index(int(np.argmax(likely)), likely.shape)
    return Discrepancy(
        relative=float(RELATIVES[relative, 0]),
        repeats=float(REPEATS[0, repeats]),
        freedom=float(FREEDOM),
        arms=len(by_arm),
        studies=tuple(sorted({study for study, _ in by_arm})),
    )


@dataclass(frozen=True)
class SimulatedGain:
    """One arm at one number of processes; gains are the arm's rate over the unpatched arm's there.

    mean, sd: of the logarithm, over what the fit leaves open; alone, alone_sd: the same where processes meet
    nobody, or the fewest. off: ln(simulated / measured) of the unpatched rate. naive: the gain of deleting
    all waiting; beside: the same for the fewest processes above one. changes: the largest |mean| of the arm.
    full: the share of the time in which the fullest untouched line is on its way, 0 where none is known.
    replaced: the share of one process's time in functions that other arms replace, 0 where none are named.
    """

    arm: str
    model: str
    cpus: int
    threads: int
    mean: float
    sd: float
    alone: float
    alone_sd: float
    off: float
    naive: float
    beside: float
    changes: float
    full: float
    replaced: float = 0.0

    def draws(self, rng: np.random.Generator) -> FloatArray:
        """Of the logarithm, shape (DRAWS,), by the model and what stands in the way."""
        gain = self.mean + self.sd * rng.standard_normal(DRAWS)
        if self.replaced:
            gain += self.shorter * rng.uniform(size=DRAWS)
        if self.threads > 1:
            lost = np.clip(np.log(self.naive) - gain, 0.0, np.log(self.beside))
            gain += rng.uniform(size=DRAWS) * -np.expm1(-self.changes) * lost
        ends = [gain, self.most(rng)]
        if self.full:
            ends.append(FEWER_VISITS * rng.exponential(size=DRAWS) - np.log(self.full))
        return np.asarray(np.minimum.reduce(ends))

    @property
    def shorter(self) -> float:
        """The most, of the logarithm, by which the replaced functions are longer than the model has them.

        Where an operation takes `naive` times as long as alone, they are that much less of it.
        """
        return max(float(-np.log1p(-self.replaced / self.naive)) - max(self.alone, 0.0), 0.0)

    def most(self, rng: np.random.Generator) -> FloatArray:
        """Draws of the logarithm of what N processes give that are each as fast as one alone."""
        saved = self.alone + self.alone_sd * rng.standard_normal(DRAWS)
        return np.asarray(np.log(SUPERLINEAR * self.naive) + np.maximum(saved, 0.0) + self.shorter)


@dataclass(frozen=True)
class ArmGain:
    """A gain: the arm's rate over the unpatched arm's at the same number of processes; 90% interval.

    naive_gain: of deleting all waiting, each process as fast as one alone.
    """

    arm: str
    model: str
    cpus: int
    threads: int
    value: float
    low: float
    high: float
    naive_gain: float


def told(one: SimulatedGain, discrepancy: Discrepancy, rng: np.random.Generator) -> ArmGain:
    """No gain is known closer than the fit meets the unpatched rate, as far as the patch changes anything."""
    logs = one.draws(rng)
    changed = abs(float(np.median(logs)))
    logs += one.off * -np.expm1(-changed) * rng.standard_normal(DRAWS)
    logs += discrepancy.lacking(changed, DRAWS, rng)
    logs = np.minimum(logs, one.most(rng)) + discrepancy.noise(DRAWS, rng)
    tail = (1 - LEVEL) / 2
    low, value, high = np.exp(np.quantile(logs, [tail, 0.5, 1 - tail])).tolist()
    return ArmGain(one.arm, one.model, one.cpus, one.threads, value, low, high, one.naive)


@dataclass(frozen=True)
class UnpatchedFit:
    """A model at the unpatched arm's rates. off_pct: how far it is off, by number of processes."""

    model: str
    parameters: Mapping[str, float]
    off_pct: Mapping[int, float]


@dataclass(frozen=True)
class _Gains:
    """What the gains of all arms but the unpatched one are from."""

    origin: str
    unpatched: str
    unit: str
    unpatched_rates: Sequence[Mapping[str, Any]]
    fits: Sequence[UnpatchedFit]

    def as_json(self) -> dict[str, Any]:
        """As JSON reads it back, whose names are text: a hash of it is then that of the file."""
        said: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return said


@dataclass(frozen=True)
class GainsSimulated(_Gains):
    """As the fitted models have them; why_none: of arms without a model."""

    gains: Sequence[SimulatedGain]
    why_none: Mapping[str, str]

    @classmethod
    def of_json(cls, said: Mapping[str, Any]) -> Self:
        """What as_json() wrote."""
        fits = [
            UnpatchedFit(one["model"], one["parameters"], {int(n): off for n, off in one["off_pct"].items()})
            for one in said["fits"]
        ]
        return cls(**{**said, "fits": fits, "gains": [SimulatedGain(**one) for one in said["gains"]]})


@dataclass(frozen=True)
class GainsTold(_Gains):
    """With all that the models lack; why_none: of arms that are not predicted."""

    gains: Sequence[ArmGain]
    why_none: Mapping[str, str]
    discrepancy: Discrepancy


def tell_gains(simulated: GainsSimulated, discrepancy: Discrepancy, seed: int) -> GainsTold:
    """The gains with all that the models lack; of seconds, where simulate_gains() takes minutes."""
    rng = np.random.default_rng(seed)
    gains = [told(one, discrepancy, rng) for one in simulated.gains]
    return GainsTold(**{**vars(simulated), "gains": gains}, discrepancy=discrepancy)
