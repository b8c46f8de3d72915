# SPDX-License-Identifier: MIT
"""Draws of parameters: as wide and as correlated as the fit says, and never beyond its bounds."""

import numpy as np
import pytest

from lockscale.errors import BadInput
from lockscale.studies.hooks import draws

COVARIANCE = [[0.04, 0.03], [0.03, 0.09]]
LOGS = {
    "names": ["a", "b"],
    "mean": [1.0, 2.0],
    "covariance": COVARIANCE,
    "bounds": [[-9.0, -9.0], [9.0, 9.0]],
}


def logs_of(sets: list[dict[str, float]]) -> np.ndarray:
    return np.log([list(one.values()) for one in sets])


def test_the_first_is_the_best_set():
    first = draws(LOGS, 3, {"c": 0.1})[0]
    assert first == pytest.approx({"a": np.e, "b": np.e**2, "c": 1.0})


@pytest.mark.slow
def test_they_have_the_fits_mean_and_covariance():
    found = logs_of(draws(LOGS, 4000, {"c": 0.1})[1:])
    assert found.mean(axis=0) == pytest.approx([1, 2, 0], abs=0.02)
    assert np.cov(found.T)[:2, :2] == pytest.approx(np.array(COVARIANCE), rel=0.1)
    assert np.std(found[:, 2]) == pytest.approx(0.1, rel=0.1)
    assert abs(np.corrcoef(found.T)[0, 2]) < 0.05


def test_what_the_data_leave_open_is_spread_up_to_the_bounds():
    wide = {**LOGS, "covariance": [[25.0, 0], [0, 0.01]], "bounds": [[0.0, 1.0], [3.0, 3.0]]}
    found = logs_of(draws(wide, 500, {}))
    assert found[:, 0].min() >= 0 and found[:, 0].max() <= 3
    assert np.histogram(found[:, 0], bins=3, range=(0, 3))[0].min() > 100


def test_the_same_seed_draws_the_same():
    assert draws(LOGS, 5, {}) == draws(LOGS, 5, {}) != draws(LOGS, 5, {}, seed=2)


def test_a_fit_that_does_not_say_how_sure_it_is_is_refused():
    with pytest.raises(BadInput, match="no uncertainty of its parameters"):
        draws({**LOGS, "covariance": None}, 3, {})


def test_bounds_that_exclude_next_to_every_draw_are_refused():
    with pytest.raises(BadInput, match="fit it again"):
        draws({**LOGS, "bounds": [[8.0, 8.0], [9.0, 9.0]]}, 3, {})
