# SPDX-License-Identifier: MIT
"""Lock event counters: whether spin locks hand over first come, first served."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools import lock_events

TEXT = """/sys/kernel/debug/lock_event_counts/lock_pending:8069
/sys/kernel/debug/lock_event_counts/lock_slowpath:1118
/sys/kernel/debug/lock_event_counts/rwsem_wlock:52
"""
counters = st.dictionaries(st.from_regex(r"\A[a-z_0-9]{1,20}\Z"), st.integers(0, 2**63), min_size=1)


def test_counts_by_hand():
    counts = lock_events.parse(TEXT)
    assert counts == {"lock_pending": 8069, "lock_slowpath": 1118, "rwsem_wlock": 52}
    assert lock_events.parse("./lock_slowpath:7\n") == {"lock_slowpath": 7}


def test_averages_of_paravirtual_locks_are_no_counters():
    text = "pv_hash_hops:1.02\npv_latency_kick:900\npv_kick_wake:5\n"
    assert lock_events.parse(text) == {"pv_kick_wake": 5}


@given(counters)
def test_any_counters_come_back(counts):
    real = {k: v for k, v in counts.items() if k not in lock_events._AVERAGES}
    text = "".join(f"x/{name}:{count}\n" for name, count in real.items())
    if real:
        assert lock_events.parse(text) == real
        assert set(lock_events.difference(real, real).values()) == {0}


def test_an_unfair_lock_never_queues():
    before = lock_events.parse(TEXT)
    queued = lock_events.difference(before, {**before, "lock_slowpath": 1119})
    assert queued == {"lock_pending": 0, "lock_slowpath": 1, "rwsem_wlock": 0}
    assert lock_events.is_fifo(queued)
    assert not lock_events.is_fifo(lock_events.difference(before, before))


def test_a_kernel_without_queued_spin_locks_is_named():
    with pytest.raises(BadInput, match="CONFIG_QUEUED_SPINLOCKS"):
        lock_events.is_fifo({"rwsem_wlock": 3})


def test_readings_of_two_boots_are_refused():
    counts = lock_events.parse(TEXT)
    with pytest.raises(BadInput, match="lock_pending went down"):
        lock_events.difference(counts, {**counts, "lock_pending": 1})
    with pytest.raises(BadInput, match="different counters"):
        lock_events.difference(counts, {"lock_pending": 9000})


@pytest.mark.parametrize("wrong", ["nan", "-5", "1.5", "", "1,118", "9" * 30, "1118 x"])
def test_a_count_that_is_no_count_is_refused(wrong):
    with pytest.raises(BadInput):
        lock_events.parse(TEXT.replace("1118", wrong))


@pytest.mark.parametrize("text", ["", "\n\n", TEXT + TEXT, "lock_slowpath 5\n"])
def test_other_text_is_refused(text):
    with pytest.raises(BadInput):
        lock_events.parse(text)
