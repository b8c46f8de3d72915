# SPDX-License-Identifier: MIT
"""fsload's JSON lines: every number is held against the others."""

import re
from pathlib import Path

import pytest
from damaged_output import Survives, damaged
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.workloads import parse

TEXT = (Path(__file__).parents[1] / "samples" / "fsload-0.1.0.jsonl").read_text()
SURVIVES = Survives(TEXT)
SETTINGS = settings(deadline=None, max_examples=400)


def test_rows_by_hand():
    rows = parse(TEXT).rows
    assert {(row.threads, row.iteration, row.unit) for row in rows} == {(3, 1, "ops/s")}
    assert [(row.test, row.statistic, row.value) for row in rows[:2]] == [
        ("create", "total", 100602.677),  # 300 / (1878.618200337 - 1878.615218309)
        ("create", "slowest_rank", 100602.677),  # process 0 was the first and the last
    ]
    assert [(row.test, row.statistic, row.value) for row in rows[5:7]] == [
        ("remove", "total", 151578.309),  # 300 / (1878.620181851 - 1878.618202676)
        ("remove", "slowest_rank", 237491.332),  # 3 x 100 / 0.001263204
    ]
    assert [row.statistic for row in rows[7:]] == ["rank0", "rank1", "rank2"]
    assert rows[8].value == pytest.approx(100 / 0.001263204)


def test_cut_at_every_byte():
    SURVIVES.truncated_everywhere()


@SETTINGS
@given(st.data())
def test_one_line_or_number_changed(data):
    SURVIVES.check(data.draw(damaged(TEXT)))


@SETTINGS
@given(st.data())
def test_no_changed_digit_gives_another_rate(data):
    at = data.draw(st.sampled_from([m.start() for m in re.finditer(r"\d", TEXT)]))
    digit = data.draw(st.sampled_from("0123456789"))
    SURVIVES.check(TEXT[:at] + digit + TEXT[at + 1 :])


@given(st.text())
def test_other_text_is_refused(text):
    with pytest.raises(BadInput):
        parse(text, "fsload")


def test_an_unknown_version_is_refused_by_name():
    with pytest.raises(BadInput, match=r"fsload 9\.9\.9 is not known"):
        parse(TEXT.replace("0.1.0", "9.9.9"))


def test_two_runs_in_one_file_are_refused():
    with pytest.raises(BadInput):
        parse(TEXT + TEXT)


def test_a_process_twice_is_refused():
    line = TEXT.split("\n")[2]
    with pytest.raises(BadInput, match="repeated"):
        parse(TEXT.replace(line, f"{line}\n{line}"))
