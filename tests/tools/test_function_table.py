# SPDX-License-Identifier: MIT
"""The function cost table of the changelogs: printed byte for byte, and read back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools.ftrace_cost import FunctionCost, parse_table, table

SAMPLES = Path(__file__).parents[1] / "samples"
S1 = (SAMPLES / "funccost-s1.txt").read_text()

costs = st.lists(
    st.builds(
        lambda name, total_ns, count: FunctionCost(name, total_ns / 1000, count, total_ns / 1000 / count),
        st.from_regex(r"\A[a-z_][a-z0-9_.]{0,28}\Z"),
        st.integers(0, 10**15),
        st.integers(1, 10**9),
    ),
    min_size=1,
    max_size=9,
    unique_by=lambda cost: cost.function,
)


def test_s1_by_hand():
    rows = parse_table(S1)
    assert len(rows) == 8
    assert rows[0] == FunctionCost("ext4_create", 1707443399.0, 1440000, 1185.72)
    assert rows[3] == FunctionCost("jbd2_journal_get_write_access", 33441470.0, 73077185, 0.46)


@pytest.mark.parametrize(
    ("name", "count", "calls"),
    [("s1", 8, 73077185), ("s2-without", 22, 28364899), ("s2-with", 17, 103374244)],
)
def test_published_tables_are_read_and_printed_alike(name, count, calls):
    text = (SAMPLES / f"funccost-{name}.txt").read_text()
    rows = parse_table(text)
    assert len(rows) == count
    assert {r.function: r.count for r in rows}["jbd2_journal_get_write_access"] == calls
    published = [line.strip() for line in text.split("\n")]
    printed = table(rows).splitlines()
    at = published.index(printed[0])
    assert published[at : at + count + 1] == printed


def test_s1_is_printed_byte_for_byte():
    assert table(parse_table(S1)) in S1


@given(costs)
def test_round_trip(rows):
    printed = table(rows)
    back = parse_table(printed)
    assert table(back) == printed
    assert [(row.function, row.count) for row in back] == [(r.function, r.count) for r in rows]
    for ours, theirs in zip(rows, back, strict=True):
        assert 0 <= ours.total_us - theirs.total_us < 1
        assert ours.avg_us == pytest.approx(theirs.avg_us, abs=0.0051)


@pytest.mark.parametrize("wrong", ["nan", "-", "1185,72", "1185.7", "1195.72", "*"])
def test_an_average_that_is_not_total_by_count_is_refused(wrong):
    with pytest.raises(BadInput):
        parse_table(S1.replace("1185.72", wrong))


@pytest.mark.parametrize("wrong", ["0", "144000", "9" * 400, "1e6"])
def test_a_count_that_does_not_fit_is_refused(wrong):
    with pytest.raises(BadInput):
        parse_table(S1.replace("1440000   ", wrong, 1))


def test_no_table_two_tables_and_a_function_twice_are_refused():
    spin = next(line for line in S1.split("\n") if line.startswith("_raw_spin_lock"))
    for text in ("", "FUNC COUNT\n", S1 + S1, S1.replace(spin, f"{spin}\n{spin}")):
        with pytest.raises(BadInput):
            parse_table(text)


@given(st.text())
def test_other_text_is_refused(text):
    with pytest.raises(BadInput):
        parse_table(text)
