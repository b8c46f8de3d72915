# SPDX-License-Identifier: MIT
"""Studies that predict by a model calibrated before them: its value, and what its times allow."""

import pytest

from lockscale.predict.residual_bottleneck import WHENCE
from lockscale.show.prediction import ask
from lockscale.sim import simulate
from lockscale.study.file import load_study


@pytest.fixture(scope="module", params=["goal-fold", "handle-start"])
def study(request: pytest.FixtureRequest):
    return load_study(request.param)


@pytest.mark.slow
def test_every_arm_but_the_unpatched_one_is_told_between_its_ends(study):
    said = ask(study.name)
    arms = {arm.name for arm in study.arms} - {study.unpatched.name}
    assert {one.arm for one in said.predictions} == arms == {one.arm for one in said.ideas}
    for one in said.predictions:
        assert 0 < one.low <= one.value <= one.high, one
    assert (said.origin, said.waits_origin) == ("simulated", WHENCE)
    assert not any(study.unpatched.name == p.arm for p in said.predictions)


@pytest.mark.slow
def test_the_value_is_the_gain_of_the_models_own_times(study):
    said = {(one.arm, one.threads): one for one in ask(study.name).predictions}
    for arm in (study.patched, *(one for one in study.arms if one.role == "proposed")):
        run = simulate(study.model_of(arm), 16, arm.model_parameters, replications=3, operations=6000)
        assert said[arm.name, 16].value * 16 == pytest.approx(run.rate_per_s, rel=0.03)


@pytest.mark.slow
def test_what_tells_the_handles_arms_apart_is_in_the_interval_of_each():
    """count-per-cpu gains a fifth or nothing: both ends, and no more."""
    said = ask("handle-start")
    at = {one.arm: one for one in said.predictions if one.threads == 64}
    base = at["local-hits"].value  # a load that looks up one extent an operation gains nothing by it
    assert at["count-per-cpu"].value / base == pytest.approx(1.2, rel=0.02)
    assert at["count-per-cpu"].low < base < at["count-per-cpu"].high < 1.3 * base
    assert at["updates-per-cpu"].value / base == pytest.approx(2.0, rel=0.02)
    worth = {one.arm: one.worth for one in said.ideas}
    assert worth["reads-apart"] == worth["updates-reads-apart"] == "yes"
    assert worth["count-per-cpu"] == "not known"
