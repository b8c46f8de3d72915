# SPDX-License-Identifier: MIT
"""Exponential numbers by the ziggurat (Marsaglia and Tsang, J. Stat. Software 5 (2000) 8).

256 layers of equal area lie under exp(-x). 99 of 100 draws end inside their layer, which costs a
multiplication and a comparison; a logarithm for each took a tenth of the time of a small model.
"""

import math
from typing import Any

import numpy as np

from lockscale.sim.engine.compiled import compiled
from lockscale.sim.engine.splitmix import S11, draw, next_unit

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
    while True:
        th.counter += np.uint64(1)
        bits = draw(th.key, th.counter)
        layer = np.uintp(bits & LAYER_BITS)
        across = np.int64(bits >> S11)
        x = across * WIDTHS[layer]
        if across < INSIDE[layer]:
            return x
        if layer == LOWEST:
            return TAIL_FROM - math.log(next_unit(th))
        height = HEIGHTS[layer] + next_unit(th) * (HEIGHTS[layer + UP] - HEIGHTS[layer])
        if height < math.exp(-x):
            return x


@compiled
def next_exponential(th: Any) -> Any:
    """The next exponential number of mean 1.

    One is always kept ahead: it is then made beside the event that follows, not before the event
    that needs it, which the processor would have to wait for.
    """
    ready = th.ahead
    th.ahead = fresh_exponential(th)
    return ready
