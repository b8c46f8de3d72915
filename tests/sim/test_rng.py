# SPDX-License-Identifier: MIT
"""Random numbers: SplitMix64 as published, streams that do not depend on each other."""

import math

import numpy as np
from scipy.stats import kstest

from lockscale.sim.rng import draw, exponential_ps, stream_key, unit


def word(value: int) -> np.uint64:
    return np.uint64(value)


def test_draws_are_splitmix64() -> None:
    """The reference implementation's first outputs for seed 1234567."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [draw(word(1234567), word(k)) for k in (1, 2, 3)] == expected


def draws(thread: int, count: int) -> list[np.uint64]:
    key = word(int(stream_key(word(1), word(0), word(thread))))
    return [word(int(draw(key, word(k)))) for k in range(1, count + 1)]


def delay(bits: np.uint64) -> int:
    return int(exponential_ps(np.int64(1_000_000), bits))


def test_each_stream_is_uniform_and_neighbours_are_uncorrelated() -> None:
    n = 4_000
    streams = np.array([[unit(bits) for bits in draws(thread, n)] for thread in range(4)])
    assert all(kstest(stream, "uniform").pvalue > 0.001 for stream in streams)
    correlations = np.corrcoef(streams)[np.triu_indices(4, 1)]
    assert np.all(np.abs(correlations) < 4 / math.sqrt(n))


def test_seed_replication_and_thread_each_change_the_stream() -> None:
    keys = {int(stream_key(word(a), word(b), word(c))) for a, b, c in np.ndindex(5, 5, 5)}
    assert len(keys) == 125


def test_exponential_delays_are_exponential() -> None:
    delays = [delay(bits) for bits in draws(4, 5_000)]
    assert kstest(delays, "expon", args=(0, 1_000_000)).pvalue > 0.001


def test_the_smallest_random_number_gives_a_finite_delay() -> None:
    assert delay(word(0)) == round(53 * math.log(2) * 1_000_000)
    assert delay(word(2**64 - 1)) == 0
