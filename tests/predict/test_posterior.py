# SPDX-License-Identifier: MIT
"""The posterior of a model that is linear in the logarithms, of which the answer is known in closed form."""

import numpy as np
import pytest

from lockscale.predict.posterior import SD, Posterior, _ends, _good, posterior

START = {"hold_us": 2.0, "work_us": 30.0}
CENTRE = np.log(list(START.values()))
SLOPES = np.array([[3.0, -1.0], [0.5, 2.0], [1.0, 1.0], [-2.0, 0.7], [0.1, 4.0], [2.2, 0.3]])
TRUE = np.array([0.4, -0.3])  # of the logarithms, off the centre


def misses(noise: np.ndarray):
    """Observed less simulated, over its deviation: linear in the logarithms of the parameters."""

    def of(values: dict[str, float]) -> np.ndarray:
        off = np.log(list(values.values())) - CENTRE
        return SLOPES @ (TRUE - off) + noise

    return of


def ridge(noise: np.ndarray, inflation: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean (off the centre) and covariance by the normal equations, the data's weight divided by it."""
    best = np.linalg.solve(SLOPES.T @ SLOPES + np.eye(2) / SD**2, SLOPES.T @ (SLOPES @ TRUE + noise))
    return best, np.linalg.inv(SLOPES.T @ SLOPES / inflation**2 + np.eye(2) / SD**2)


def found(noise: np.ndarray) -> Posterior:
    return posterior(START, misses(noise), misses(noise), lambda _: None)


SMALL = np.array([0.2, -0.1, 0.3, 0.1, -0.2, 0.1])


def test_a_good_fit_has_the_mean_and_the_covariance_of_the_normal_equations():
    mean, covariance = ridge(SMALL, 1.0)
    one = found(SMALL)
    assert one.inflation == 1.0
    assert one.mean - CENTRE == pytest.approx(mean, abs=0.01)
    assert one.covariance == pytest.approx(covariance, rel=0.02, abs=1e-4)
    assert one.spread == pytest.approx(np.sqrt(np.diag(covariance)), rel=0.02)
    assert one.best == pytest.approx(dict(zip(START, np.exp(CENTRE + mean), strict=True)), rel=0.02)
    assert len(one.misses) == len(SLOPES)


@pytest.mark.parametrize("times", [10.0, 30.0])
def test_a_bad_fit_is_as_much_wider_as_it_misses(times: float):
    """Birge: by the root of chi square over what the free parameters leave of the data."""
    noise = times * SMALL
    mean, _ = ridge(noise, 1.0)
    miss = SLOPES @ (TRUE - mean) + noise
    birge = np.sqrt(miss @ miss / (len(SLOPES) - 2))
    one = found(noise)
    assert birge > 1 and one.inflation == pytest.approx(birge, rel=0.02)
    assert one.covariance == pytest.approx(ridge(noise, birge)[1], rel=0.03, abs=1e-4)


def test_a_rate_that_is_a_power_of_the_parameters_has_its_spread():
    """The unscented transform is exact in a linear function: its variance is w' C w."""
    covariance = np.array([[0.04, 0.01], [0.01, 0.09]])
    one = Posterior(("a", "b"), np.log([2.0, 5.0]), covariance, np.zeros(4))
    points = one.points()
    assert len(points) == 5 and points[0] == pytest.approx({"a": 2.0, "b": 5.0})
    rates = [point["a"] ** 3 / point["b"] for point in points]
    mean, sd = one.spread_of([1e9, *rates[1:]])  # the best set's own rate has no part in it
    weights = np.array([3.0, -1.0])
    assert mean == pytest.approx(np.log(8 / 5)) and sd == pytest.approx(
        np.sqrt(weights @ covariance @ weights)
    )


def test_a_start_that_does_not_fit_is_no_end_of_the_search():
    """Two minima: the worse one is where the model's own values lie."""

    def of(values: dict[str, float]) -> np.ndarray:
        off = np.log(values["hold_us"]) - CENTRE[0]
        shallow, deep = 6 + 3 * np.abs(off), 8 * np.abs(off - 1.0)
        return np.full(6, min(shallow, deep) / np.sqrt(6))

    one = posterior({"hold_us": 2.0}, of, of, lambda _: None)
    assert np.log(one.best["hold_us"] / 2.0) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("first", [-1, 1])
def test_of_ends_that_all_miss_the_least_is_taken_whichever_was_found_first(first: int):
    """Below 0 the misses end at 7, above at 6; neither is good."""

    def residuals(sets: np.ndarray) -> np.ndarray:
        at = sets[:, 0]
        return np.stack([np.where(at < 0, 7.0, 6.0), 3 * (np.abs(at) - 2)], axis=1)

    starts = [np.array([sign * 2.3]) for sign in (first, -first)]
    ends = _ends([(at, residuals(at[None])[0]) for at in starts], residuals)
    assert [float(end[0][0]) for end in ends] == pytest.approx([2, -2], abs=0.05)


def test_what_misses_by_no_more_than_its_noise_is_good():
    assert _good((np.zeros(2), np.ones(6))) and not _good((np.zeros(2), np.full(6, 1.5)))


def test_how_many_sets_were_tried_is_told_one_by_one():
    told: list[int] = []
    posterior(START, misses(SMALL), misses(SMALL), told.append)
    assert told == list(range(1, len(told) + 1)) and len(told) > 32
