# SPDX-License-Identifier: MIT
"""Random numbers: SplitMix64 as published, streams that do not depend on each other."""

import math

import numba
import numpy as np
import pytest
from scipy.stats import kstest

from lockscale.sim.engine.layout import EXPONENTIAL, GAMMA, THREAD, UNIFORM
from lockscale.sim.engine.random import (
    AREA,
    EDGES,
    HEIGHTS,
    TAIL_FROM,
    delay_ps,
    draw,
    fresh_exponential,
    stream_key,
    unit,
)


def word(value: int) -> np.uint64:
    return np.uint64(value)


def test_draws_are_splitmix64() -> None:
    """The reference implementation's first outputs for seed 1234567."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [draw(word(1234567), word(k)) for k in (1, 2, 3)] == expected


def draws(thread: int, count: int) -> list[np.uint64]:
    key = word(int(stream_key(word(1), word(0), word(thread))))
    return [word(int(draw(key, word(k)))) for k in range(1, count + 1)]


@numba.njit
def fill(threads, kind, mean_ps, shape, samples, out):  # type: ignore[no-untyped-def]
    for k in range(len(out)):
        out[k] = delay_ps(threads[0], kind, mean_ps, shape, 0, len(samples), samples)


def delays(kind: int, shape: float = 0.0) -> list[int]:
    threads = np.zeros(1, THREAD)
    threads["key"], threads["ahead"] = stream_key(word(1), word(0), word(4)), 1.0
    out = np.zeros(5_001, np.int64)
    fill(threads, kind, 1_000_000, shape, np.array([7, 9], np.int64), out)
    return [int(d) for d in out[1:]]  # the first exponential is the one kept ahead


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
    assert kstest(delays(EXPONENTIAL), "expon", args=(0, 1_000_000)).pvalue > 0.001


@pytest.mark.parametrize("shape", [0.3, 1.0, 4.0, 100.0])
def test_gamma_delays_are_gamma(shape: float) -> None:
    assert kstest(delays(GAMMA, shape), "gamma", args=(shape, 0, 1_000_000 / shape)).pvalue > 0.001


def test_jittered_delays_are_uniform_around_their_mean() -> None:
    found = delays(UNIFORM, 0.25)
    assert kstest(found, "uniform", args=(750_000, 500_000)).pvalue > 0.001


def test_the_layers_under_the_exponential_are_of_one_area() -> None:
    areas = EDGES[1:-1] * np.diff(HEIGHTS[1:])
    assert areas == pytest.approx(AREA, rel=1e-9)  # the top layer too: the paper's r makes it close
    assert TAIL_FROM * math.exp(-TAIL_FROM) + math.exp(-TAIL_FROM) == pytest.approx(AREA)


@numba.njit
def fill_exponential(threads, out):  # type: ignore[no-untyped-def]
    for k in range(len(out)):
        out[k] = fresh_exponential(threads[0])


def test_a_million_exponentials_have_the_moments_and_the_tail_of_the_exponential() -> None:
    threads = np.zeros(1, THREAD)
    threads["key"] = stream_key(word(1), word(0), word(5))
    found, n = np.zeros(1_000_000), 1_000_000
    fill_exponential(threads, found)
    for power, mean, mean_of_square in ((1, 1, 2), (2, 2, 24), (3, 6, 720)):
        error = math.sqrt((mean_of_square - mean**2) / n)
        assert np.mean(found**power) == pytest.approx(mean, abs=4 * error)
    for at in (EDGES[200], EDGES[2], TAIL_FROM, TAIL_FROM + 2):
        expected = math.exp(-at)
        assert np.mean(found > at) == pytest.approx(expected, abs=4 * math.sqrt(expected / n))
    assert kstest(found[:100_000], "expon").pvalue > 0.001


def test_random_numbers_are_above_0_so_their_logarithm_is_finite() -> None:
    assert -math.log(unit(word(0))) == pytest.approx(53 * math.log(2))
    assert -math.log(unit(word(2**64 - 1))) == 0
