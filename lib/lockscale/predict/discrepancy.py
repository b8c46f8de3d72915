# SPDX-License-Identifier: MIT
"""How far a simulated gain is off, learned from the judged gains of other studies.

A fit carries what the data leave open of a model's parameters, not what the model lacks (M. Kennedy and A.
O'Hagan, J. R. Stat. Soc. B 63, 2001). The lack shows in gains that were predicted and then measured. Where
processes lose none of their time, every model predicts no gain, and is right; the more they lose, the more of
the gain is the model's word. So the logarithm of measured over predicted has the standard deviation
sd * lost beside that of repeats. sd has a scaled inverse chi-squared prior (A. Gelman et al., Bayesian Data
Analysis, 3rd ed., 2.6), to which each arm of another study counts as one observation: its points share what
the model lacks. So a prediction's draws are Student's.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lockscale.predict.posterior import Floats

PRIOR_SD, PRIOR_ARMS = 0.3, 4
"""Assumed before anything is judged: a factor of 1.6 at 90% where all time is lost, as sure as of 4 arms."""
REPEATS_SD = 0.04
"""Of a gain's logarithm: two boots of an arm lie up to 5% apart, and a patch has code of its own."""
LEAST_LOST = 0.1
"""Below, a gain tells of repeats alone."""


class JudgedGain(NamedTuple):
    """One point of one arm: ln(measured / predicted), and the share of time lost in the unpatched arm."""

    study: str
    arm: str
    off: float
    lost: float


@dataclass(frozen=True)
class Discrepancy:
    """sd: of ln(gain) where all time is lost; arms: how many were judged, studies: of which."""

    sd: float
    freedom: float
    arms: int
    studies: tuple[str, ...]

    def draws(self, lost: float, size: int, rng: np.random.Generator) -> Floats:
        """Of ln(measured / predicted), shape (size,)."""
        lacking = self.sd * max(lost, 0.0) * rng.standard_t(self.freedom, size)
        return np.asarray(lacking + REPEATS_SD * rng.standard_normal(size))


def learned(judged: Iterable[JudgedGain]) -> Discrepancy:
    """From other studies' gains; from none it is the prior."""
    by_arm: dict[tuple[str, str], list[float]] = {}
    for one in judged:
        if one.lost >= LEAST_LOST:
            by_arm.setdefault((one.study, one.arm), []).append((one.off / one.lost) ** 2)
    squares = [float(np.mean(of)) for of in by_arm.values()]
    freedom = PRIOR_ARMS + len(squares)
    sd = float(np.sqrt((PRIOR_ARMS * PRIOR_SD**2 + sum(squares)) / freedom))
    return Discrepancy(sd, float(freedom), len(squares), tuple(sorted({study for study, _ in by_arm})))
