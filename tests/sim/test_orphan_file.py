# SPDX-License-Identifier: MIT
"""S4: the lockless orphan file costs next to nothing; a lock round it does."""

import pytest

from lockscale.errors import BadInput
from lockscale.sim import simulate

TIME_S = {  # S4's stress-orphan: off, lockless, locked at 1 and at 64 threads
    1: (0.8912, 0.9394, 0.9456),
    64: (38.4402, 39.8446, 60.8236),
}
ARMS = ("off", "", "locked", "mutex_list")


def rates(threads: int) -> list[float]:
    def one(arm: str) -> float:
        switch = {arm: True} if arm else {}
        return simulate("orphan_file", threads, switch, operations=3000, replications=2).rate_per_s

    return [one(arm) for arm in ARMS]


def test_at_64_threads_every_lock_round_the_orphans_costs() -> None:
    off, lockless, locked, mutex_list = rates(64)
    assert lockless == pytest.approx(off, rel=0.03)
    assert lockless > 1.2 * locked > 1.2 * mutex_list


def test_at_one_thread_all_arms_are_alike() -> None:
    off, *others = rates(1)
    assert others == pytest.approx([off] * 3, rel=0.12)


@pytest.mark.parametrize("threads", [1, 64])
def test_ratios_of_the_calibrated_points_are_s4s(threads: int) -> None:
    """At 64 the lockless one is predicted, not fitted."""
    off, lockless, locked, _ = rates(threads)
    off_s, lockless_s, locked_s = TIME_S[threads]
    assert off / lockless == pytest.approx(lockless_s / off_s, rel=0.05)
    assert off / locked == pytest.approx(locked_s / off_s, rel=0.03)


def test_lockless_blocks_are_chosen_by_the_cpu() -> None:
    few = simulate("orphan_file", 32, operations=2000, replications=1)
    many = simulate("orphan_file", 64, operations=2000, replications=1)
    assert few.lines["ob_free_entries"].from_socket == 0  # 13 and 32 have no common factor
    assert many.lines["ob_free_entries"].from_socket > 0


def test_two_arms_at_once_are_refused() -> None:
    with pytest.raises(BadInput, match="only one"):
        simulate("orphan_file", 2, {"locked": True, "off": True})
