# SPDX-License-Identifier: MIT
"""The profiles of a run, summed over the repeats of a point."""

import gzip

import pandas as pd
import pytest

from lockscale.measure.profiling import folded_stacks, lock_waits, lock_waits_of
from lockscale.measure.run_folder import Run
from lockscale.tools.perf_record import Folded, write_folded

POINT = {"tool": "perf_lock", "pair": "ab", "arm": "steal-retry", "cpus": 4, "threads": 8, "origin": "qemu"}


def row(metric, statistic, value, **other):
    return {**POINT, "metric": metric, "statistic": statistic, "value": value, **other}


ROWS = pd.DataFrame(
    [
        row("contentions", "total", 40),
        row("wait", "total", 900_000),
        row("rwsem:W do_filp_open+0xc3.contentions", "total", 10),
        row("rwsem:W do_filp_open+0xc3.wait", "total", 4_000_000),
        row("rwsem:W do_filp_open+0xc3.wait", "max", 2_000_000),
        row("rwsem:W do_filp_open+0xc3.contentions", "total", 30),
        row("rwsem:W do_filp_open+0xc3.wait", "total", 8_000_000),
        row("rwsem:W do_filp_open+0xc3.wait", "max", 1_000_000),
        row("spinlock f.isra.0+0x1.contentions", "total", 1),
        row("spinlock f.isra.0+0x1.wait", "total", 5_000),
        row("spinlock f.isra.0+0x1.wait", "max", 5_000),
        row("spinlock f.isra.0+0x1.wait", "total", 99_000, pair="aa"),
        row("spinlock f.isra.0+0x1.wait", "total", 99_000, threads=1),
        row("ext4_create.calls", "total", 99_000, tool="ftrace_cost"),
    ]
)


def test_waits_are_summed_over_the_repeats():
    table = lock_waits(ROWS, "steal-retry", 4, 8)
    assert table.to_dict("records") == [
        {
            "lock": "rwsem:W do_filp_open+0xc3",
            "contentions": 40,
            "wait_ms": 12,
            "mean_us": 300,
            "max_us": 2000,
        },
        {"lock": "spinlock f.isra.0+0x1", "contentions": 1, "wait_ms": 0.005, "mean_us": 5, "max_us": 5},
    ]


@pytest.mark.parametrize("point", [("search-locked", 4, 8), ("steal-retry", 2, 8), ("steal-retry", 4, 48)])
def test_a_point_without_a_profile_has_an_empty_table(point):
    table = lock_waits(ROWS, *point)
    assert table.empty and list(table.columns) == ["lock", "contentions", "wait_ms", "mean_us", "max_us"]


def test_the_arms_stand_below_one_another_with_their_origin():
    table = lock_waits_of(ROWS, ["steal-retry", "search-locked"], 4, 8)
    assert len(table) == len(lock_waits(ROWS, "steal-retry", 4, 8))
    assert set(table.arm) == {"steal-retry"} and set(table.origin) == {"qemu"}


def test_samples_of_the_repeats_are_added(tmp_path):
    run = Run(tmp_path)
    of_another = "004-ab1-no-steal-retry-4cpu", "005-ab1-steal-retry-64cpu"
    here = "003-ab1-steal-retry-4cpu", "006-ab2-steal-retry-4cpu"
    for step in (*here, *of_another, "001-aa0-steal-retry-4cpu"):
        (run.raw / step).mkdir(parents=True)
        text = write_folded(Folded("cpu-clock", {("fsload", "ext4_create"): 3}))
        (run.raw / step / "perf_record-8.txt.gz").write_bytes(gzip.compress(text.encode()))
    found = folded_stacks(run, "steal-retry", 4, 8)
    assert found.stacks == {("fsload", "ext4_create"): 6}
    assert folded_stacks(run, "steal-retry", 4, 1) is None
    assert folded_stacks(run, "search-locked", 4, 8) is None
