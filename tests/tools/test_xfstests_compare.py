# SPDX-License-Identifier: MIT
"""An arm is compared with the base test by test."""

import pytest
from hypothesis import given
from xfstests_output import KERNEL, some_results

from lockscale.errors import BadInput
from lockscale.tools.xfstests import CheckRun, OneSided, TestResult, compare


def run_of(**statuses: str) -> CheckRun:
    """A run with a test generic/NNN for each keyword gNNN."""
    return CheckRun(KERNEL, tuple(TestResult(f"generic/{n[1:]}", s) for n, s in statuses.items()))


def test_what_the_patches_broke_and_what_cannot_be_told():
    base = run_of(
        g001="pass", g002="fail", g003="fail", g004="pass", g005="notrun", g006="pass", g007="notrun"
    )
    arm = run_of(g001="pass", g002="fail", g003="pass", g004="fail", g005="fail", g007="notrun", g008="pass")
    found = compare(base, arm)
    assert [r.test for r in found.failures] == ["generic/004", "generic/005"]
    assert found.mended == ("generic/003",)
    assert found.one_sided == (
        OneSided("generic/005", "notrun", "fail"),
        OneSided("generic/006", "pass", None),
        OneSided("generic/008", None, "pass"),
    )
    assert found.in_both == 4 and not found.ok


def test_an_arm_that_fails_as_the_base_does_is_no_worse():
    run = run_of(g001="pass", g002="fail", g003="notrun")
    assert compare(run, run).ok
    assert compare(run, run).detail == "2 tests ran on both kernels"


@given(some_results(), some_results())
def test_a_comparison_turned_round_tells_the_same(one, other):
    a, b = CheckRun(KERNEL, tuple(one)), CheckRun(KERNEL, tuple(other))
    try:
        there, back = compare(a, b), compare(b, a)
    except BadInput:
        return
    assert there.in_both == back.in_both
    assert {s.test for s in there.one_sided} == {s.test for s in back.one_sided}
    in_both = {t.test for t in there.failures} - {s.test for s in there.one_sided}
    assert in_both == set(back.mended)


def test_runs_of_different_groups_are_not_compared():
    with pytest.raises(BadInput, match="no test ran in both"):
        compare(run_of(g001="pass"), run_of(g002="pass", g001="notrun"))
