# SPDX-License-Identifier: MIT
"""What a patch of a lock promises: by the scale of time, said in two ways, and the stronger no less."""

from itertools import pairwise
from pathlib import Path

import pytest
from known_locks import learned, profile, timed, waiting

from lockscale.predict.lock_answer import ask_lock
from lockscale.predict.lock_data import UnpatchedData
from lockscale.tools.lock_profile import LockProfile
from lockscale.tools.profile_entry import Entry
from lockscale.tools.registry import profiles_of

SAMPLES = Path(__file__).parents[1] / "samples"


def saturated_rates(hold_us: float, outside_us: float) -> dict[int, float]:
    """Of one thread, and of two of which one always holds the lock: times without scatter."""
    one_us = hold_us + outside_us
    return {1: 1e6 / one_us, 2: 1e6 / max(hold_us, one_us / 2)}


@pytest.mark.parametrize("left", [0.5, 0.1])
@pytest.mark.parametrize("word", ["shrink", "fewer"])
def test_a_shorter_hold_makes_one_thread_faster_too(word: str, left: float) -> None:
    """Two threads that hold 1.5 of 2 ms: what they do with that left of the hold is within the bound."""
    before, after = saturated_rates(1500.0, 500.0), saturated_rates(1500.0 * left, 500.0)
    gain = after[2] / before[2]
    assert gain > 2 * before[1] / before[2], "more than two threads at the old rate of one"
    waiting = 1 - before[2] / (2 * before[1])
    measured = UnpatchedData(before, None, wait_share=waiting)
    text = f"{word} a_lock {100 * (1 - left):g}%"
    (found,) = ask_lock(measured, [text], [], learned()).candidates
    assert found.promise is not None and found.value < gain <= found.high


def test_shorter_holds_of_two_locks_make_one_thread_faster_by_both() -> None:
    """Two threads, one behind the other, hold a for 1.5 ms, then b for 1 ms: with halves, twice that."""
    before, waiting = {1: 1e3 / 2.5, 2: 1e3 / 1.5}, 1 - 2.5 / 3
    asked = ["shrink a 50% + shrink b 50%", "shrink a 50%"]
    both, one = ask_lock(UnpatchedData(before, None, wait_share=waiting), asked, [], learned()).candidates
    assert both.high >= 2 > one.high


def test_more_locks_promise_no_less_where_a_share_is_cut() -> None:
    asked = ["shrink a 99.9%", "shrink a 99.9% + shrink b 1%"]
    found = ask_lock(UnpatchedData(threads=64, wait_share=0.97), asked, [], learned()).candidates
    assert len({one.promise for one in found}) == 1


def test_half_the_hold_of_two_locks_is_twice_the_rate_at_most() -> None:
    """By the scale of time: with all work halved, not these holds alone, it would be just that."""
    seen = UnpatchedData({}, timed("perf_lock", ("a", 62.0), ("b", 52.0)), 16, 10.0)
    asked = ["shrink a 50% + shrink b 50%", "split a 4 + split b 4", "split a 4 + shrink a 50%", "split a 4"]
    found = {one.patch: one.promise or 0.0 for one in ask_lock(seen, asked, [], learned()).candidates}
    assert found[asked[0]] == pytest.approx(2) and found[asked[1]] <= 4
    assert found[asked[2]] >= found[asked[3]]


def test_half_the_calls_of_a_function_are_half_the_acquisitions_below_it() -> None:
    """Who is left waits less, too: to avoid calls is no worse than to take the lock so much less often."""
    seen = profile(waiting("inode_sb_list_add", 40.0), Entry("work", 2, None, None, None, "self", 60.0))
    asked = ["avoid inode_sb_list_add 50%", "fewer inode_sb_list_add 50%"]
    found = {
        one.patch: one.promise
        for one in ask_lock(UnpatchedData({}, seen, 32), asked, [], learned()).candidates
    }
    assert found[asked[0]] == pytest.approx(found[asked[1]]) and (found[asked[0]] or 0) > 1 / (1 - 0.2)


MORE_AND_MORE = (
    ("avoid L 50%", "avoid L 90%", "avoid L 99.9%", "avoid L 100%"),
    ("shrink L 50%", "shrink L 50% + fewer L 50%", "shrink L 90%"),
    ("batch L 2", "batch L 10"),
    ("split L 2", "split L 2 + split L 2", "lockless L"),
)


@pytest.mark.parametrize("patches", MORE_AND_MORE)
@pytest.mark.parametrize("of_profile", [False, True])
def test_a_stronger_patch_of_a_lock_promises_no_less(patches: tuple[str, ...], of_profile: bool) -> None:
    seen = LockProfile("perf_lock", "lock waits", (Entry("L", 1, None, "mutex", wait_ns=6e9),))
    measured = UnpatchedData({}, seen, 2, 10.0) if of_profile else UnpatchedData({}, None, 2, wait_share=0.3)
    found = {one.patch: one for one in ask_lock(measured, patches, [], learned()).candidates}
    for weaker, stronger in pairwise(found[text] for text in patches):
        assert (weaker.promise or 0) <= (stronger.promise or 0) + 1e-9
        assert weaker.value <= stronger.value + 1e-9 and weaker.high <= stronger.high + 1e-9


@pytest.mark.parametrize(("one", "other"), [("batch L 2", "fewer L 50%"), ("avoid L 90%", "fewer L 90%")])
def test_the_same_said_in_two_ways_is_the_same(one: str, other: str) -> None:
    measured = UnpatchedData({1: 100.0, 2: 190.0}, None, wait_share=0.3)
    first, second = ask_lock(measured, [one, other], [], learned()).candidates
    assert first.promise == pytest.approx(second.promise)
    assert (first.value, first.high) == pytest.approx((second.value, second.high))


def test_two_changes_are_the_same_in_either_order() -> None:
    measured = UnpatchedData({}, None, 2, wait_share=0.3)
    texts = ["algorithm L + shrink L 50%", "shrink L 50% + algorithm L"]
    first, second = ask_lock(measured, texts, [], learned()).candidates
    assert (first.promise, first.value, first.high) == (second.promise, second.value, second.high)


def test_rates_bound_what_is_avoided_by_the_hold_that_they_leave_room_for() -> None:
    """Two threads at 190/s hold a lock for 5.3 of 10 ms an operation at most."""
    measured = UnpatchedData({1: 100.0, 2: 190.0}, None, wait_share=0.3)
    (found,) = ask_lock(measured, ["avoid L 90%"], [], learned()).candidates
    assert found.promise is not None and found.promise <= 2 / (10.0 - 0.9 * 1000 / 190) / 0.190 + 1e-9


STACKS = {"fa;_raw_spin_lock;slow": 40, "fb;_raw_spin_lock;slow": 20, "worka": 20, "workb": 20}
TREE = """
            |
            ---entry
               |
{branches}
"""


def report_of_children() -> str:
    """perf report --children -g caller of STACKS, all below `entry`: each function's row has its graph."""
    head = "# Samples: 1K of event 'cycles'\n#\n# Children      Self  Command  Shared Object  Symbol\n#\n"
    branch = "               |--{share}.00%--{first}\n{rest}               |\n"
    lines = "".join(
        branch.format(
            share=share, first=first, rest="".join(f"               |          {one}\n" for one in rest)
        )
        for (first, *rest), share in ((stack.split(";"), share) for stack, share in STACKS.items())
    ).replace("slow", "native_queued_spin_lock_slowpath")
    row = "{children:9.2f}% {own:8.2f}%  w  [kernel.kallsyms]  [k] {name}\n"
    text = head + row.format(children=100, own=0, name="entry") + TREE.format(branches=lines.rstrip(" |\n"))
    for name, share in (("fa", 40), ("fb", 20)):
        chain = f"            ---{name}\n               _raw_spin_lock\n"
        text += row.format(children=share, own=0, name=name) + "            |\n" + chain
        text += "               native_queued_spin_lock_slowpath\n\n"
    return text + "".join(row.format(children=20, own=20, name=name) + "\n" for name in ("worka", "workb"))


@pytest.mark.parametrize("form", ["children", "folded"])
def test_each_change_of_several_takes_its_own_share_in_any_form_of_a_profile(form: str) -> None:
    folded = "".join(f"w;entry;{stack} {share}\n" for stack, share in STACKS.items())
    text = (
        report_of_children()
        if form == "children"
        else folded.replace("slow", "native_queued_spin_lock_slowpath")
    )
    (seen,) = profiles_of(text)
    gone = {
        "lockless fa": 40, "lockless fa + lockless fb": 60, "lockless fa + avoid worka 100%": 60,
        "lockless fa + avoid worka 50%": 50, "lockless fa + lockless fb + avoid worka 100%": 80,
    }  # fmt: skip
    measured = UnpatchedData({}, seen, 32)
    found = {one.patch: one.promise for one in ask_lock(measured, list(gone), [], learned()).candidates}
    assert found == {patch: pytest.approx(1 / (1 - pct / 100)) for patch, pct in gone.items()}


@pytest.mark.parametrize("form", ["callee", "caller", "children", "flat", "folded", "fractal"])
def test_two_changes_of_real_stacks_promise_the_same_in_every_form(form: str) -> None:
    (seen,) = profiles_of((SAMPLES / f"perf_report-6.1.187-{form}.txt").read_text())
    asked = ["lockless _raw_spin_lock + avoid critical 100%"]
    (found,) = ask_lock(UnpatchedData({}, seen, 8), asked, [], learned()).candidates
    assert found.promise == pytest.approx(1.172, abs=0.001), "4.9% and 9.8% of the samples"
