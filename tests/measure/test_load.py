# SPDX-License-Identifier: MIT
"""Loads of one point, one after another, count as one load."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from lockscale.errors import RunFailed
from lockscale.machines.machine import Completed
from lockscale.measure.arm_boot import MeasuredBoot, _one_load
from lockscale.measure.load import Load, Point, Reading, check_load, mean_of_loads
from lockscale.study.file import load_study
from lockscale.tools.parsed_rows import Parsed, ParsedRow

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
    with pytest.raises(RunFailed, match="no rate of create in 1 of 2 loads at 64 processes"):
        list(mean_of_loads([load(0.02, 100), load(0.03, 300)[1:]]))


def test_a_load_whose_output_was_cut_is_no_point_that_is_done():
    """Its step would be in the journal, and never be measured again."""
    remove = ParsedRow("remove", 4, 1, "rate", "ops/s", 100.0, "total")
    create = ParsedRow("create", 4, 1, "rate", "ops/s", 200.0, "total")
    why = "phase create is incomplete and is left out"
    for rows, is_whole in (((create, remove), True), ((remove,), False)):
        parsed = Parsed("fsload", "1", rows, () if is_whole else (why,))
        whole = Load("fsload", lambda *_: ["load"], lambda _, parsed=parsed: parsed)
        machine = SimpleNamespace(run_all=lambda steps, **_: [Completed(("x",), 0, "", "")] * len(steps))
        booted = SimpleNamespace(machine=machine, folder="/x", disk=None, virtual_time=None)
        readings = _one_load(booted, Point(whole, 4, 100), MeasuredBoot("ab", "fsload"), "rate-4")
        with nullcontext() if is_whole else pytest.raises(RunFailed, match=f"no rate of create .*{why}"):
            assert [one.value for one in readings] == [200.0, 100.0]


def test_a_number_that_only_some_loads_gave_is_of_those():
    line = Reading("manycore", "create", 64, "line.start_this_handle", "moves", "lines", 70.0, False)
    found = list(mean_of_loads([load(0.02, 100), [*load(0.03, 300), line]]))
    assert found[-1] == line and len(found) == 3


def test_arms_are_checked_in_containers_where_the_study_is_about_them():
    """Directories at the root get flex groups of their own; without that goal-fold's files share no goal."""
    boxed, plain = check_load(load_study("goal-fold")), check_load(load_study("group-trylock"))
    assert boxed[boxed.index("--containers") + 1] == boxed[boxed.index("--processes") + 1] == "8"
    assert "--containers" not in plain
