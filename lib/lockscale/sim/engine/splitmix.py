# SPDX-License-Identifier: MIT
"""Counter-based random numbers: draw k of a stream is a function of (stream, k) alone.

SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). A stream's key is a hash of (seed, replication,
thread), so a thread draws the same numbers wherever and in whatever order threads are run.
``th`` is a record of ``layout.THREAD``.
"""

from typing import Any

import numpy as np

from lockscale.sim.engine.compiled import compiled

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
