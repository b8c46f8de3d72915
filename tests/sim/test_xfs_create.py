# SPDX-License-Identifier: MIT
"""xfs_create() by allocation groups, beside a real kernel in virtual time and the exact theory."""

import pandas as pd
import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.sim import simulate
from lockscale.sim.models import load_model

MEASURED = pd.read_csv(paths.STUDIES / "xfs-create-four-groups.csv")
US = {p.name: float(p.default) / (1e3 if p.unit == "ns" else 1) for p in load_model("xfs_create").parameters}


def measured_per_s(threads: int) -> float:
    return float(MEASURED[MEASURED.threads == threads].value.mean())


@pytest.mark.parametrize("threads", [1, 32])
def test_its_two_free_times_are_those_of_the_two_rates_that_it_names(threads: int):
    run = simulate("xfs_create", threads, seed=1)
    assert run.rate_per_s == pytest.approx(measured_per_s(threads), rel=0.01)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_groups_that_are_always_waited_for_make_as_many_creates_as_holds_fit_in(groups: int):
    """A saturated server: one create a hold, with the log's turn and the waking of the next in it."""
    one_us = US["held_us"] + US["log_ns"] + US["wake_us"]
    run = simulate("xfs_create", 32, {"allocation_groups": groups}, seed=1)
    assert run.rate_per_s == pytest.approx(1e6 * groups / one_us, rel=0.01)


def test_with_a_group_each_the_log_is_what_is_left():
    run = simulate("xfs_create", 256, {"allocation_groups": 256}, seed=1)
    assert run.rate_per_s == pytest.approx(1e6 / US["log_ns"], rel=0.01)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("xfs_create", "allocation_groups"),
        ("group_trylock", "block_groups"),
        ("group_goals", "writers_a_cpu"),
        ("any_lock", "shared_cpus"),
    ],
)
def test_what_is_counted_refuses_a_fraction(model, name):
    with pytest.raises(BadInput, match=f"'{name}' is 2.5: give a whole number of"):
        simulate(model, 2, {name: 2.5}, operations=20, replications=1)
    assert load_model(model).bind({name: 2.0})[name] == 2
