# SPDX-License-Identifier: MIT
"""Folded stacks: sums by function, and the text that flame graphs are drawn from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools.perf_record import Folded, FunctionSamples, functions, merge, read_folded, write_folded
from lockscale.tools.registry import profile_of

STACKS = Folded("cycles", {("a", "f", "g"): 3, ("a", "f", "f"): 2, ("b", "g"): 4, ("a",): 1})


def test_functions_by_hand():
    assert functions(STACKS) == [FunctionSamples("g", 7, 7), FunctionSamples("f", 2, 5)]
    assert STACKS.samples == 10


def test_the_text_is_in_one_order_and_says_its_sum():
    text = "# cycles, 10 samples\na 1\na;f;f 2\na;f;g 3\nb;g 4\n"
    assert write_folded(STACKS) == text
    assert write_folded(Folded("cycles", dict(reversed(STACKS.stacks.items())))) == text
    assert read_folded(text) == STACKS


@pytest.mark.parametrize("changed", ["a 11", "a;f;f 2\na;f;f 2", "a", "a 0", " a 1"])
def test_a_changed_text_is_refused(changed):
    with pytest.raises(BadInput):
        read_folded(write_folded(STACKS).replace("a 1", changed, 1))


def test_a_cut_text_is_refused():
    text = write_folded(STACKS)
    for end in range(len(text)):
        with pytest.raises(BadInput):
            read_folded(text[:end])


@given(
    st.lists(
        st.dictionaries(st.sampled_from([("a", "f"), ("a", "g"), ("b",)]), st.integers(1, 9)), min_size=1
    )
)
def test_merging_adds(parts):
    whole = merge(Folded("cycles", part) for part in parts)
    assert whole.samples == sum(sum(part.values()) for part in parts)
    for stack in whole.stacks:
        assert whole.stacks[stack] == sum(part.get(stack, 0) for part in parts)


def test_two_events_are_not_merged():
    with pytest.raises(BadInput, match="2 events"):
        merge([STACKS, Folded("cpu-clock", {("a",): 1})])
    with pytest.raises(BadInput, match="0 events"):
        merge([])


def test_a_difference_of_two_profiles_is_none():
    with pytest.raises(BadInput, match=r"^line 1: each stack has two counts, as difffolded\.pl prints them"):
        profile_of("mdtest;open;osq_lock 12 15\nmdtest;open;foo 1 2\n")
    assert profile_of("node;LazyCompile:~f 12 15\nnode;g 2\n").samples == 17


def test_samples_of_another_event_are_no_time():
    said = "samples of cache-misses are no shares of the time: record cycles"
    assert said in profile_of("# cache-misses, 10 samples\na;f;f 2\na;f;g 8\n").warnings
    assert not profile_of("# cycles, 10 samples\na;f;f 2\na;f;g 8\n").warnings
