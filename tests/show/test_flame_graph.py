# SPDX-License-Identifier: MIT
"""A flame graph's frames are the samples, and its table the commonest stacks."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.show.figures.stacks import LEAST_PCT, flame_graph, top_stacks
from lockscale.text_table import text_table
from lockscale.tools.perf_record import Folded

FOLDED = Folded(
    "cpu-clock",
    {
        ("fsload", "do_sys_openat2", "ext4_create", "_raw_spin_lock"): 60,
        ("fsload", "do_sys_openat2", "ext4_create"): 30,
        ("swapper", "default_idle"): 10,
    },
)


def frames(drawn):
    (icicle,) = drawn.data
    return {
        id: (parent, label, value, colour)
        for id, parent, label, value, colour in zip(
            icicle.ids, icicle.parents, icicle.labels, icicle.values, icicle.marker.colors, strict=True
        )
    }


def test_frames_by_hand():
    found = frames(flame_graph(FOLDED, "Where the processors were", "measured in QEMU"))
    assert {id: (parent, value) for id, (parent, _, value, _) in found.items()} == {
        "fsload": ("", 90),
        "fsload;do_sys_openat2": ("fsload", 90),
        "fsload;do_sys_openat2;ext4_create": ("fsload;do_sys_openat2", 90),
        "fsload;do_sys_openat2;ext4_create;_raw_spin_lock": ("fsload;do_sys_openat2;ext4_create", 60),
        "swapper": ("", 10),
        "swapper;default_idle": ("swapper", 10),
    }
    colours = {label: colour for _, label, _, colour in found.values()}
    assert [label for label, colour in colours.items() if colour != colours["ext4_create"]] == [
        "_raw_spin_lock"
    ]


def test_the_title_says_where_the_samples_are_from():
    title = flame_graph(FOLDED, "Where", "measured in QEMU (tcg)").layout.title.text
    assert "measured in QEMU (tcg); 100 samples of cpu-clock" in title


@pytest.mark.parametrize(
    "function",
    ["native_queued_spin_lock_slowpath", "_raw_spin_lock_irqsave", "rwsem_down_write_slowpath",
     "down_write", "__mutex_lock.constprop.0", "osq_lock", "mutex_spin_on_owner",
     "__lock_buffer", "wait_transaction_locked"],
)  # fmt: skip
def test_lock_functions_are_coloured(function):
    found = frames(flame_graph(Folded("cycles", {("a", function, "f"): 1}), "", ""))
    assert found[f"a;{function}"][3] != found["a"][3] == found[f"a;{function};f"][3]


stacks = st.dictionaries(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=5).map(tuple),
    st.integers(1, 1000),
    min_size=1,
    max_size=20,
)


@settings(max_examples=25)
@given(stacks)
def test_no_frame_is_wider_than_its_parent_and_none_that_is_wide_is_missing(counts):
    folded = Folded("cycles", counts)
    found = frames(flame_graph(folded, "", ""))
    assert sum(value for parent, _, value, _ in found.values() if not parent) <= folded.samples
    for id, (parent, label, value, _) in found.items():
        assert not parent or value <= found[parent][2]
        assert id.split(";")[-1] == label
        inside = sum(value for other, _, value, _ in found.values() if other == id)
        assert inside <= value
        assert value == sum(n for stack, n in counts.items() if ";".join((*stack, "")).startswith(id + ";"))
    assert len(found) <= sum(map(len, counts)) * 100 / LEAST_PCT


def test_narrow_frames_are_left_out():
    folded = Folded("cycles", {("a", "f"): 999, ("a", "g"): 1})
    assert set(frames(flame_graph(folded, "", ""))) == {"a", "a;f"}


def test_the_table_by_hand():
    table = top_stacks(FOLDED, 2)
    assert list(table.samples) == [60, 30] and list(table.share_pct) == [60.0, 30.0]
    assert table["stack"][0] == "_raw_spin_lock < ext4_create < do_sys_openat2"
    assert "_raw_spin_lock < ext4_create" in text_table(table)


def test_long_stacks_are_cut_at_the_caller_that_matters_least():
    (stack,) = top_stacks(Folded("cycles", {("a", *(f"f{k}" for k in range(20))): 1}))["stack"]
    assert stack.startswith("f19 < f18 <") and stack.endswith("f12 < ...")


def test_no_sample_is_refused():
    with pytest.raises(BadInput, match="needs samples"):
        flame_graph(Folded("cycles", {}), "", "")
