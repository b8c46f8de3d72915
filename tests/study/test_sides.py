# SPDX-License-Identifier: MIT
"""Which arm a cover letter is for, and which one its patches are compared with."""

import pytest

from lockscale.errors import BadInput
from lockscale.study.arms_of_a_text import change_of, submitted
from lockscale.study.file import load_study

STUDY = load_study("group-trylock")


def with_arms(*names: str, **roles: str):
    arms = [STUDY.arm(name) for name in names]
    kept = [arm.model_copy(update={"role": roles.get(arm.name.replace("-", "_"), arm.role)}) for arm in arms]
    return STUDY.model_copy(update={"arms": kept})


def test_the_patched_arm_goes_before_a_proposed_one():
    study = with_arms(
        "trylock", "inode-goal-scan1", "goal-spread", trylock="unpatched", inode_goal_scan1="patched"
    )
    assert submitted(study).patched.name == "inode-goal-scan1"
    assert submitted(with_arms("trylock", "goal-spread")).patched.name == "goal-spread"


def test_the_base_is_mounted_as_the_patches_are():
    study = with_arms("trylock", "trylock-scan1", "goal-spread-scan1")
    assert submitted(study).unpatched.name == "trylock-scan1"


def test_without_a_bare_base_there_is_nothing_to_compare_with():
    with pytest.raises(BadInput, match="no arm of group-trylock is the unpatched base"):
        submitted(with_arms("wait-group", "goal-spread"))


def test_an_arm_without_words_and_patches_has_no_change():
    base = STUDY.arm("trylock").model_copy(update={"change": ""})
    assert change_of(STUDY, base) == ""
