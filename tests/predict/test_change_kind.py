# SPDX-License-Identifier: MIT
"""A patch is of the kind that its description says, by whole phrases of people's."""

from dataclasses import replace

import pytest

from lockscale.errors import BadInput
from lockscale.predict.casebook import read_casebook
from lockscale.predict.change_kind import BY_NAME, GONE, KINDS, LEFT, kind_of
from lockscale.predict.patch_language import WORDS, read_patch


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("split lock (per CPU)", "split"),
        ("per-VMA locks", "split"),
        ("sharded counters", "split"),
        ("different lock algorithm (NUMA-aware CNA)", "algorithm"),
        ("spin lock -> rwlock read side", "algorithm"),
        ("ticket lock -> qspinlock", "algorithm"),
        ("rwlock -> SRCU + seqcount", "lockless"),
        ("lock removed (READ_ONCE)", "lockless"),
        ("remove the global lock", "lockless"),
        ("RCU lookup instead of the lock", "lockless"),
        ("avoid taking it (unlocked check first)", "avoid"),
        ("shrink critical section (percpu read inside)", "shrink"),
        ("hold time halved", "shrink"),
        ("fewer acquisitions (2 -> 1; lookup under RCU)", "fewer"),
        ("batch (once per write, not per page)", "batch"),
        ("different layout (cache line)", "layout"),
        ("trylock, and go on with the next group", "trylock"),
        ("convert the mutex to an rwsem", "algorithm"),
        ("do less under the lock", "shrink"),
        ("hash instead of list", "shrink"),
        ("convert the counter to 64 bits", None),
        ("a better heuristic", None),
        ("", None),
    ],
)
def test_a_description_says_its_kind(text: str, kind: str | None) -> None:
    assert kind_of(text) == kind


def test_what_the_shipped_cases_say_of_themselves_is_what_their_words_say() -> None:
    """Where a phrase says a kind at all, it is the one that somebody gave the case by hand, or a near one."""
    said = [(case.kind, kind_of(case.change)) for case in read_casebook() if kind_of(case.change)]
    same = [BY_NAME[by_hand].left == BY_NAME[by_words].left for by_hand, by_words in said]
    assert len(said) > 20
    assert sum(same) / len(same) > 0.7


def test_every_word_of_a_patch_is_of_a_kind() -> None:
    assert {word.kind for word in WORDS.values()} == {kind.name for kind in KINDS}
    assert {kind.left for kind in KINDS} == set(LEFT)


@pytest.mark.parametrize(
    ("text", "lock", "numbers"),
    [
        ("split s_md_lock 4", "s_md_lock", (1.0, 1.0, 4)),
        ("split a < b 8", "a < b", (1.0, 1.0, 8)),
        ("shrink i_lock 30%", "i_lock", (1.0, 0.7, 1)),
        ("shrink i_lock by 30%", "i_lock", (1.0, 0.7, 1)),
        ("batch i_lock 8", "i_lock", (0.125, 1.0, 1)),
        ("avoid __percpu_counter_sum 80%", "__percpu_counter_sum", (0.2, 1.0, 1)),
        ("avoid statfs", "statfs", (0.0, 1.0, 1)),
        ("lockless i_lock", "i_lock", (0.0, 1.0, 1)),
        ("trylock group 3", "group", (1.0, 1.0, 3)),
        ("algorithm lock2", "lock2", (1.0, 1.0, 1)),
    ],
)
def test_a_patch_says_which_lock_and_what_is_left_of_it(
    text: str, lock: str, numbers: tuple[float, float, int]
) -> None:
    (change,) = read_patch(text).changes
    assert change.lock == lock
    assert (change.visits, change.hold, change.parts) == pytest.approx(numbers)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("split a_lock", "split a_lock 4"),
        ("batch a_lock + shrink b_lock", "batch a_lock 8 + shrink b_lock 50%"),
        ("avoid statfs", "avoid statfs 100%"),
        ("lockless a_lock", "lockless a_lock"),
        ("per-cpu a_lock", "per-cpu a_lock"),
        ("split a_lock 8", "split a_lock 8"),
    ],
)
def test_a_number_that_is_left_out_is_said(text: str, whole: str) -> None:
    assert read_patch(text) == replace(read_patch(whole), text=whole)


def test_two_changes_are_one_candidate() -> None:
    patch = read_patch("algorithm a_lock + split b_lock 4")
    assert [change.lock for change in patch.changes] == ["a_lock", "b_lock"]
    assert patch.left == GONE


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("make it faster", "does not begin with a known word: write split LOCK 4"),
        ("split", "does not name one lock"),
        ("shrink i_lock 300%", "300 is not between 0.1 and 100"),
        ("split i_lock 1", "1 is not between 2 and"),
        ("split i_lock 0", "0 is not between 2 and"),
        ("shrink i_lock 0%", "0 is not between 0.1 and"),
        ("split i_lock into 4", "does not name one lock"),
        ("split i_lock 4 + hope", "hope"),
        ("split i_lock 4.5", "4.5 is not a whole number"),
        ("split 4 i_lock", "patch split 4 i_lock does not name one lock or function: write split LOCK 4$"),
        ("split i_lock 4+lockless j_lock", "with a space on both sides of a [+]$"),
    ],
)
def test_a_patch_that_says_nothing_is_told_what_to_write(text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        read_patch(text)
