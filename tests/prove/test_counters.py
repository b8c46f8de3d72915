# SPDX-License-Identifier: MIT
"""From counts to ratios beside what is expected of them."""

from dataclasses import replace

import pytest

from lockscale.errors import RunFailed
from lockscale.measure.count_calls import sources_of
from lockscale.prove.campaign import Counted
from lockscale.prove.counters import counters_of, ratios
from small_study import study_of

STUDY = study_of(
    counters=[
        {
            "name": "skipped",
            "count": ["trace:busy", "trace:failed"],
            "per": ["trace:alloc"],
            "unit": "per allocation",
            "expect": ["unpatched > patched", "patched = 0"],
        }
    ]
)


def counted(arm: str, iteration: int, **values: int) -> list[Counted]:
    return [
        Counted("s", arm, "", iteration, 8, 4, f"trace:{name}", value, "b1d")
        for name, value in values.items()
    ]


def repeats(arm: str, busy: list[int]) -> list[Counted]:
    return [c for i, n in enumerate(busy, 1) for c in counted(arm, i, busy=n, failed=1 * (n > 0), alloc=100)]


def test_sources_are_summed_and_divided_by_iteration():
    values = ratios(STUDY.counters[0], repeats("unpatched", [9, 19, 29]))
    assert values == {"unpatched": [0.10, 0.20, 0.30]}


def test_a_comparison_is_told_from_both_sides():
    found = counters_of(STUDY, repeats("unpatched", [10, 11, 12, 13, 14]) + repeats("patched", [0] * 5))
    unpatched, patched, zero = found
    assert (unpatched.arm_name, unpatched.base_name, unpatched.ok) == ("unpatched", "patched", True)
    assert (unpatched.low, unpatched.high) == (-patched.high, -patched.low)
    assert unpatched.arm == pytest.approx(0.13) == patched.base
    assert unpatched.level_pct >= 95 and unpatched.expected == "unpatched > patched"
    assert zero.expected == "patched = 0" and zero.ok and zero.origin == "qemu"


def test_one_lost_claim_where_none_may_be_is_seen():
    *_, zero = counters_of(STUDY, repeats("unpatched", [9] * 5) + repeats("patched", [0, 0, 1, 0, 0]))
    assert not zero.ok


def test_an_arm_that_was_not_counted_gives_no_comparison():
    assert counters_of(STUDY, repeats("unpatched", [1, 2])) == []


def test_a_load_that_did_nothing_gives_no_ratio():
    with pytest.raises(RunFailed, match="counted no trace:alloc"):
        ratios(STUDY.counters[0], counted("unpatched", 1, busy=1, failed=0, alloc=0))


LOCK = "&sbi->s_md_lock"
LOCKS = STUDY.model_copy(
    update={"counters": [STUDY.counters[0].model_copy(update={"count": [f"contentions:{LOCK}"]})]}
)


def locked(arm: str, acquisitions: int) -> list[Counted]:
    """Two repeats in which nobody waited for the lock."""
    counts = {"trace:alloc": 100, f"contentions:{LOCK}": 0, f"acquisitions:{LOCK}": acquisitions}
    return [Counted("s", arm, "", n, 8, 4, source, v, "b1d") for n in (1, 2) for source, v in counts.items()]


def test_a_lock_that_is_taken_may_be_free_of_contention():
    *_, zero = counters_of(LOCKS, locked("unpatched", 0) + locked("patched", 9))
    assert zero.expected == "patched = 0" and zero.ok


def test_a_lock_class_that_no_arm_took_is_not_free_of_contention():
    with pytest.raises(RunFailed, match=r"no arm took lock class &sbi->s_md_lock: check its name"):
        counters_of(LOCKS, locked("unpatched", 0) + locked("patched", 0))


def test_acquisitions_are_counted_wherever_contentions_are():
    assert ("acquisitions", LOCK) in sources_of(LOCKS).locks


def test_a_comparison_says_how_many_boots_of_its_two_arms_were_beside_other_work():
    quiet, busy = repeats("unpatched", [5, 6, 7, 8]), repeats("patched", [1, 2, 3, 4])
    busy = [replace(one, others_cpus=1.2 if one.iteration in (2, 3) else 0.1) for one in busy]
    unpatched, patched, zero = counters_of(STUDY, quiet + busy)
    assert [one.busy_boots for one in (unpatched, patched, zero)] == [2, 2, 2]
    assert {one.busy_boots for one in counters_of(STUDY, quiet + repeats("patched", [1, 2, 3, 4]))} == {0}


def test_a_direction_that_is_known_not_to_show_is_told_and_does_not_fail_the_arm():
    reason = "one processor cannot contend"
    (counter,) = STUDY.counters
    known = counter.model_copy(update={"not_shown": {"unpatched > patched": reason}})
    study = STUDY.model_copy(update={"counters": [known]})
    same = [5, 6, 7, 8, 9]
    unpatched, patched, zero = counters_of(study, repeats("unpatched", same) + repeats("patched", same))
    for entry in (unpatched, patched):
        assert not entry.ok and entry.reason == reason and not entry.fails
    assert zero.fails and not zero.reason


def test_a_contrary_that_shows_fails_both_arms_whatever_was_declared():
    (counter,) = STUDY.counters
    known = counter.model_copy(update={"not_shown": {"unpatched > patched": "one processor cannot contend"}})
    study = STUDY.model_copy(update={"counters": [known]})
    counts = repeats("unpatched", [1, 2, 3, 2, 1]) + repeats("patched", [10, 11, 12, 13, 14])
    unpatched, patched, _ = counters_of(study, counts)
    for entry in (unpatched, patched):
        assert entry.reversed and entry.fails and entry.reason
    always = counter.model_copy(update={"not_shown": {"patched = 0": "a lost claim or two of a slow guest"}})
    study = STUDY.model_copy(update={"counters": [always]})
    for busy, fails in (([9, 9, 8, 9, 7], True), ([0, 0, 1, 0, 0], False)):
        *_, zero = counters_of(study, repeats("unpatched", [9] * 5) + repeats("patched", busy))
        assert not zero.ok and zero.fails == fails == zero.reversed
    held, other, _ = counters_of(STUDY, repeats("unpatched", [9] * 5) + repeats("patched", [1] * 5))
    assert not held.reversed and not other.reversed
