# SPDX-License-Identifier: MIT
"""Mails of the kernel test robot: the sample has its form, and made-up numbers."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockscale.errors import BadInput
from lockscale.tools import robot_mail
from lockscale.tools.registry import parse, profile_of, recognise

SAMPLES = Path(__file__).parents[1] / "samples"
MAIL = (SAMPLES / "robot_mail-by-hand.txt").read_text()
PLAIN = "\n".join(line.removeprefix("> ").removeprefix(">") for line in MAIL.split("\n"))
HEAD = "aaaa111 bbbb222\n---------------- -----------------\n   %stddev     %change   %stddev\n  \\ | \\\n"


def test_what_was_run_and_what_it_gave():
    (report,) = robot_mail.parse(MAIL)
    assert report.headline == "stress-ng.example.ops_per_sec"
    rate = report.metrics[report.headline]
    assert (rate.base, rate.patched) == (100_000, 150_000)
    assert (report.commits, report.testcase) == (("aaaaaaaaaa", "1234567890"), "stress-ng")
    assert (report.cpus, report.threads) == (64, 32)  # nr_threads: 50%
    assert report.parameters["test"] == "example"


def test_quoting_and_broken_lines_change_nothing():
    (quoted,), (plain,) = robot_mail.parse(MAIL), robot_mail.parse(PLAIN)
    assert quoted == plain
    broken = PLAIN.replace("  perf-profile", "\n perf-profile").replace(
        "        stress-ng.ex", "\nstress-ng.ex"
    )
    values = {name: (one.base, one.patched) for name, one in plain.metrics.items()}
    (mended,) = robot_mail.parse(broken)
    assert {name: (one.base, one.patched) for name, one in mended.metrics.items()} == values


def test_the_profile_is_the_bases_unless_the_patched_one_is_asked_for():
    (report,) = robot_mail.parse(MAIL)
    base, patched = report.profile(), report.profile(patched=True)
    assert profile_of(MAIL) == base
    assert (base.match("ext4_one").wait_pct, patched.match("ext4_one").wait_pct) == (40.1, 10.0)
    assert base.match("ext4_one_irq").wait_pct == 5  # gcc's .isra.0 is no function of its own
    assert base.match("native_queued_spin_lock_slowpath").share_pct == 43.5  # more than its two callers' 43


def test_a_row_whose_change_is_not_that_of_its_numbers_is_left_out():
    (report,) = robot_mail.parse(MAIL)
    assert "line 38 is left out, -1.0 is not the change from 11.50 to 12.50" in report.warnings
    assert not any("wrong_row" in name for name in report.metrics)


@given(st.floats(0.01, 1e9), st.floats(0.01, 1e9), st.integers(0, 2))
def test_any_row_that_the_robot_rounds_comes_back(base, patched, digits):
    old, new = f"{base:.{digits}f}", f"{patched:.{digits}f}"
    if float(old) < 10.0**-digits * 2:
        return
    change = f"{(patched / base - 1) * 100:+.1f}%"
    (report,) = robot_mail.parse(f"{HEAD}  {old} ± 3%   {change}   {new}   vmstat.system.cs\n")
    metric = report.metrics["vmstat.system.cs"]
    assert (metric.base, metric.patched) == (float(old), float(new))
    assert (metric.base_sd_pct, metric.patched_sd_pct) == (3, None)


def test_what_stands_behind_plus_minus_is_a_row_of_its_own():
    rows = parse(f"{HEAD}  100.25 ± 3%   +50.0%   150.4   fio.write_iops\n").rows
    assert [(one.value, one.unit, one.statistic) for one in rows] == [
        (100.25, "not stated", "not stated"), (3, "%", "relative_sd"), (150.4, "not stated", "not stated"),
    ]  # fmt: skip


def test_a_table_that_does_not_say_the_threads_may_have_them_in_its_rates_name():
    """As will-it-scale's has; where two names differ nothing is taken."""
    (report,) = robot_mail.parse(PLAIN)
    rate = report.metrics[report.headline]

    def of(*names: str) -> int | None:
        return replace(report, parameters={}, metrics=dict.fromkeys(names, rate)).threads

    assert of("will-it-scale.104.processes", "will-it-scale.workload") == 104
    assert of("will-it-scale.104.processes", "will-it-scale.52.processes") is None
    assert of("will-it-scale.per_process_ops") is None


def test_several_tables_are_listed_and_chosen():
    two = PLAIN + PLAIN.replace("nr_threads: 50%", "nr_threads: 100%").replace("/50%/", "/100%/")
    with pytest.raises(BadInput, match=r"contains 2 tables: choose one with --table: 1 \(stress-ng"):
        profile_of(two)
    assert profile_of(two, table=2).title.endswith("nr_threads=100%")
    assert {row.arm for row in parse(two).rows} == {
        "1 aaaaaaaaaa", "1 1234567890", "2 aaaaaaaaaa", "2 1234567890",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "is_one"),
    [
        ("stress-ng.timer.ops_per_sec", False),
        ("will-it-scale.per_process_ops", False),
        ("fio.write_iops", False),
        ("fsmark.time.elapsed_time", True),
        ("fio.write_clat_mean_us", True),
        ("hackbench.throughput", False),
        ("kbuild.sys_time_per_iteration", True),
        ("example.requests_per_seconds", False),
    ],
)
def test_a_time_is_known_by_a_whole_word_of_its_metric(metric: str, is_one: bool):
    assert robot_mail.is_time(metric) == is_one


def test_rates_without_a_profile():
    text = f"{HEAD}  100   +50.0%   150   fio.write_iops\n"
    assert recognise(text) == "robot_mail" and len(parse(text).rows) == 2
    with pytest.raises(BadInput, match="give its rates by hand, -r THREADS:RATE"):
        profile_of(text)


def test_what_cannot_be_read_is_said():
    with pytest.raises(BadInput, match="more than two commits"):
        robot_mail.parse(HEAD.replace("%change   %stddev", "%change   %stddev   %change   %stddev"))
    with pytest.raises(BadInput, match="has no complete row"):
        robot_mail.parse(HEAD)
    with pytest.raises(BadInput, match="not a report of the test robot"):
        robot_mail.parse("hello\n")


def test_a_profile_in_a_mail_of_a_regression_says_of_which_commit_it_is():
    assert not any("regression" in one for one in profile_of(MAIL).warnings)
    base, patched = robot_mail.parse(MAIL)[0].commits
    worse = PLAIN.replace("+50.0%     150000", "-50.0%      50000").replace("improvement of", "regression of")
    said = f"that made it slower, {patched}: --table {base} is the one before it"
    assert profile_of(worse).warnings[-1].endswith(said)
    assert profile_of(worse).commit == patched and profile_of(worse, table=base).commit == base


def test_readers_and_writers_of_a_lock_are_asked_for_as_in_lock_stat():
    row = "      {}           +50.0%       {}        lock_stat.&mm->mmap_sem-{}.waittime-total\n"
    profile = profile_of(HEAD + row.format(2000, 3000, "W") + row.format(200, 300, "R"))
    waits_us = {"&mm->mmap_sem": 2200, "mmap_sem-R": 200, "&mm->mmap_sem-W": 2000}
    assert {name: profile.match(name).wait_ns for name in waits_us} == {
        name: us * 1000 for name, us in waits_us.items()
    }


def test_a_time_that_grows_is_a_regression_and_is_no_rate():
    slower = PLAIN.replace("50.0% improvement", "50.0% regression").replace("ops_per_sec", "seconds")
    (report,) = robot_mail.parse(slower)
    assert report.is_regression and profile_of(slower).commit == report.commits[1]
    rates = "".join(line for line in slower.splitlines(keepends=True) if "perf-profile." not in line)
    with pytest.raises(BadInput, match="give its rates by hand, -r THREADS:RATE"):
        profile_of(rates)


@pytest.mark.parametrize(("word", "is_worse"), [("regression", True), ("improvement", False)])
def test_what_is_better_is_what_the_mail_calls_an_improvement(word: str, is_worse: bool):
    """A name alone does not say that less of it is faster."""
    text = PLAIN.replace("improvement of", f"{word} of")
    (found,) = robot_mail.parse(text)
    assert (found.higher_is_better, found.is_regression) == (not is_worse, is_worse)
    assert profile_of(text).commit == found.commits[is_worse]


def test_a_mail_without_a_profile_says_how_to_give_its_rate():
    rates = "".join(line for line in PLAIN.splitlines(keepends=True) if "perf-profile." not in line)
    (report,) = robot_mail.parse(rates)
    rate = report.metrics[report.headline].base
    with pytest.raises(BadInput, match=f"of {report.headline} by hand, -r {report.threads}:{rate:g};"):
        profile_of(rates)
    with pytest.raises(BadInput, match="by hand, -r THREADS:RATE;"):  # less of it is faster: it is no rate
        profile_of(rates.replace("improvement of", "regression of"))


def test_the_other_commits_profile_is_asked_for_by_its_name():
    patched = profile_of(MAIL, table="1234567890")
    assert (patched.match("ext4_one").wait_pct, profile_of(MAIL).match("ext4_one").wait_pct) == (10.0, 40.1)
    assert profile_of(PLAIN + PLAIN, table="2 1234567890").line > patched.line
    for name in ("123456", "1234567890abcdef", "1 1234567890"):  # as a mail shortens it, or does not
        assert profile_of(MAIL, table=name) == patched
    assert profile_of(MAIL, table="aaaaaaaaaa") == profile_of(MAIL)
    with pytest.raises(BadInput, match=r"no table 12345, only .*; or a commit: aaaaaaaaaa, 1234567890"):
        profile_of(MAIL, table="12345")
    with pytest.raises(BadInput, match='2 tables are of 1234567890: add the number, --table "1 1234567890"'):
        profile_of(PLAIN + PLAIN, table="1234567890")
