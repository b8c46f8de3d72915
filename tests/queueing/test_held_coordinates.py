# SPDX-License-Identifier: MIT
"""The search with coordinates held: starts that meet share an optimum; a bound that is reached is enough."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from lockscale.queueing import MACHINE_REPAIRMAN, USL
from lockscale.queueing.fit import fit_model
from lockscale.queueing.points import points
from lockscale.queueing.search import Problem, problem_of

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


def test_what_is_held_stays_and_the_others_are_least(problem):
    found = problem.minimise_near([X], {1: 0.1})
    assert found.x[1] == 0.1 and found.ss == pytest.approx(np.sum(problem.residuals(found.x) ** 2), rel=1e-12)
    for k in (0, 2):
        step = np.eye(3)[k] * 1e-2
        beside = [np.sum(problem.residuals(found.x + sign * step) ** 2) for sign in (1, -1)]
        assert found.ss < min(beside)


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
    flat = fit_model(
        (N, MACHINE_REPAIRMAN(N, Z_us=0, s_us=5) * [1.01, 0.99, 1, 1.02, 0.98, 1.01, 0.99]), MACHINE_REPAIRMAN
    )
    assert flat.parameters[0].status == "at-bound" and flat.params["Z_us"] == 0
    assert (0, 0.0) not in searched and (1, 0.0) in searched
