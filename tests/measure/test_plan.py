# SPDX-License-Identifier: MIT
"""The order of a run: A/A before any A/B, and no arm is always the first or the warmer one."""

from collections import Counter
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.measure.plan import in_turn, plan, profiled
from lockscale.measure.target import MOST_ITEMS, MOST_PROCESSES, refuse_too_large
from lockscale.study.file import Arm, GuestPoints, Parameters, Study, load_study, load_target

STUDY = load_study("inode-claim")
guests = st.lists(
    st.builds(
        GuestPoints,
        cpus=st.integers(1, 64),
        processes=st.lists(st.integers(1, 96), min_size=1, max_size=4, unique=True),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda guest: guest.cpus,
)


def study_with(iterations: int, points: list[GuestPoints], ours: int = 0) -> Study:
    parameters = Parameters.model_validate(
        {
            **STUDY.parameters.model_dump(),
            "iterations": iterations,
            "guests": [p.model_dump() for p in points],
        }
    )
    arms = [*STUDY.arms, *(Arm(name=f"ours-{n}", role="proposed") for n in range(ours))]
    return STUDY.model_copy(update={"parameters": parameters, "arms": arms})


def test_the_order_by_hand():
    study = study_with(3, [GuestPoints(cpus=4, processes=[1, 8])])
    base, before = "search-locked", "steal-retry"
    assert [(step.pair, step.block, step.arm) for step in plan(study)] == [
        ("aa", 0, base),
        ("aa", 0, base),
        ("ab", 1, before),
        ("ab", 1, base),
        ("ab", 2, base),
        ("ab", 2, before),
        ("ab", 3, base),
        ("ab", 3, before),
    ]
    assert plan(study)[0].name == "001-aa0-search-locked-4cpu"


@given(st.integers(2, 30), guests, st.integers(0, 2))
def test_a_pair_of_one_kernel_comes_before_any_comparison(iterations, points, ours):
    steps = plan(study_with(iterations, points, ours))
    assert [pair for pair, _ in groupby(step.pair for step in steps)] == ["aa", "ab"]
    pairs = Counter((step.arm, step.cpus, step.iteration) for step in steps if step.pair == "aa")
    assert pairs == {("search-locked", p.cpus, n): 1 for p in points for n in (1, 2)}


@given(st.integers(2, 30), guests, st.integers(0, 2))
def test_every_arm_runs_equally_often_at_every_point(iterations, points, ours):
    study = study_with(iterations, points, ours)
    ab = [step for step in plan(study) if step.pair == "ab"]
    counted = Counter((step.arm, step.cpus, step.processes) for step in ab)
    assert counted == {
        (arm.name, p.cpus, tuple(p.processes)): iterations for p in points for arm in study.arms
    }
    blocks = Counter((step.arm, step.cpus, step.block) for step in ab)
    assert set(blocks.values()) == {1}


@given(st.integers(1, 15), guests, st.integers(0, 2))
def test_over_two_blocks_every_arm_runs_at_the_same_mean_place(half, points, ours):
    """ABBA: a drift that is linear in time cancels within each pair of blocks."""
    study = study_with(2 * half, points, ours)
    ab = [step for step in plan(study) if step.pair == "ab"]
    for cpus in {p.cpus for p in points}:
        for block in range(1, 2 * half, 2):
            two = [step.arm for step in ab if step.cpus == cpus and step.block in (block, block + 1)]
            places = {arm: sum(n for n, a in enumerate(two) if a == arm) for arm in set(two)}
            assert len(set(places.values())) == 1


@given(st.integers(2, 30), guests, st.integers(0, 2))
def test_steps_are_numbered_in_order_and_named_once(iterations, points, ours):
    steps = plan(study_with(iterations, points, ours))
    assert [step.sequence for step in steps] == list(range(1, len(steps) + 1))
    assert len({step.name for step in steps}) == len(steps)
    assert steps == plan(study_with(iterations, points, ours))


@given(st.integers(0, 2**32))
def test_the_seed_draws_which_arm_comes_first(seed: int):
    def order(seed: int) -> list[str]:
        parameters = {**STUDY.parameters.model_dump(), "iterations": 40, "seed": seed}
        study = STUDY.model_copy(update={"parameters": Parameters.model_validate(parameters)})
        return [step.arm for step in plan(study) if step.pair == "ab"][::4]  # the first of each ABBA

    first = order(seed)
    assert first == order(seed) and len(first) == 20
    assert set(first) == {"steal-retry", "search-locked"}  # 20 tosses are not all alike: 2 in a million


def test_warm_up_blocks_come_first_and_are_named():
    parameters = {**STUDY.parameters.model_dump(), "warm_up_blocks": 2}
    study = STUDY.model_copy(update={"parameters": Parameters.model_validate(parameters)})
    assert [step.pair for step in plan(study)][:5] == ["warm-up"] * 4 + ["aa"]
    assert plan(study)[0].name == "001-warm-up1-steal-retry-4cpu"


def test_a_place_with_one_arm_runs_it_in_every_block():
    steps = plan(STUDY, ["as-found"])
    assert {step.arm for step in steps} == {"as-found"}
    assert [step.pair for step in steps] == ["aa"] * 2 + ["ab"] * STUDY.parameters.iterations


@pytest.mark.parametrize(
    ("target", "asked", "why"),
    [
        ("qemu", {"guests": [{"cpus": 65, "processes": [1]}]}, "65 CPUs and target qemu has 64"),
        (
            "qemu",
            {"guests": [{"cpus": 4, "processes": [100_000]}]},
            "asks for [15]0+ processes, but a load has at most 4096: ask for fewer",
        ),
        (
            "qemu",
            {"operations_per_point": 10**12},
            "a process does at most 100000000 operations of a load: ask for fewer",
        ),
        ("qemu", {"operations_per_point": 10**8}, "MiB, room for at most [0-9]+ files: ask for fewer"),
        (
            "manycore",
            {"guests": [{"cpus": 4, "processes": [5000]}]},
            "asks for [15]0+ processes, but a load has at most 4096: ask for fewer",
        ),
        ("example-server", {"operations_per_point": 10**12}, "operations of a load: ask for fewer"),
        ("local", {"operations_per_point": 10**12}, "operations of a load: ask for fewer"),
    ],
)
def test_what_no_load_or_disk_can_do_is_refused_before_anything_is_built(target: str, asked: Any, why: str):
    small = {"guests": [{"cpus": 1, "processes": [1]}]}
    with pytest.raises(BadInput, match=why):
        refuse_too_large(load_study("inode-claim", small | asked), load_target(target))
    refuse_too_large(load_study("inode-claim", small), load_target(target))


def test_the_largest_load_is_fsloads_own():
    source = (paths.ROOT / "lib" / "fsload" / "fsload.c").read_text()
    assert (
        f"#define MAX_WORKERS {MOST_PROCESSES}\n" in source and f"#define MAX_ITEMS {MOST_ITEMS}\n" in source
    )


def test_arms_take_their_turns_forwards_and_backwards():
    assert list(in_turn(["a", "b", "c"], 3)) == [
        (1, "a"), (1, "b"), (1, "c"), (2, "c"), (2, "b"), (2, "a"), (3, "a"), (3, "b"), (3, "c")
    ]  # fmt: skip


def test_only_the_points_that_are_asked_for_are_profiled():
    for some, found in (([2], (2,)), ([], ()), (None, (1, 2, 4))):
        guests = [{"cpus": 4, "processes": [1, 2, 4], "profiled": some}]
        study = load_study("inode-claim", {"guests": guests})
        assert {profiled(study, step) for step in plan(study)} == {found}
