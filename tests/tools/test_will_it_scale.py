# SPDX-License-Identifier: MIT
"""will-it-scale on one Debian machine: tests/samples/will-it-scale-fallocate2.* are what it printed."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools import will_it_scale
from lockscale.tools.registry import parse

SAMPLES = Path(__file__).parents[1] / "samples"
SIX_RUNS = (SAMPLES / "will-it-scale-fallocate2.txt").read_text()
CSV = (SAMPLES / "will-it-scale-fallocate2.csv").read_text()
RUNS = ["$ " + run for run in SIX_RUNS.split("$ ")[1:]]


def rates(text, test):
    return {
        (r.statistic, r.threads): r.value for r in parse(text).rows if r.test == test and r.unit == "ops/s"
    }


def test_the_six_runs_by_hand():
    processes = rates(SIX_RUNS, "fallocate2_processes")
    assert [processes["total_mean", n] for n in (1, 2, 4)] == [7908, 13013, 87941]
    assert (processes["total_min", 2], processes["total_max", 2]) == (10496, 17792)
    assert (processes["ranks_min", 4], processes["ranks_max", 4]) == (16414, 24987)
    threads = rates(SIX_RUNS, "fallocate2_threads")
    assert [threads["total_mean", n] for n in (1, 2, 4)] == [7893, 4266, 83157]
    assert (threads["total_max", 4], threads["ranks_min", 2]) == (102784, 896)
    assert len(parse(SIX_RUNS).rows) == 30
    assert parse(SIX_RUNS).warnings == ()


def test_the_csv_by_hand():
    parsed = parse(CSV)
    assert [(r.test, r.threads, r.metric, r.unit, r.value, r.statistic) for r in parsed.rows] == [
        ("processes", 1, "rate", "ops/s", 14003, "total_mean"),
        ("processes", 1, "cpu_idle", "%", 0.36, "machine"),
        ("threads", 1, "rate", "ops/s", 14782, "total_mean"),
        ("threads", 1, "cpu_idle", "%", 1.40, "machine"),
        ("processes", 2, "rate", "ops/s", 19276, "total_mean"),
        ("processes", 2, "cpu_idle", "%", 0.77, "machine"),
        ("threads", 2, "rate", "ops/s", 18560, "total_mean"),
        ("threads", 2, "cpu_idle", "%", 1.13, "machine"),
    ]


def test_without_its_command_line_the_output_names_no_tasks():
    bare = parse(RUNS[2].partition("\n")[2])
    assert {(row.test, row.threads) for row in bare.rows} == {("Separate file fallocate", None)}
    assert [row.value for row in bare.rows] == [row.value for row in parse(RUNS[2]).rows]


def test_two_runs_alike_are_refused():
    for text in (RUNS[2] * 2, re.sub(r"\$.*\n", "", SIX_RUNS)):
        with pytest.raises(BadInput, match="two runs of the same test with the same number of tasks"):
            parse(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("average:13013", "average:13014"),
        ("min:2816 max:14976 total:17792\n", ""),
        ("-s 3", "-s 4"),
        ("fallocate2", "fallocate1"),
        ("warmup\n", "warmup\nmin:1 max:1 total:2\n"),
    ],
)
def test_a_run_that_is_not_whole_is_left_out(old, new):
    with pytest.raises(BadInput, match="the run of line 2 is left out"):
        parse(RUNS[2].replace(old, new), "will-it-scale")


def test_cutting_the_six_runs_leaves_whole_runs():
    whole = {(r.test, r.threads, r.statistic): r.value for r in parse(SIX_RUNS).rows}
    for end in range(len(RUNS[0]), len(SIX_RUNS)):
        rows = parse(SIX_RUNS[:end], "will-it-scale").rows
        assert 0 <= 5 * SIX_RUNS.count("average", 0, end) - len(rows) <= 5
        assert all(whole[r.test, r.threads, r.statistic] == r.value for r in rows)


def test_a_test_case_that_failed_has_no_row():
    """runtest.py prints -1 where there was no average."""
    parsed = parse(CSV.replace("2,19276", "2,-1"))
    assert [(r.test, r.threads) for r in parsed.rows if r.metric == "rate"] == [
        ("processes", 1), ("threads", 1), ("threads", 2),
    ]  # fmt: skip
    assert "the processes gave no average" in parsed.warnings[0]


def printed(tasks, seconds):
    """main.c: 6 lines of warm-up, the measured seconds, the average in whole operations."""
    lines = [f"min:{min(one)} max:{max(one)} total:{sum(one)}" for one in seconds]
    average = sum(map(sum, seconds)) // len(seconds)
    body = [*lines[:1] * 6, "measurement", *lines, f"average:{average}"]
    command = f"$ /opt/wis/open1_threads -t {tasks} -s {len(seconds)}"
    return "\n".join([command, "testcase:Separate file open/close", "warmup", *body, ""])


counts = st.integers(1, 6).flatmap(
    lambda tasks: st.lists(
        st.lists(st.integers(0, 10**9), min_size=tasks, max_size=tasks), min_size=1, max_size=5
    )
)


@given(counts)
def test_any_run_is_read(seconds):
    tasks = len(seconds[0])
    rows = rates(printed(tasks, seconds), "open1_threads")
    assert rows["total_mean", tasks] == sum(map(sum, seconds)) // len(seconds)
    assert rows["ranks_max", tasks] == max(map(max, seconds))
    assert rows["total_min", tasks] == min(map(sum, seconds))


def test_a_built_test_case_is_found(tmp_path):
    find = will_it_scale.ON_TARGET.ask
    env = {"PATH": os.environ["PATH"], "WILL_IT_SCALE": str(tmp_path), "HOME": str(tmp_path)}
    assert subprocess.run(find, capture_output=True, env=env, check=False).stdout == b""
    (tmp_path / "fallocate2_processes").touch(mode=0o755)
    assert (
        subprocess.run(find, capture_output=True, text=True, env=env, check=False).stdout == f"{tmp_path}\n"
    )
