# SPDX-License-Identifier: MIT
"""Delays drawn from a thread's own stream (``delays.Delay``)."""

import math
from typing import Any

import numpy as np

from lockscale.sim.engine.compiled import compiled
from lockscale.sim.engine.layout import EMPIRICAL, EXPONENTIAL, FIXED, GAMMA
from lockscale.sim.engine.splitmix import next_below, next_unit
from lockscale.sim.engine.ziggurat import next_exponential


@compiled
def next_gamma(th: Any, shape: float) -> float:
    """A gamma number of mean 1 (Marsaglia and Tsang, ACM TOMS 26 (2000) 363); normals by Box and Muller."""
    boost = 1.0
    d = shape - 1.0 / 3.0
    if shape < 1.0:
        boost = next_unit(th) ** (1.0 / shape)
        d = shape + 2.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        radius = math.sqrt(-2.0 * math.log(next_unit(th)))
        x = radius * math.cos(2.0 * math.pi * next_unit(th))
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            if math.log(next_unit(th)) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
                return boost * d * v / shape


@compiled
def delay_ps(th: Any, kind: Any, mean_ps: Any, shape: float, first: Any, count: Any, samples: Any) -> Any:
    """One delay (``delays.Delay``), drawn from the thread's own stream if it is random."""
    if kind == FIXED:
        return mean_ps
    if kind == EXPONENTIAL:
        return np.int64(next_exponential(th) * mean_ps + 0.5)
    if kind == GAMMA:
        return np.int64(next_gamma(th, shape) * mean_ps + 0.5)
    if kind == EMPIRICAL:
        return samples[first + next_below(th, count)]
    return np.int64((1.0 + shape * (2.0 * next_unit(th) - 1.0)) * mean_ps + 0.5)
