# SPDX-License-Identifier: MIT
"""An arm is compared with the base test by test."""

import pytest
from hypothesis import given
from xfstests_output import KERNEL, some_results

from lockscale.errors import BadInput
from lockscale.tools.xfstests import CheckRun, Intermittent, TestResult, compare, settled


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
    assert found.one_sided == ("generic/005", "generic/006", "generic/008")
    assert found.in_both == 4 and not found.ok


def test_an_arm_that_fails_as_the_base_does_is_no_worse():
    run = run_of(g001="pass", g002="fail", g003="notrun")
    assert compare(run, run).ok
    assert compare(run, run).detail == "2 tests ran on both kernels"


def test_a_test_that_only_the_arm_fails_now_and_then_is_not_cleared_by_the_runs_in_which_it_passes():
    """A race that the patches brought would look like that; one that the base fails too was there before."""
    runs = [
        (run_of(g001="pass", g002="pass", g003="fail"), run_of(g001="fail", g002="fail", g003="pass")),
        (run_of(g001="pass", g002="fail", g003="pass"), run_of(g001="pass", g002="fail", g003="pass")),
        (run_of(g001="pass", g002="pass", g003="pass"), run_of(g001="fail", g002="fail", g003="pass")),
    ]
    found = settled(runs)
    assert not found.failures and not found.mended and not found.ok
    assert found.intermittent == (Intermittent("generic/001", 2, 3),)
    assert found.unsteady == ("generic/002", "generic/003")
    assert found.detail == (
        "3 tests ran on both kernels; failed in the arm only, in some of its runs (run them again, with "
        "--test): generic/001 (2 of 3); differed once, but not in each further run: generic/002, generic/003"
    )


def test_what_the_base_fails_now_and_then_too_is_not_held_against_the_arm():
    passed, failed = run_of(g001="pass"), run_of(g001="fail")
    assert settled([(passed, failed), (failed, passed), (passed, passed)]).ok
    assert settled([(failed, passed), (passed, passed), (passed, passed)]).unsteady == ("generic/001",)
    assert not settled([(passed, failed), (passed, failed), (passed, failed)]).ok
    assert settled([(passed, passed)]).ok


@given(some_results(), some_results())
def test_a_comparison_turned_round_tells_the_same(one, other):
    a, b = CheckRun(KERNEL, tuple(one)), CheckRun(KERNEL, tuple(other))
    try:
        there, back = compare(a, b), compare(b, a)
    except BadInput:
        return
    assert there.in_both == back.in_both
    assert set(there.one_sided) == set(back.one_sided)
    in_both = {t.test for t in there.failures} - set(there.one_sided)
    assert in_both == set(back.mended)


def test_runs_of_different_groups_are_not_compared():
    with pytest.raises(BadInput, match="no test ran in both"):
        compare(run_of(g001="pass"), run_of(g002="pass", g001="notrun"))
