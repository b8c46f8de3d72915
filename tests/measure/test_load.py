# SPDX-License-Identifier: MIT
"""Loads of one point, one after another, count as one load."""

import pytest

from lockscale.measure.load import Reading, check_load, mean_of_loads
from lockscale.study.file import load_study

OPERATIONS = 7200


def load(seconds: float, p50_ns: float) -> list[Reading]:
    rate = Reading("fsload", "create", 64, "rate", "total", "ops/s", OPERATIONS / seconds, False)
    return [rate, Reading("fsload", "create", 64, "latency", "p50", "ns", p50_ns, False)]


def test_the_rate_of_two_loads_is_all_operations_over_all_the_time():
    rate, latency = mean_of_loads([load(0.02, 100), load(0.03, 300)])
    assert rate.value == pytest.approx(2 * OPERATIONS / 0.05)
    assert (latency.value, latency.statistic, latency.threads) == (200, "p50", 64)


def test_one_load_is_as_it_was_printed():
    assert list(mean_of_loads([load(0.021, 90)])) == load(0.021, 90)


def test_a_load_without_its_rate_leaves_the_point_without_one():
    with pytest.raises(ValueError, match="no rate of create"):
        list(mean_of_loads([load(0.02, 100), load(0.03, 300)[1:]]))


def test_a_number_that_only_some_loads_gave_is_of_those():
    line = Reading("manycore", "create", 64, "line.start_this_handle", "moves", "lines", 70.0, False)
    found = list(mean_of_loads([load(0.02, 100), [*load(0.03, 300), line]]))
    assert found[-1] == line and len(found) == 3


def test_arms_are_checked_in_containers_where_the_study_is_about_them():
    """Directories at the root get flex groups of their own; without that goal-fold's files share no goal."""
    boxed, plain = check_load(load_study("goal-fold")), check_load(load_study("group-trylock"))
    assert boxed[boxed.index("--containers") + 1] == boxed[boxed.index("--processes") + 1] == "8"
    assert "--containers" not in plain
