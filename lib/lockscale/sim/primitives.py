# SPDX-License-Identifier: MIT
"""Locks, shared state and delays, each with its cost parameters.

Time is integer picoseconds, so sums do not depend on their order. ``row()`` is what the engine
reads; everything else is for people.
"""

import math
from dataclasses import dataclass

from lockscale.errors import BadInput

PS_PER_NS = 1_000
PS_PER_US = 1_000_000
PS_PER_S = 1_000_000_000_000
MAX_DELAY_PS = 10 * PS_PER_S

FIXED, EXPONENTIAL = 0, 1
FIFO, RANDOM_ORDER = 0, 1


@dataclass(frozen=True)
class Delay:
    """A time to spend: ``mean_ps`` exactly, or exponential with that mean."""

    mean_ps: int
    kind: int = FIXED


NO_TIME = Delay(0)


def ns(value: float) -> Delay:
    """A fixed delay in nanoseconds."""
    return _fixed(value, PS_PER_NS, "ns")


def us(value: float) -> Delay:
    """A fixed delay in microseconds."""
    return _fixed(value, PS_PER_US, "us")


def exponential(mean: Delay) -> Delay:
    """An exponential delay with the mean of a fixed one (memoryless: the theory's case)."""
    return Delay(mean.mean_ps, EXPONENTIAL)


def _fixed(value: float, ps_per_unit: int, unit: str) -> Delay:
    if not math.isfinite(value) or not 0 <= value * ps_per_unit <= MAX_DELAY_PS:
        raise BadInput(f"a delay of {value} {unit} cannot be simulated: give 0 to 10 seconds")
    return Delay(round(value * ps_per_unit))


@dataclass(frozen=True)
class Lock:
    """A spin lock.

    ``hold`` is spent from the moment it is taken, before the path's next step. ``handover`` is
    spent by a waiter before that, when its predecessor passes the lock on; it counts as hold time,
    so hold time over elapsed time is the lock's busy fraction.
    """

    index: int
    name: str
    order: int
    hold: Delay
    handover: Delay

    def row(self) -> tuple[int, ...]:
        return (self.order, self.hold.mean_ps, self.hold.kind, self.handover.mean_ps)


@dataclass(frozen=True)
class Bitmap:
    """A bitmap of which a searcher keeps the first zero bit it saw until it claims it.

    A bit is only ever claimed when it is the first zero, so the set bits stay contiguous and one
    counter stands for the bitmap. With ``shared`` false every thread searches a part of its own.
    """

    index: int
    name: str
    shared: bool

    def row(self) -> tuple[int, ...]:
        return (int(self.shared),)
