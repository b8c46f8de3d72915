# SPDX-License-Identifier: MIT
"""The simulator's models through the same `fit` as the laws."""

import numpy as np
import pytest

from lockscale.errors import BadInput
from lockscale.fitting.simulated_model import STEP, SimulatedColumn, SimulatedModel
from lockscale.queueing.fit import fit_model
from lockscale.sim import simulate

THREADS = np.array([1.0, 4, 8, 16, 48])
TRUTH = {"elsewhere_us": 58.54, "hold_ns": 285.3}
RANGES = {"elsewhere_us": (20, 200), "hold_ns": (100, 800)}


@pytest.fixture(scope="module")
def table():
    """What inode_claim itself gives, with the repeat noise of S4 and other random numbers than the fit's."""
    rates = [simulate("inode_claim", int(n), TRUTH, seed=99, operations=8000).rate_per_s for n in THREADS]
    return THREADS, np.array(rates) * np.exp(np.random.default_rng(3).normal(0, 0.045, THREADS.size))


@pytest.fixture(scope="module")
def found(table):
    return fit_model(table, SimulatedModel("inode_claim", RANGES, operations=1000))


@pytest.mark.slow
def test_inode_claim_is_recovered_from_its_own_table(found):
    for p in found.parameters:
        assert p.status == "identified"
        assert p.low < TRUTH[p.name] < p.high
        assert p.high / p.low < 2


class Alone(SimulatedColumn):
    """What a run would give where nobody waits."""

    def value(self, model, threads, values, *, seed, operations):
        return 1e6 * threads / (values["elsewhere_us"] + values["hold_ns"] / 1e3)


def test_a_time_that_is_made_of_fitted_ones_is_one_of_its_own():
    """work_us is no parameter of the model, so that its first time has no range to be scaled to."""
    arm = Alone(at=lambda threads, free: {"elsewhere_us": 3 * free["work_us"], "hold_ns": free["hold_ns"]})
    model = SimulatedModel("inode_claim", {**RANGES, "work_us": (5, 500)}, arms=[arm], scales=True)
    for work_us in (20, 60, 100):
        rate = model.rate(np.array([4.0]), {**TRUTH, "work_us": work_us})
        assert rate == pytest.approx(4e6 / (3 * work_us + 0.2853), rel=1e-3)


@pytest.mark.slow
def test_one_node_is_simulated_once_and_the_same_numbers_come_again(found, table):
    model = found.problem.model
    known = len(model._memo)
    again = fit_model(table, model)
    assert len(model._memo) == known
    assert again.parameters == found.parameters


def test_a_rate_on_a_node_is_the_simulators_own():
    model = SimulatedModel("inode_claim", RANGES, operations=1000)
    values = {"elsewhere_us": float(np.exp(24 * STEP)), "hold_ns": float(np.exp(33 * STEP))}
    own = simulate("inode_claim", 48, values, seed=1, replications=4, operations=1000)
    rate = model.rate(np.array([48.0]), values)[0]
    assert own.low < rate < own.high


def test_between_nodes_the_rate_has_no_step():
    """Random to a per cent or more, but continuous: a search can follow it."""
    model = SimulatedModel("inode_claim", {"hold_ns": (100, 800)}, operations=1000)
    holds = np.exp(np.linspace(33.0, 34.0, 101) * STEP)
    rates = [model.rate(np.array([48.0]), {"hold_ns": hold})[0] for hold in holds]
    assert len(model._memo) == 2
    assert np.abs(np.diff(np.log(rates))).max() < 0.002


@pytest.mark.slow
def test_a_lock_that_nobody_waits_for_is_not_identified():
    threads = np.array([1.0, 2, 3, 4])
    rates = 16_900 * threads * np.array([1.01, 0.98, 1.02, 0.99])
    model = SimulatedModel("inode_claim", {"elsewhere_us": (20, 200), "hold_ns": (1, 100)}, operations=1000)
    elsewhere, hold = fit_model((threads, rates), model).parameters
    assert elsewhere.status == "identified"
    assert hold.status in ("open-low", "open-high", "at-bound") and hold.low == 1


def test_a_fit_shows_how_many_points_are_simulated(monkeypatch, tmp_path, table):
    log = tmp_path / "progress.log"
    monkeypatch.setenv("LOCKSCALE_PROGRESS", str(log))
    model = SimulatedModel("inode_claim", {"hold_ns": (200, 400)}, {"elsewhere_us": 58.5}, operations=200)
    fit_model(table, model)
    last = log.read_text().splitlines()[-1]
    assert last == f"fit inode_claim by simulation: {len(model._memo)} points simulated"


@pytest.mark.parametrize(
    ("free", "held"),
    [
        ({}, {}),
        ({"hold_us": (1, 2)}, {}),
        ({"search_locked": (0.1, 1)}, {}),
        ({"hold_ns": (200, 100)}, {}),
        ({"hold_ns": (0, 100)}, {}),
        ({"hold_ns": (1, float("inf"))}, {}),
        ({"hold_ns": (1, 2)}, {"hold_ns": 1}),
        ({"hold_ns": (1, 2)}, {"holds_ns": 1}),
    ],
)
def test_parameters_that_the_model_lacks_and_ranges_that_are_none_are_refused(free, held):
    with pytest.raises(BadInput):
        SimulatedModel("inode_claim", free, held)
