# SPDX-License-Identifier: MIT
"""reaim: tests/samples/reaim-*.txt were printed by areaim's driver (October 2014) on a Debian machine.

It was built with a replacement for tst_sig() of the Linux Test Project, which only installs handlers;
sync was a command that does nothing.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools.registry import parse

SAMPLES = Path(__file__).parents[1] / "samples"
MULTI = (SAMPLES / "reaim-multiuser.txt").read_text()
SINGLE = (SAMPLES / "reaim-singleuser.txt").read_text()
HEAD = """REAIM Workload
Times are in seconds - Child times from tms.cstime and tms.cutime

Num     Parent   Child   Child  Jobs per   Jobs/min/  Std_dev  Std_dev  JTI
Forked  Time     SysTime UTime   Minute     Child      Time     Percent
"""


def of(text, metric):
    return {
        (row.test, row.threads): (row.value, row.unit) for row in parse(text).rows if row.metric == metric
    }


def test_multi_user_by_hand():
    assert of(MULTI, "rate") == {
        ("multiuser", 1): (2706.77, "jobs/min"),
        ("multiuser", 3): (6000.0, "jobs/min"),
        ("multiuser", 5): (10000.0, "jobs/min"),
        ("multiuser", 7): (25200.0, "jobs/min"),
    }
    assert of(MULTI, "time")["multiuser", 3] == (1.80, "s")
    assert of(MULTI, "system_cpu_time")["multiuser", 7] == (0.76, "s")
    assert of(MULTI, "user_cpu_time")["multiuser", 5] == (0.05, "s")
    assert {row.statistic for row in parse(MULTI).rows} == {"total"} and parse(MULTI).warnings == ()


def test_single_user_by_hand():
    assert of(SINGLE, "rate") == {
        ("creat_clo", 1): (256716.42, "ops/s"),
        ("page_test", 1): (374000.0, "ops/s"),
        ("link_test", 1): (176904.0, "ops/s"),
        ("disk_src", 1): (87487.5, "ops/s"),
    }
    assert of(SINGLE, "loop_rate")["creat_clo", 1] == (256.72, "loops/s")


def test_an_uncalibrated_test_has_loops_only():
    line = (
        "1      sync_disk_  2.01      516       256.72     <Uncalibrated> Sync Random Disk Writes (K)/second"
    )
    text = SINGLE.replace(next(one for one in SINGLE.split("\n") if "creat_clo" in one), line)
    assert ("sync_disk_", 1) in of(text, "loop_rate") and ("sync_disk_", 1) not in of(text, "rate")


def test_the_greatest_rate_has_to_be_among_the_lines():
    lines = [line for line in MULTI.split("\n") if not line.startswith("7 ")]
    assert parse("\n".join(lines)).warnings == (
        "the highest rate, 25200.00 jobs per minute, is in none of the lines that were read",
        "there is no line for 7 users",
    )


def test_without_a_command_line_nobody_knows_how_many_lines_there_were():
    assert "a lost one cannot be noticed" in parse(MULTI.partition("\n")[2]).warnings[-1]
    adaptive = MULTI.replace(" -t ", " ")
    assert "a lost one cannot be noticed" in parse(adaptive).warnings[-1]


runs = st.lists(
    st.tuples(st.integers(1, 500), st.integers(1, 10**6), st.floats(0, 0.99)),
    min_size=1, max_size=5, unique_by=lambda one: one[0],
)  # fmt: skip


@given(st.integers(1, 5000), runs)
def test_any_multi_user_run_is_read(jobs, runs):
    """The arithmetic and the format of driver.c, written again."""
    out, most = HEAD, 0.0
    for users, ms, cov in runs:
        a_second = jobs / (ms / 1000.0)
        rate = a_second * 60.0 * users
        cov = 0.0 if users == 1 else cov
        out += (
            f"{users:<8d}{ms / 1000:<8.2f} {0:<7.2f} {0:<7.2f} {rate:<10.2f} {a_second * 60.0:<10.2f} "
            f"{cov * ms / 1000:<8.2f} {cov * 100:<8.2f} {int((1 - cov) * 100):<4d} \n"
        )
        most = max(most, rate)
    found = of(f"{out}Max Jobs per Minute {most:.2f}\n", "rate")
    for users, ms, _ in runs:
        assert found["multiuser", users][0] == pytest.approx(jobs * 60000 / ms * users, abs=0.006, rel=1e-9)


def test_two_runs_are_refused():
    with pytest.raises(BadInput, match="2 times"):
        parse(MULTI + SINGLE)
