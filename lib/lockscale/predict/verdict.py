# SPDX-License-Identifier: MIT
"""Whether a patch is faster and worth writing: by its interval alone, in every answer.

What the argument of a study says (no retry is left, nobody sleeps) moves the interval's ends. It decides
nothing beside them: an interval that holds the base says that the sign is not known.
"""

from lockscale.predict.answer import Idea, Predicted

LEAST_GAIN = 1.05  # assumed: what a patch's own code may cost again (left.OWN_WORK); less is not worth one


def gains(low: float, high: float, base: float, *, is_time: bool = False) -> tuple[float, float]:
    """How many times as fast as the base, at least and at most; of a time the shorter one is the faster."""
    return (base / high, base / low) if is_time else (low / base, high / base)


def sign(low: float, high: float, base: float, *, is_time: bool = False) -> str:
    """`faster` or `slower` where the whole interval is, else `not known`."""
    least, most = gains(low, high, base, is_time=is_time)
    return "faster" if least > 1 else "slower" if most < 1 else "not known"


def creates(
    arm: str, threads: int, value: float, interval: tuple[float, float], naive: float, base_per_s: float
) -> Predicted:
    """A creation rate with what its interval says of the sign."""
    said = sign(*interval, base_per_s)
    return Predicted(arm, threads, "create_rate", "creates/s", value, *interval, naive, said)


def worth(least: float, most: float) -> str:
    """Of a gain's interval: `yes` where all of it is above LEAST_GAIN, `no` where all is below."""
    return "yes" if least > LEAST_GAIN else "no" if most < LEAST_GAIN else "not known"


def idea(arm: str, gain: tuple[float, float], threads: int, argument: str = "") -> Idea:
    """Worth writing by its gain over the base; the argument stands behind the gain."""
    why = f"{gain[0]:.2f} to {gain[1]:.2f} times the base at {threads}"
    return Idea(arm, worth(*gain), f"{why}: {argument}" if argument else why)
