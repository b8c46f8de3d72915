# SPDX-License-Identifier: MIT
"""Delays: how long a step takes. Time is integer picoseconds, so sums do not depend on their order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lockscale.errors import BadInput
from lockscale.sim.engine.layout import EMPIRICAL, EXPONENTIAL, FIXED, GAMMA, UNIFORM

PS_PER_NS = 1_000
PS_PER_US = 1_000_000
PS_PER_MS = 1_000_000_000
PS_PER_S = 1_000_000_000_000
MAX_DELAY_PS = 10 * PS_PER_S


@dataclass(frozen=True)
class Delay:
    """A time to spend, of mean ``mean_ps``.

    ``shape``: of a gamma the squared mean over the variance; of a uniform delay the half width over
    the mean. ``sample``: the times (ps) of an empirical delay, each equally likely.
    """

    mean_ps: int
    kind: int = FIXED
    shape: float = 0.0
    sample: tuple[int, ...] = ()


NO_TIME = Delay(0)


def ns(value: float) -> Delay:
    """A fixed delay in nanoseconds."""
    return _fixed(value, PS_PER_NS, "ns")


def us(value: float) -> Delay:
    """A fixed delay in microseconds."""
    return _fixed(value, PS_PER_US, "us")


def ms(value: float) -> Delay:
    """A fixed delay in milliseconds."""
    return _fixed(value, PS_PER_MS, "ms")


def exponential(mean: Delay) -> Delay:
    """An exponential delay with the mean of a fixed one (memoryless: the theory's case)."""
    return replace(_of_fixed(mean), kind=EXPONENTIAL)


def gamma(mean: Delay, shape: float) -> Delay:
    """A gamma delay: squared coefficient of variation 1 / shape; shape 1 is exponential."""
    if not 0.01 <= shape <= 1e6:
        raise BadInput(f"a gamma delay of shape {shape} cannot be simulated: give 0.01 to 1e6")
    if _of_fixed(mean).mean_ps / shape > MAX_DELAY_PS:
        raise BadInput(f"a gamma delay of shape {shape} has a tail of mean / shape above 10 s: give less")
    return replace(mean, kind=GAMMA, shape=float(shape))


def jitter(mean: Delay, half_width: Delay) -> Delay:
    """A delay uniform in mean +- half width, as of a timer that others share."""
    if _of_fixed(half_width).mean_ps > _of_fixed(mean).mean_ps:
        raise BadInput("a jitter wider than its mean gives negative times: give a smaller half width")
    return replace(mean, kind=UNIFORM, shape=half_width.mean_ps / max(1, mean.mean_ps))


def empirical(times: Sequence[Delay]) -> Delay:
    """One of the given times, drawn with equal chance (a measured sample)."""
    if not len(times) or any(not isinstance(t, Delay) or t.kind != FIXED for t in times):
        raise BadInput("an empirical delay needs one or more fixed times: write [us(3), us(5)]")
    sample = tuple(t.mean_ps for t in times)
    return Delay(round(sum(sample) / len(sample)), EMPIRICAL, sample=sample)


def _of_fixed(mean: Delay) -> Delay:
    if not isinstance(mean, Delay) or mean.kind != FIXED:
        raise BadInput(f"the mean of a delay is {mean!r}: give a fixed time such as us(5)")
    return mean


def _fixed(value: float, ps_per_unit: int, unit: str) -> Delay:
    if not math.isfinite(value) or not 0 <= value * ps_per_unit <= MAX_DELAY_PS:
        raise BadInput(f"a delay of {value} {unit} cannot be simulated: give 0 to 10 seconds")
    return Delay(round(value * ps_per_unit))
