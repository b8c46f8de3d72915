# SPDX-License-Identifier: MIT
"""Where stream allocations of many writers start, and what it costs them to meet there."""

import csv
import itertools
import runpy
from typing import Any

import pytest

from lockscale.errors import BadInput
from lockscale.paths import ROOT
from lockscale.sim import load_model, simulate
from lockscale.sim.models.group_goals import (
    NR_BG_LOCKS,
    Goals,
    file_numbers,
    folded_goals,
    multi_goals,
    spread_goals,
    started_apart,
)
from lockscale.sim.results import Result

COVER = ROOT / "kernel-patches" / "group-trylock" / "goal-spread"
KINDS = ("", "arbitrary", "flex_groups")


def run(cpus: int, *switches: str, operations: int = 8000, **numbers: float) -> Result:
    given: dict[str, object] = {**dict.fromkeys(filter(None, switches), True), **numbers}
    return simulate("group_goals", cpus, given, operations=operations, replications=2)


def skipped(result: Result) -> float:
    return result.locks["group lock"].failed_tries / (2 * result.operations)


def in_use(goals: Goals) -> int:
    return len(set(goals.of_writer))


@pytest.mark.parametrize(("cpus", "met"), [(64, 1), (128, 1), (96, 3), (80, 5)])
def test_first_files_of_flex_groups_meet_at_few_goals(cpus: int, met: int) -> None:
    """Numbers that differ by multiples of D hit M / gcd(M, D) goals: one if M is a power of two."""
    numbers = file_numbers(cpus, 16 * cpus, False, True, draw=1)
    assert {b - a for a, b in itertools.pairwise(numbers)} == {16 * 8192}
    assert in_use(multi_goals(numbers, cpus, 16 * cpus)) == met
    assert in_use(spread_goals(cpus, cpus, 16 * cpus)) == cpus


@pytest.mark.parametrize(("cpus", "met"), [(8, 8), (64, 64), (80, 80), (96, 32), (128, 128)])
def test_the_flex_group_in_the_slot_keeps_them_apart(cpus: int, met: int) -> None:
    """M / gcd(M, D + 1) goals; those of one directory stay apart, which a mixing hash would not leave so."""
    numbers = file_numbers(cpus, 16 * cpus, False, True, draw=1)
    assert in_use(folded_goals(numbers, cpus, 16 * cpus)) == met
    assert in_use(folded_goals(file_numbers(cpus, 16 * cpus, False, False, 1), cpus, 16 * cpus)) == cpus


def test_the_flex_group_helps_less_where_each_has_several_directories() -> None:
    """16 flex groups of 4 first files each: slots k + f of k below 4 and f below 16, which are 19 of 64."""
    numbers = file_numbers(64, 256, False, True, draw=1)
    assert in_use(multi_goals(numbers, 64, 256)) == 4
    assert in_use(folded_goals(numbers, 64, 256)) == 19


def test_what_changes_upstreams_goals_is_thrown_with_them() -> None:
    for switch in ("fold", "apart", "cpu_goals"):
        with pytest.raises(BadInput, match="change multi_goal: turn that switch on too"):
            run(4, switch)


def test_what_the_series_gives_over_the_one_line() -> None:
    """Next to nothing but for numbers that are arbitrary, where the CPU chooses."""
    line, whole = ("multi_goal", "fold"), ("multi_goal", "fold", "apart", "cpu_goals")
    for kind, least, most in (("flex_groups", 1.0, 1.05), ("", 1.0, 1.05), ("arbitrary", 1.1, 1.4)):
        gain = run(8, *whole, kind).rate_per_s / run(8, *line, kind).rate_per_s
        assert least < gain < most, kind
    assert run(16, *line, "flex_groups").rate_per_s > 1.8 * run(16, "multi_goal", "flex_groups").rate_per_s


def test_arbitrary_numbers_leave_a_third_of_the_goals_unused() -> None:
    """M (1 - (1 - 1/M)^N) of M are hit: 40.6 of 64."""
    hit = [in_use(multi_goals(file_numbers(64, 1024, True, False, draw), 64, 1024)) for draw in range(200)]
    assert sum(hit) / 200 == pytest.approx(64 * (1 - (1 - 1 / 64) ** 64), rel=0.02)


@pytest.mark.parametrize(("cpus", "groups"), [(8, 128), (64, 1024), (128, 1024), (128, 7000), (4, 192)])
def test_goals_start_apart_at_different_locks(cpus: int, groups: int) -> None:
    upstreams = multi_goals(file_numbers(cpus, groups, False, False, draw=1), cpus, groups)
    for start in (spread_goals(cpus, cpus, groups).start, started_apart(upstreams, groups).start):
        assert start[-1] < groups
        assert min(b - a for a, b in itertools.pairwise(start)) >= 3
        assert len({g % NR_BG_LOCKS for g in start}) == cpus


@pytest.mark.parametrize(
    ("containers", "switches", "published"),
    [
        (1, (), 295287),
        (64, (), 3588),
        (64, ("inode_goal",), 23280),
        (80, ("trylock",), 4821),
        (80, ("unlocked_goal",), 9636),
    ],
)
def test_what_is_calibrated_is_met(containers: int, switches: tuple[str, ...], published: float) -> None:
    found = run(containers, *switches, operations=24_000)  # the queue for s_md_lock is long in the making
    assert found.rate_per_s / containers == pytest.approx(published, rel=0.03)


def test_the_extra_time_beside_others_is_calibrated_at_two_and_four_containers() -> None:
    cycles = [containers / run(containers, "inode_goal").rate_per_s for containers in (2, 4)]
    assert sum(cycles) == pytest.approx(1 / 123102 + 1 / 119542, rel=0.03)


@pytest.mark.parametrize(("switches", "published"), [((), 2667), (("multi_goal",), 19628)])
def test_rates_at_80_containers_that_nothing_was_fitted_to(
    switches: tuple[str, ...], published: float
) -> None:
    """The series in Linux 6.17: before all of it, and with several goals."""
    assert run(80, *switches).rate_per_s / 80 == pytest.approx(published, rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_with_a_goal_for_each_writer_none_is_skipped(kind: str) -> None:
    found = run(16, "goal_spread", kind, full_allocations=1e9)
    assert found.locks["group lock"].failed_tries == 0
    assert found.locks["group lock"].handovers == 0
    assert found.calls_per_op["ext4_mb_goal_miss"] == 0


def test_files_of_one_directory_gain_next_to_nothing() -> None:
    ours, theirs = run(32, "goal_spread"), run(32, "multi_goal")
    assert ours.rate_per_s == pytest.approx(theirs.rate_per_s, rel=0.005)


def test_writers_that_meet_at_one_goal_are_bound_by_it() -> None:
    """No more than one can move it at a time: X <= 1 / goal_ns; with a goal each that bound is gone."""
    met, apart = run(32, "multi_goal", "flex_groups"), run(32, "goal_spread", "flex_groups")
    assert 0.98e9 / 1297 < met.rate_per_s <= 1.001e9 / 1297 < apart.rate_per_s
    assert skipped(met) > 1 > 0.01 > skipped(apart)


def test_each_step_of_upstream_and_ours_skips_less() -> None:
    arms = ("trylock", "multi_goal", "goal_spread")
    one_goal, several, ours = (skipped(run(4, arm, block_groups=192.0, writers_a_cpu=2.0)) for arm in arms)
    assert one_goal > several > ours


@pytest.mark.parametrize("arm", ["trylock", "multi_goal", "goal_spread"])
def test_every_look_takes_a_group_or_skips_it(arm: str) -> None:
    """And each allocation holds the lock twice: to search, and to mark."""
    found = run(16, arm, "flex_groups")
    edge = 16 / found.operations
    assert found.calls_per_op["ext4_mb_scan_group"] == pytest.approx(1 + skipped(found), abs=edge)
    assert found.locks["group lock"].acquisitions / 2 / found.operations == pytest.approx(2, abs=edge)


def test_a_search_waits_when_all_groups_stay_busy() -> None:
    """Of two groups one is usable: four criteria look at it in vain, then the search waits."""
    found = run(8, "goal_spread", block_groups=2.0)
    lock = found.locks["group lock"]
    assert lock.handovers > 0.5 * 2 * found.operations
    assert lock.failed_tries <= 4 * lock.requests
    assert lock.busy * NR_BG_LOCKS == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("given", [{"block_groups": 1}, {"block_groups": 10**9}, {"writers_a_cpu": 0}])
def test_numbers_of_groups_and_writers_that_cannot_be_are_refused(given: dict[str, int]) -> None:
    """Not taken for others, and not before there is a list of a thousand million groups."""
    with pytest.raises(BadInput, match=f"{next(iter(given))} is .*: give a whole number from [12] to 4096"):
        load_model("group_goals").program(given, 8)


def test_two_arms_at_once_are_refused() -> None:
    with pytest.raises(BadInput, match="given two arms"):
        run(2, "multi_goal", "goal_spread")


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(COVER / "goal_spread.py"))


@pytest.fixture(scope="module")
def kept() -> list[dict[str, str]]:
    with (COVER / "simulated.csv").open() as file:
        return list(csv.DictReader(file))


def test_the_kept_figures_are_those_of_the_script(script: dict[str, Any], kept: list[dict[str, str]]) -> None:
    again = script["compare"]("main", 8, "arbitrary", script["RUNS"], 16_000, block_groups=128.0)
    assert {name: str(value) for name, value in again.items()} in kept


def test_the_cover_has_the_kept_figures(script: dict[str, Any], kept: list[dict[str, str]]) -> None:
    lines = set((COVER / "cover.md").read_text().splitlines())
    assert len(script["main_lines"](kept)) == 33
    assert lines.issuperset(script["main_lines"](kept) + script["varied_lines"](kept))
