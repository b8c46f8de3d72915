# SPDX-License-Identifier: MIT
"""How far a simulated gain is off, learned from the judged gains of other studies.

A fit carries what the data leave open of a model's parameters, not what the model lacks (M. Kennedy and A.
O'Hagan, J. R. Stat. Soc. B 63, 2001). The lack shows in gains that were told and then measured. Of an arm
that changes nothing nothing is told wrong; of one that takes half of an operation's time away, how much of
that half is the model's word. So ln(measured / told) has Student's distribution with FREEDOM and the scale

    sqrt(repeats^2 + draws^2 + (relative |ln told|)^2)

where `draws` is the spread that the fit has already, and `repeats` what two boots differ by and a patch's own
code costs. Both are learned: the most likely pair, each arm of another study counting as one observation, as
its points share what the model lacks, beside a prior that counts as PRIOR_ARMS.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lockscale.queueing.model import FloatArray

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
