# SPDX-License-Identifier: MIT
"""Counter-based random numbers: draw k of a stream is a function of (stream, k) alone.

SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). A stream's key is a hash of (seed, replication,
thread), so a thread draws the same numbers wherever and in whatever order threads are run.
``th`` is a record of ``layout.THREAD``.
"""

import math
from typing import Any

import numpy as np

from lockscale.sim.engine.compiled import apart, compiled
from lockscale.sim.engine.layout import EMPIRICAL, EXPONENTIAL, FIXED, GAMMA

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
ONE = np.uint64(1)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
PER_UNIT = 2.0**-53


@compiled
def draw(key: np.uint64, counter: np.uint64) -> np.uint64:
    """Output number ``counter`` (from 1) of SplitMix64 seeded with ``key``: 64 random bits."""
    z = key + counter * GOLDEN
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@compiled
def stream_key(seed: np.uint64, replication: np.uint64, thread: np.uint64) -> np.uint64:
    """The key of one thread's stream: a hash of the three numbers."""
    return draw(draw(draw(seed, ONE), replication + ONE), thread + ONE)


@compiled
def unit(bits: np.uint64) -> float:
    """Random bits to a number in (0, 1]."""
    return (float(bits >> S11) + 1.0) * PER_UNIT


@compiled
def next_unit(th: Any) -> float:
    """The stream's next number in (0, 1]."""
    th.counter += ONE
    return unit(draw(th.key, th.counter))


@compiled
def next_below(th: Any, n: Any) -> Any:
    """A whole number from 0 to n - 1; its bias is below n / 2**53."""
    return min(n - 1, int((1.0 - next_unit(th)) * n))


LAYERS = 256
TAIL_FROM = 7.69711747013104972
"""Where the lowest layer's rectangle ends and the tail begins (the paper's r for 256 layers)."""
AREA = (TAIL_FROM + 1.0) * math.exp(-TAIL_FROM)
"""Of each layer; of the lowest, its rectangle and the tail: r exp(-r) + exp(-r)."""


def right_edges() -> Any:
    """(LAYERS + 1,): where each layer ends; the lowest's as wide as if it had no tail, the last 0."""
    x = np.zeros(LAYERS + 1)
    x[0] = AREA / math.exp(-TAIL_FROM)
    x[1] = TAIL_FROM
    for layer in range(2, LAYERS):
        x[layer] = -math.log(AREA / x[layer - 1] + math.exp(-x[layer - 1]))
    return x


EDGES = right_edges()
HEIGHTS = np.exp(-EDGES)
WIDTHS = EDGES[:-1] * 2.0**-53
INSIDE = (EDGES[1:] / EDGES[:-1] * 2.0**53).astype(np.int64)
LOWEST = np.uintp(0)
UP = np.uintp(1)
LAYER_BITS = np.uint64(LAYERS - 1)


@compiled
def fresh_exponential(th: Any) -> Any:
    """An exponential number of mean 1 from the stream's next bits: 8 choose the layer, 53 the place."""
    th.counter += ONE
    bits = draw(th.key, th.counter)
    layer, across = np.uintp(bits & LAYER_BITS), np.int64(bits >> S11)
    return across * WIDTHS[layer] if across < INSIDE[layer] else outside(th, layer, across)


@apart
def outside(th: Any, layer: Any, across: Any) -> Any:
    """One draw in ninety: at the curve's edge, in its tail, or above the curve and then drawn anew."""
    while across >= INSIDE[layer]:
        if layer == LOWEST:
            return TAIL_FROM - math.log(next_unit(th))
        x = across * WIDTHS[layer]
        height = HEIGHTS[layer] + next_unit(th) * (HEIGHTS[layer + UP] - HEIGHTS[layer])
        if height < math.exp(-x):
            return x
        th.counter += ONE
        bits = draw(th.key, th.counter)
        layer, across = np.uintp(bits & LAYER_BITS), np.int64(bits >> S11)
    return across * WIDTHS[layer]


@compiled
def next_exponential(th: Any) -> Any:
    """The next exponential number of mean 1.

    One is always kept ahead: it is then made beside the event that follows, not before the event
    that needs it, which the processor would have to wait for.
    """
    ready = th.ahead
    th.ahead = fresh_exponential(th)
    return ready


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
