# SPDX-License-Identifier: MIT
"""The local search inside profiles against scipy's, with and without a bound in the way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from lockscale.queueing.gauss_newton import NEAR, descend, slopes

FREE = np.full(2, -np.inf), np.full(2, np.inf)


def each(residuals):
    return lambda xs: np.array([residuals(x) for x in xs])


def settled_at(residuals, start, low, high):
    found = descend(each(residuals), start[None], low, high, NEAR)
    return found.x[0], found.ss[0], found.settled[0]


def test_a_line_is_fitted_in_one_go():
    x = np.array([0.0, 1, 2, 3])
    y = np.array([1.1, 2.9, 5.2, 6.8])
    found, _, settled = settled_at(lambda p: p[0] + p[1] * x - y, np.zeros(2), *FREE)
    assert settled
    assert found == pytest.approx(np.polyfit(x, y, 1)[::-1], abs=1e-5)


@given(st.integers(0, 10_000))
def test_bounds_hold_and_the_optimum_is_scipys(seed):
    rng = np.random.default_rng(seed)
    matrix, goal = rng.normal(size=(7, 3)), rng.normal(size=7)
    low, high = np.full(3, -0.2), np.full(3, 0.3)
    found, _, settled = settled_at(lambda x: matrix @ x - goal, np.zeros(3), low, high)
    assert settled and np.all((low <= found) & (found <= high))
    best = 2 * lsq_linear(matrix, goal, (low, high)).cost
    assert np.sum((matrix @ found - goal) ** 2) <= best * 1.001


def rosenbrock(x):
    return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])


def test_a_curved_valley_is_followed():
    """Rosenbrock's, from near its floor."""
    found, _, _ = settled_at(rosenbrock, np.array([0.5, 0.3]), *FREE)
    assert found == pytest.approx([1, 1], abs=1e-3)


def test_parameters_that_do_the_same_share_a_step():
    found, _, settled = settled_at(lambda x: np.array([x.sum() - 3, 2 * x.sum() - 6]), np.zeros(2), *FREE)
    assert settled and found.sum() == pytest.approx(3)


def test_a_coordinate_of_which_nothing_is_said_stays_where_it_is():
    found, _, settled = settled_at(lambda x: np.array([x[0] - 2, 0.5]), np.array([0.0, 7.0]), *FREE)
    assert settled and found == pytest.approx([2, 7], abs=1e-4)


def test_where_no_step_leads_down_it_says_that_it_is_not_settled():
    """A slope that lies: the difference sees a fall that no step finds."""

    def jagged(x):
        return np.array([1.0 + abs(x[0])]) if abs(x[0]) > 1e-7 else np.array([1.0 - x[0]])

    found, _, settled = settled_at(jagged, np.zeros(1), FREE[0][:1], FREE[1][:1])
    assert not settled and found[0] == 0


@given(st.integers(0, 10_000))
def test_every_start_ends_in_scipys_optimum_of_a_linear_problem(seed):
    rng = np.random.default_rng(seed)
    matrix, goal = rng.normal(size=(7, 3)), rng.normal(size=7)
    low, high = np.full(3, -0.2), np.full(3, 0.3)
    found = descend(lambda xs: xs @ matrix.T - goal, rng.uniform(-0.2, 0.3, (5, 3)), low, high)
    best = 2 * lsq_linear(matrix, goal, (low, high)).cost
    assert np.all(found.ss <= best * (1 + 1e-6)) and np.all((low <= found.x) & (found.x <= high))
    jacobian = slopes(lambda xs: xs @ matrix.T - goal, found.x, found.miss, high)
    assert jacobian == pytest.approx(np.broadcast_to(matrix, (5, 7, 3)), abs=1e-6)


@pytest.mark.parametrize("start", [(-1.2, 1.0), (3.0, -4.0)])
def test_a_start_far_from_the_optimum_follows_a_curved_valley(start):
    found = descend(each(rosenbrock), np.array([start]), *FREE)
    assert found.x[0] == pytest.approx([1, 1], abs=1e-4)


def test_a_start_that_is_left_far_behind_is_given_up():
    far, near = np.array([-1.2, 1.0]), np.array([1.1, 1.2])
    found = descend(each(rosenbrock), np.array([far, near]), *FREE)
    assert found.x[1] == pytest.approx([1, 1], abs=1e-4) and found.ss[0] > 1
