# SPDX-License-Identifier: MIT
"""What notebooks/explore/scale.ipynb says in words holds of the kept figures."""

import pytest

from lockscale.errors import BadInput
from lockscale.show.scale import kept_scale, most_time
from lockscale.sim import simulate
from lockscale.sim.models import group_goals
from lockscale.studies.group_trylock_tables import GROUPS

FOUND = kept_scale()


def test_a_path_that_was_not_swept_is_refused_with_those_that_were():
    assert set(most_time(FOUND, "allocate").threads) >= {64, 1024}
    with pytest.raises(BadInput, match=r"no path 'alocate' was swept \(known: allocate, create"):
        most_time(FOUND, "alocate")


def rate(arm: str, threads: int, path: str = "allocate") -> float:
    (found,) = FOUND[(FOUND.path == path) & (FOUND.arm == arm) & (FOUND.threads == threads)].value
    return float(found)


def saturates_at(path: str, arm: str) -> float:
    here = FOUND[(FOUND.path == path) & (FOUND.arm == arm) & (FOUND.metric == "saturates_at")]
    return float(here.value.iloc[0])


def most_time_at(arm: str, threads: int, path: str = "allocate") -> str:
    here = FOUND[(FOUND.path == path) & (FOUND.arm == arm) & (FOUND.threads == threads)]
    return str(here.most_time_at.iloc[0])


def test_creates_in_one_group_end_at_two_hundred_and_another_lock_helps():
    assert saturates_at("create", "search-locked") == pytest.approx(200, rel=0.05)
    ends = {arm: rate(arm, 1024, "create") for arm in ("search-locked", "claim-spread", "group-spread")}
    assert 1.05 < ends["claim-spread"] / ends["search-locked"] < 1.08
    assert ends["group-spread"] > 5 * ends["search-locked"]
    assert saturates_at("create", "group-spread") > 1000


def test_the_storm_comes_between_16_and_64_creators():
    assert rate("steal-retry", 16, "create") == pytest.approx(rate("search-locked", 16, "create"), rel=0.01)
    assert rate("steal-retry", 64, "create") < rate("search-locked", 64, "create") / 10


def test_allocation_ends_at_the_journal_from_a_dozen_cpus_on():
    for arm in ("multi-goal", "goal-spread"):
        assert saturates_at("allocate", arm) == pytest.approx(12, rel=0.1)
        assert most_time_at(arm, 256) == "journal"


def test_goal_spread_is_worth_twice_only_where_all_files_hash_to_one_goal():
    for threads in (16, 64, 256):
        assert 1.8 < rate("goal-spread", threads) / rate("multi-goal, flex groups", threads) < 2
    assert rate("goal-spread", 64) == pytest.approx(rate("multi-goal", 64), rel=0.01)


def test_behind_the_journal_the_128_locks_end_goal_spread():
    """A line up to 256 CPUs, the most at 512, less at 1024 than at 256."""
    rates = {n: rate("goal-spread, no journal", n) for n in (64, 256, 512, 1024)}
    assert rates[256] == pytest.approx(4 * rates[64], rel=0.03)
    assert max(rates, key=lambda n: rates[n]) == 512 and rates[1024] < rates[256]
    assert most_time_at("goal-spread, no journal", 1024) == "ext4_mb_scan_group, again"
    for threads, share in ((16, 0.8), (256, 0.6)):
        assert rate("multi-goal, no journal", threads) / rate(
            "goal-spread, no journal", threads
        ) == pytest.approx(share, abs=0.03)


@pytest.mark.slow
def test_with_more_locks_nobody_looks_on(monkeypatch: pytest.MonkeyPatch):
    """The model itself with 256: a group is looked at four times, not some hundreds, for each allocation."""
    given = {"goal_spread": True, "arbitrary": True, "serial_ns": 0.0, "block_groups": GROUPS}
    looks = {}
    for locks in (group_goals.NR_BG_LOCKS, 256):
        monkeypatch.setattr(group_goals, "NR_BG_LOCKS", locks)
        run = simulate("group_goals", 1024, given, operations=4000, replications=1)
        looks[locks] = run.calls_per_op["ext4_mb_scan_group"]
    assert looks[128] > 100 > 10 > looks[256]


def test_without_the_orphan_lock_the_journal_is_left():
    for path, arm in (("truncate", "orphan-lockless"), ("create and close", "orphan-lockless")):
        assert most_time_at(arm, 1024, path) == "journal"
    assert rate("orphan-lockless", 128, "truncate") > 0.9 * rate("orphan-off", 128, "truncate")
    assert rate("orphan-mutex", 128, "create and close") < rate("orphan-mutex", 1, "create and close")
    assert rate("orphan-locked", 128, "truncate") < rate("orphan-locked", 1, "truncate")
