# SPDX-License-Identifier: MIT
"""The search with coordinates held: nothing is computed twice, a bound that is reached needs no search."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from lockscale.queueing import MACHINE_REPAIRMAN, USL
from lockscale.queueing.fit import fit
from lockscale.queueing.points import points
from lockscale.queueing.search import Loose, Problem, problem_of

N = np.array([1.0, 2, 4, 8, 16, 32, 64])
RATES = USL(N, lambda_per_s=1e4, sigma=0.05, kappa=0.002) * [1.01, 0.99, 1, 1.02, 0.98, 1.01, 0.99]
X = np.array([-0.5, 0.1, 0.2])


@dataclass
class Counted:
    """A model that counts how often it is asked."""

    name: str = "usl"
    parameters: tuple = USL.parameters
    asked: list = field(default_factory=list)

    def rate(self, threads, params):
        self.asked.append(dict(params))
        return USL.rate(threads, params)

    def search_box(self, threads, rates):
        return USL.search_box(threads, rates)


@pytest.fixture
def problem():
    return problem_of(Counted(), points(N, RATES), {})


def test_a_place_is_computed_once(problem):
    loose = Loose(problem, X, {1})
    asked = problem.model.asked
    first = loose.residuals(X[[0, 2]])
    assert len(asked) == 1 and first == pytest.approx(problem.residuals(X), rel=1e-12)
    asked.clear()
    slopes = loose.slopes(X[[0, 2]])
    assert len(asked) == 2 and slopes.shape == (len(N), 2)
    assert loose.residuals(X[[0, 2]]) is first and loose.slopes(X[[0, 2]]) is slopes and len(asked) == 2


def test_what_is_held_stays_and_slopes_are_those_of_the_rest(problem):
    loose = Loose(problem, X, {1}, problem.residuals(X))
    for column, k in enumerate((0, 2)):
        step = np.eye(3)[k] * 1e-6
        centred = (problem.residuals(X + step) - problem.residuals(X - step)) / 2e-6
        assert loose.slopes(X[[0, 2]])[:, column] == pytest.approx(centred, rel=1e-4, abs=1e-6)
    assert loose.residuals(np.array([-0.4, 0.3])) == pytest.approx(problem.residuals([-0.4, 0.1, 0.3]))


def test_two_profiles_that_meet_share_their_optimum(problem):
    known = {}
    one = problem.minimise_near([X], {1: 0.1}, known)
    asked = len(problem.model.asked)
    assert problem.minimise_near([X], {1: 0.1}, known) is one
    assert len(problem.model.asked) == asked + 1
    assert one.ss == pytest.approx(problem.minimise_near([X], {1: 0.1}).ss, rel=1e-12)


def test_a_sum_that_is_enough_is_not_made_less(problem):
    least = problem.least_ss(2, 0.0, -np.inf)
    first = problem.least_ss(2, 0.0, np.inf)
    assert first >= least
    assert problem.least_ss(2, 0.0, least / 2) == pytest.approx(least, rel=1e-12)


def test_a_parameter_that_is_on_its_bound_needs_no_search_there(monkeypatch):
    searched = []
    search = Problem.least_ss
    monkeypatch.setattr(
        Problem, "least_ss", lambda self, *its: searched.append(its[:2]) or search(self, *its)
    )
    flat = fit(
        N, MACHINE_REPAIRMAN(N, Z_us=0, s_us=5) * [1.01, 0.99, 1, 1.02, 0.98, 1.01, 0.99], MACHINE_REPAIRMAN
    )
    assert flat.parameters[0].status == "at-bound" and flat.params["Z_us"] == 0
    assert (0, 0.0) not in searched and (1, 0.0) in searched
