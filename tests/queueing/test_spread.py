# SPDX-License-Identifier: MIT
"""Repeats that scatter unevenly are found, and said wherever a fit is shown."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, levene

from lockscale.queueing import AMDAHL, USL
from lockscale.queueing.compare import compare_models
from lockscale.queueing.fit import fit_model
from lockscale.queueing.points import LEVEL, points

THREADS = np.array([1, 2, 4, 8, 16, 32, 64])


def repeated(sd, seed, repeats=5):
    truth = USL(THREADS, lambda_per_s=13000, sigma=0.05, kappa=0.003)
    noise = np.random.default_rng(seed).normal(size=(repeats, 7)) * sd
    return np.tile(THREADS, repeats), (truth * np.exp(noise)).ravel()


@given(st.integers(0, 10_000), st.floats(0.01, 0.2))
def test_the_test_is_scipys(seed, last):
    """Brown and Forsythe's is Levene's about the median."""
    threads, rates = repeated(np.array([0.02] * 6 + [last]), seed)
    p = levene(*np.log(rates.reshape(5, 7)).T, center="median").pvalue
    said = points(threads, rates).warnings
    assert bool(said) == (p < LEVEL)
    assert not said or f"p = {p:.2g}" in said[0]


def test_even_repeats_are_warned_of_no_more_often_than_the_level():
    told = sum(bool(points(*repeated(0.05, seed)).warnings) for seed in range(500))
    assert told <= binom.ppf(0.999, 500, LEVEL)


def test_a_wild_thread_count_is_named_wherever_the_fit_is_shown():
    threads, rates = repeated(np.where(THREADS == 64, 0.3, 0.005), 1)
    found = fit_model((threads, rates), USL)
    assert "% at N = 64" in repr(found) and "scatter unevenly" in found._repr_html_()
    (said,) = json.loads(json.dumps(found.to_json("t", "c")))["warnings"]
    ranked = compare_models((threads, rates), [USL, AMDAHL])
    assert said in repr(ranked) and ranked.to_json("t", "c")[0]["warnings"] == [said]


@pytest.mark.parametrize("repeats", [1, 2])
def test_too_few_repeats_say_nothing(repeats):
    assert points(*repeated(np.where(THREADS == 64, 0.3, 0.005), 1, repeats)).warnings == ()


def test_repeats_without_any_spread_say_nothing():
    assert points(np.repeat(THREADS, 3), np.repeat(1e4 * THREADS, 3)).warnings == ()
