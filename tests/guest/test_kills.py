# SPDX-License-Identifier: MIT
"""kill -9 of the controller at random moments of runs on this machine, and of guests on it."""

import json
from pathlib import Path

import pytest

from kill_campaign import Campaign, processes_with
from lockscale.measure.target import hold_this_machine

KILLS = 50  # of each target in a campaign
STUDY = "inode-claim"


def campaign(home: Path, target: str, cpus: int, operations: int = 40) -> Campaign:
    """The smallest plan: an A/A pair, two blocks, no profiler."""
    small = {
        "guests": [{"cpus": cpus, "processes": [1], "profiled": []}],
        "operations_per_point": operations,
        "iterations": 2,
        "tool": "fsload",
    }
    return Campaign(
        home,
        [STUDY, target, json.dumps(small)],
        lambda: hold_this_machine("the next", target),
        lambda: processes_with(str(home)),
    )


@pytest.mark.guest
@pytest.mark.long
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("target", ["qemu", "manycore"])
def test_no_kill_of_many_leaves_a_guest_beside_the_next_run(target: str, tmp_path: Path):
    print(campaign(tmp_path, target, cpus=2).carry_out(KILLS))


@pytest.mark.long
def test_no_kill_of_many_leaves_a_load_of_this_machine_beside_the_next(tmp_path: Path):
    one = campaign(tmp_path, "local", cpus=1, operations=500)
    one.reach = 1 / 2  # a run takes seconds
    print(one.carry_out(KILLS))
