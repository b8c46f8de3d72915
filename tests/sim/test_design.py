# SPDX-License-Identifier: MIT
"""Designs: a full factorial in a stated order, and one sample in every stratum of every range."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.sim.sweep import cross, grid, latin_hypercube


def test_the_last_name_of_a_grid_varies_fastest() -> None:
    assert grid({"hold_ns": [100, 200], "search_locked": [True, False]}) == [
        {"hold_ns": 100, "search_locked": True},
        {"hold_ns": 100, "search_locked": False},
        {"hold_ns": 200, "search_locked": True},
        {"hold_ns": 200, "search_locked": False},
    ]


def test_a_grid_of_nothing_is_the_models_defaults() -> None:
    assert grid({}) == [{}]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_a_grid_has_every_combination_once(sizes: list[int]) -> None:
    design = grid({f"p{k}_ns": range(size) for k, size in enumerate(sizes)})
    seen = [tuple(p.values()) for p in design]
    assert len(seen) == len(set(seen)) == math.prod(sizes)
    assert seen == sorted(itertools.product(*(range(s) for s in sizes)))


@given(
    st.integers(1, 60),
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(1, 1e6)), min_size=1, max_size=4),
    st.integers(0, 2**63 - 1),
)
def test_every_stratum_of_every_range_has_one_sample(
    samples: int, bounds: list[tuple[float, float]], seed: int
) -> None:
    ranges = {f"p{k}_ns": (low, low + width) for k, (low, width) in enumerate(bounds)}
    design = latin_hypercube(ranges, samples, seed)
    assert len(design) == samples
    for name, (low, high) in ranges.items():
        values: list[Any] = [p[name] for p in design]
        assert all(low <= v <= high for v in values)
        # 1e-9: a sample that lies on an edge may have been rounded across it
        scaled = [(v - low) / (high - low) * samples for v in sorted(values)]
        assert all(k - 1e-9 * samples <= u <= k + 1 + 1e-9 * samples for k, u in enumerate(scaled))


def test_the_seed_decides_a_hypercube() -> None:
    ranges = {"hold_ns": (100.0, 500.0), "access_ns": (0.0, 1.0)}
    assert latin_hypercube(ranges, 8, 1) == latin_hypercube(ranges, 8, 1)
    assert latin_hypercube(ranges, 8, 1) != latin_hypercube(ranges, 8, 2)


def test_a_number_of_numpys_is_a_number() -> None:
    ranges = {"hold_ns": (100, 500)}
    numpys = {"hold_ns": (np.int64(100), np.float64(500))}
    assert latin_hypercube(numpys, np.int64(8), np.uint32(1)) == latin_hypercube(ranges, 8, 1)
    with pytest.raises(BadInput, match="a switch belongs in a grid"):
        latin_hypercube({"hold_ns": (np.False_, np.True_)}, 8, 1)
    assert grid({"hold_ns": np.array([0.0, 5.0])}) == grid({"hold_ns": [0.0, 5.0]})


def test_two_designs_cross_with_the_second_fastest() -> None:
    crossed = cross(grid({"a_ns": [1, 2]}), grid({"b_ns": [3, 4]}))
    assert crossed == grid({"a_ns": [1, 2], "b_ns": [3, 4]})
    assert cross(grid({}), crossed) == crossed


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"hold_ns": []}, "no value for 'hold_ns'"),
        ({"hold_ns": 5}, "has 5 for 'hold_ns': give a list"),
        ({"search_locked": "true"}, "has 'true' for 'search_locked'"),
        ({f"p{k}": range(10) for k in range(12)}, "has 1000000000000 points: give 1 to 100000"),
    ],
)
def test_a_bad_grid_is_one_sentence(values: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        grid(values)


@pytest.mark.parametrize(
    ("ranges", "samples", "message"),
    [
        ({}, 4, "needs a range"),
        ({"hold_ns": (1, 2)}, 0, "samples is 0: give a whole number from 1 to 100000"),
        ({"hold_ns": (1, 2)}, 10**9, "samples is 1000000000"),
        ({"hold_ns": (2, 2)}, 4, "'hold_ns' is 2 to 2"),
        ({"hold_ns": (3, 2)}, 4, "low < high"),
        ({"hold_ns": (0, math.inf)}, 4, "two finite numbers"),
        ({"hold_ns": (math.nan, 1)}, 4, "two finite numbers"),
        ({"hold_ns": (False, True)}, 4, "a switch belongs in a grid"),
        ({"hold_ns": (1, 2)}, 2.5, "samples is 2.5"),
    ],
)
def test_a_bad_hypercube_is_one_sentence(ranges: Any, samples: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        latin_hypercube(ranges, samples, seed=1)


def test_a_parameter_in_both_designs_is_refused() -> None:
    with pytest.raises(BadInput, match="'a_ns' is in both"):
        cross(grid({"a_ns": [1]}), grid({"a_ns": [2]}))
    with pytest.raises(BadInput, match="has 1000000 points"):
        cross(grid({"a_ns": range(1000)}), grid({"b_ns": range(1000)}))
