# SPDX-License-Identifier: MIT
"""mdtest's times are seconds for a whole phase, whatever their heading says."""

from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.tools.registry import parse

SAMPLES = Path(__file__).parents[1] / "samples"
TIMES_4_1 = (SAMPLES / "mdtest-4.1.0-times.txt").read_text()
BOTH_3_3 = (SAMPLES / "mdtest-3.3.0-both.txt").read_text()
TIMES_3_2 = (SAMPLES / "mdtest-3.2.2-times.txt").read_text()


def of(text, test, metric="time"):
    rows = [row for row in parse(text).rows if (row.test, row.metric) == (test, metric)]
    assert {row.unit for row in rows} <= {"s", "ops/s"}
    return {row.statistic: row.value for row in rows}


def test_4_1_says_ms_per_operation_and_prints_seconds():
    assert "SUMMARY time (in ms/op)" in TIMES_4_1 and parse(TIMES_4_1).warnings == ()
    created = of(TIMES_4_1, "create")
    assert created == {
        "slowest_rank_max": 0.1,
        "slowest_rank_min": 0.05,
        "slowest_rank_mean": 0.081,
        "slowest_rank_sd": 0.028,
    }
    # the csv of that run: the first iteration had 8000 files in 49.608 ms, 161264 a second
    assert created["slowest_rank_min"] == pytest.approx(8000 / 161264.33765, abs=5e-4)
    assert of(TIMES_4_1, "create", "rate") == {}


def test_3_3_prints_both_over_ranks_and_iterations():
    times, rates = of(BOTH_3_3, "create"), of(BOTH_3_3, "create", "rate")
    assert times == {"ranks_max": 0.654, "ranks_min": 0.055, "ranks_mean": 0.354, "ranks_sd": 0.298}
    assert rates["ranks_max"] == 144291.524 and rates["ranks_min"] == 12239.982
    assert rates["ranks_max"] * times["ranks_min"] == pytest.approx(8000, rel=0.01)
    assert rates["ranks_min"] * times["ranks_max"] == pytest.approx(8000, rel=0.001)


def test_3_2_prints_the_slowest_rank_of_one_iteration():
    assert of(TIMES_3_2, "create") == {"slowest_rank": 0.04}
    assert of(TIMES_3_2, "dir_create") == {"slowest_rank": 0.228}
    assert of(TIMES_3_2, "read") == {}
    assert {row.iteration for row in parse(TIMES_3_2).rows} == {1}


def test_a_time_below_half_a_millisecond_is_left_out():
    short = TIMES_3_2.replace("0.040", "0.000")
    assert of(short, "create") == {}
    assert "create is too short to be measured with the printed milliseconds" in parse(short).warnings[0]


@pytest.mark.parametrize("text", [TIMES_4_1, BOTH_3_3])
def test_a_summary_that_was_not_asked_for_is_refused(text):
    with pytest.raises(BadInput, match="does not match its command line"):
        parse(text.replace("'-Z'", "'-v'").replace("'-P'", "'-v'"))
