# SPDX-License-Identifier: MIT
"""Texts that are not one output of one tool: each is refused with a sentence that says what to do."""

import gzip
import io
import os
import sys
import threading
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.tools import registry
from lockscale.tools.registry import parse, parse_file
from lockscale.tools.seal import seal

SAMPLES = Path(__file__).parent / "samples"
MDTEST = (SAMPLES / "mdtest-3.3.0.txt").read_text()


@pytest.mark.parametrize(
    ("name", "tools"),
    [
        ("perf-6.1.187", "perf_lock, perf_script, perf_stat"),
        ("perf_lock-6.12.95", "perf_lock, perf_stat"),
    ],
)
def test_a_log_of_several_commands(name, tools):
    text = (SAMPLES / f"several-{name}.txt").read_text()
    with pytest.raises(BadInput, match=f"contains output of {tools}: give one at a time$"):
        parse(text)


def test_several_tables_of_one_tool():
    text = (SAMPLES / "several-perf_lock-6.12.95.txt").read_text()
    with pytest.raises(BadInput, match="contains 7 tables: choose one with --table: 1 "):
        parse(text, "perf_lock")
    begin, end = text.index("$ perf lock contention -t -E 4"), text.index("$ perf lock contention -x, -i")
    waits = {(row.test, row.metric, row.statistic): row.value for row in parse(text[begin:end]).rows}
    assert waits["mdtest 18863", "contentions", "total"] == 31
    assert waits["mdtest 18864", "wait", "mean"] == 1_060_000 and len(waits) == 4 * 4


@pytest.mark.parametrize("name", ["perf_script-6.1.187.txt", "ext4_stats-6.18.44.txt", "fsload-0.2.0.jsonl"])
def test_another_output_behind_the_first_or_above_it(name):
    other = (SAMPLES / name).read_text()
    both = ", ".join(sorted({"mdtest", parse(other).tool}))
    for text in (MDTEST + other, other + MDTEST):
        with pytest.raises(BadInput, match=f"contains output of {both}: give one at a time$"):
            parse(text)


def test_a_table_read_twice():
    text = (SAMPLES / "ftrace_cost-6.12.117.txt").read_text()
    with pytest.raises(BadInput, match="tables of two CPUs are identical"):
        parse(text * 2)
    assert parse(seal(text * 2)).warnings == ()  # a seal says that the kernel printed it so
    doubled = parse((SAMPLES / "perf_script-6.1.187.txt").read_text() * 2)
    assert "missing or repeated" in doubled.warnings[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the text is empty"),
        ("\n \n", "the text is empty"),
        ("m\0d\0t\0", "no text, as it contains NUL bytes; if it is UTF-16"),
        ("\n Performance counter stats for 'sleep 1':\n\n  1.05 msec task-clock\n", "count with -j"),
        ("1.07;msec;task-clock;1067355;100.00;0.005;CPUs utilized\n", "a separator other than a comma"),
        ("     1.001084499,1.07,msec,task-clock,1067355,100.00,,\n", "count without -I"),
        ('{"interval" : 1.001084499, "counter-value" : "1.07"}\n', "count without -I"),
        ("3;fio-3.33;create;0;0;0\n", "terse output: use --output-format=json"),
        ("create: (g=0): rw=read, bs=4096\nfio-3.33\n", "human-readable output: use --output-format=json"),
        ("S0-D0-C0,2,12345,,cycles,100,100.00,,\n", "counts of single CPUs, nodes or threads are not supp"),
        ('{"cpu" : "0", "counter-value" : "12.000000", "event" : "cycles"}\n', "count without -A and --per-"),
    ],
)
def test_a_form_that_is_not_read_says_what_to_do(text, said):
    with pytest.raises(BadInput, match=said):
        parse(text)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16"])
def test_utf_16_is_refused(tmp_path, encoding):
    (tmp_path / "out").write_bytes(MDTEST.encode(encoding))
    with pytest.raises(BadInput, match="UTF-16"):
        parse_file(tmp_path / "out")


def test_a_compressed_file_is_told_to_be_one(tmp_path):
    (tmp_path / "out.gz").write_bytes(gzip.compress(MDTEST.encode()))
    with pytest.raises(BadInput, match="this is compressed: unpack it with gunzip"):
        parse_file(tmp_path / "out.gz")


@pytest.mark.parametrize("name", ["mdtest-3.3.0.txt", "perf_script-6.1.187.txt"])
def test_the_mark_of_utf_8_is_passed_over(tmp_path, name):
    (tmp_path / "out").write_bytes(b"\xef\xbb\xbf" + (SAMPLES / name).read_bytes())
    assert parse_file(tmp_path / "out") == parse_file(SAMPLES / name)


@pytest.mark.parametrize("name", ["mdtest-3.3.0.txt", "perf_script-6.1.187.txt"])
@pytest.mark.parametrize("repeats", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_a_pipe_is_read_whole(tmp_path, name, repeats, monkeypatch):
    text = (SAMPLES / name).read_bytes()
    text = text * repeats if "script" in name else b"\n" * (repeats << 11) + text
    (tmp_path / "out").write_bytes(text)
    expected = parse_file(tmp_path / "out")
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(text,))
    writer.start()
    assert parse_file(tmp_path / "pipe") == expected
    writer.join()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert parse_file(Path("-")) == expected


@pytest.mark.parametrize("device", ["/dev/full", "/dev/zero"])
def test_a_device_that_never_ends_is_not_read(device):
    with pytest.raises(BadInput, match="this is a device: save the tool's output"):
        parse_file(Path(device))


def test_a_pipe_that_never_ends_is_left(monkeypatch):
    monkeypatch.setattr(registry, "MOST_BYTES", 1 << 22)
    with Path("/dev/zero").open("rb") as endless:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(endless))
        with pytest.raises(BadInput, match="this is larger than 0 GiB"):
            parse_file(Path("-"))


def test_a_text_larger_than_any_report_is_refused(monkeypatch):
    monkeypatch.setattr(registry, "MOST_TEXT_BYTES", len(MDTEST) - 1)
    with pytest.raises(BadInput, match="give a report, not raw samples"):
        parse_file(SAMPLES / "mdtest-3.3.0.txt")
