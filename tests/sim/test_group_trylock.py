# SPDX-License-Identifier: MIT
"""S3: one shared goal makes all wait for one group; skipping helps, an own goal helps more."""

import pytest

from lockscale.sim import simulate
from lockscale.sim.results import Result

OWN_GOAL = ("trylock", "per_inode_goal")


def run(containers: int, *switches: str) -> Result:
    thrown = dict.fromkeys(switches, True)
    return simulate("group_trylock", containers, thrown, operations=4000, replications=2)


def test_base_collapses_with_containers() -> None:
    """Each container gets a 64th of less than one alone: S3 has 3588 of 295287 a second."""
    assert run(64).rate_per_s < run(1).rate_per_s


def test_each_patch_helps_and_the_search_takes_some_of_it_back() -> None:
    base, skip, own, scan = (
        run(64, *s).rate_per_s for s in ((), ("trylock",), OWN_GOAL, (*OWN_GOAL, "scan"))
    )
    assert skip > 1.5 * base
    assert own > 1.1 * skip
    assert base < scan < own


def test_trylock_moves_the_queue_to_s_md_lock() -> None:
    base, skip = run(64), run(64, "trylock")
    assert base.locks["group lock"].waiting_mean > 50 > 1 > skip.locks["group lock"].waiting_mean
    assert skip.locks["s_md_lock"].waiting_mean > 10
    assert skip.locks["group lock"].failed_tries > 0


def test_own_goal_takes_no_s_md_lock() -> None:
    assert run(8, *OWN_GOAL).locks["s_md_lock"].acquisitions == 0


@pytest.mark.parametrize(
    ("containers", "switches", "per_container"),
    [(1, (), 295287), (64, (), 3588), (64, OWN_GOAL, 23280), (64, (*OWN_GOAL, "scan"), 10430)],
)
def test_calibrated_points(containers: int, switches: tuple[str, ...], per_container: float) -> None:
    assert run(containers, *switches).rate_per_s == pytest.approx(containers * per_container, rel=0.03)
