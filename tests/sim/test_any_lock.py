# SPDX-License-Identifier: MIT
"""S1's race under another lock: with its own it is inode_claim; the storm needs a fair queue."""

import pytest

from lockscale.errors import BadInput
from lockscale.sim import simulate

RUN = {"replications": 3, "operations": 500, "seed": 1}


@pytest.mark.parametrize("switches", [{}, {"search_locked": True}])
@pytest.mark.parametrize("threads", [1, 24, 48])
def test_with_the_queued_lock_it_is_inode_claim_to_the_bit(switches: dict, threads: int):
    one, other = (simulate(model, threads, switches, **RUN) for model in ("any_lock", "inode_claim"))
    assert one.rates_per_s == other.rates_per_s and one.attempts_per_op == other.attempts_per_op


def test_the_storm_needs_a_fair_queue():
    """KNOWN of the field: virt_spin_lock() passes no FIFO hand-over, and no storm shows."""
    fair = [simulate("any_lock", 48, kind, **RUN).attempts_per_op for kind in ({}, {"ticket": True})]
    unfair = simulate("any_lock", 48, {"unfair": True}, **RUN)
    assert min(fair) > 40 and unfair.attempts_per_op < 3


def test_a_ticket_lock_without_a_cost_for_waiters_is_the_queued_one():
    assert (
        simulate("any_lock", 48, {"ticket": True}, **RUN).rates_per_s
        == simulate("any_lock", 48, **RUN).rates_per_s
    )


def test_a_holder_that_loses_its_cpu_stops_all_who_queue():
    """24 spinners on 12 CPUs: a thread to whom the lock is passed waits 3 ms for its CPU."""
    own = simulate("any_lock", 24, **RUN)
    shared = simulate("any_lock", 24, {"shared_cpus": 12.0}, replications=3, operations=4000, seed=1)
    assert shared.rate_per_s < own.rate_per_s / 2


def test_skew_changes_where_the_threads_start_and_not_how_fast_they_can_be():
    alone = [simulate("any_lock", 8, {"skew_us": skew}, **RUN).rate_per_s for skew in (0.0, 1000.0)]
    assert alone[0] == pytest.approx(alone[1], rel=0.05) and alone[0] != alone[1]


def test_two_kinds_at_once_are_refused():
    with pytest.raises(BadInput, match="two kinds of lock"):
        simulate("any_lock", 2, {"ticket": True, "mutex": True})
