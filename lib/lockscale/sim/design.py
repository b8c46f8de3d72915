# SPDX-License-Identifier: MIT
"""Designs: the parameter sets that a sweep visits, as a list of dicts."""

import itertools
import math
from collections.abc import Mapping, Sequence

from lockscale.errors import BadInput
from lockscale.sim.model import plain
from lockscale.sim.replicate import whole

MAX_POINTS = 100_000
Design = list[dict[str, object]]


def grid(values: Mapping[str, Sequence[object]]) -> Design:
    """Full factorial: every combination of the values; the last name varies fastest.

    Without names it is one empty set: the model's defaults.
    """
    for name, several in values.items():
        if not several:
            raise BadInput(f"the grid has no value for '{name}': give one or more")
    _check_size(math.prod(len(several) for several in values.values()))
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]


def latin_hypercube(ranges: Mapping[str, tuple[float, float]], samples: int, seed: int) -> Design:
    """``samples`` sets; each of ``samples`` equal parts of every range is met exactly once.

    ``ranges`` gives (low, high) in the parameter's unit. McKay, Beckman and Conover,
    Technometrics 21 (1979); scipy's implementation.
    """
    samples, seed = plain(samples), plain(seed)
    whole("samples", samples, 1, MAX_POINTS)
    whole("seed", seed, 0, 2**63 - 1)
    if not ranges:
        raise BadInput("a Latin hypercube needs a range: give at least one parameter low and high")
    for name, ends in ranges.items():
        low, high = map(plain, ends)
        switch = isinstance(low, bool) or isinstance(high, bool)
        if switch or not -math.inf < low < high < math.inf:
            raise BadInput(
                f"the range of '{name}' is {low} to {high}: give two finite numbers, low < high; "
                "a switch belongs in a grid"
            )
    from scipy.stats import qmc  # slow to import, and a grid does without

    lows, highs = zip(*ranges.values(), strict=True)
    unit = qmc.LatinHypercube(d=len(ranges), rng=seed).random(samples)
    return [dict(zip(ranges, row, strict=True)) for row in qmc.scale(unit, lows, highs).tolist()]


def cross(first: Design, second: Design) -> Design:
    """Every set of the first design with every set of the second, which varies faster."""
    _check_size(len(first) * len(second))
    both = set().union(*first) & set().union(*second)
    if both:
        raise BadInput(f"parameter '{min(both)}' is in both designs: vary it in one")
    return [{**a, **b} for a in first for b in second]


def _check_size(points: int) -> None:
    if not 1 <= points <= MAX_POINTS:
        raise BadInput(f"the design has {points} points: give 1 to {MAX_POINTS}")
