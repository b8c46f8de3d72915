# SPDX-License-Identifier: MIT
"""Real programs are asked: what hangs, prints without end or is badly named does no harm."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from answers import Answers, found
from lockscale.machines.machine import Completed
from lockscale.tools.registry import TARGET_TOOLS


class ThisMachine(Answers):
    """Runs what it is asked."""

    def __init__(self):
        self.asked = []

    def answer(self, argv):
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
        return Completed(argv, done.returncode, done.stdout, done.stderr)


@pytest.fixture
def bin_folder(tmp_path, monkeypatch):
    """An empty folder before all others on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def install(folder, name, script):
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def one_of(name):
    return next(tool for tool in TARGET_TOOLS if tool.name == name)


def test_a_tool_of_this_machine_is_found_where_the_shell_finds_it():
    tools = [one_of("strace"), one_of("fio"), one_of("mpirun"), one_of("perf")]
    for name, one in found(ThisMachine(), tools).items():
        assert one.path == shutil.which(name)
        assert one.path is None or one.version


def test_a_tool_that_prints_without_end_is_cut_off(bin_folder):
    install(bin_folder, "fio", "yes fio-3.99")
    one = found(ThisMachine(), [replace(one_of("fio"), parts=())])["fio"]
    assert (one.path, one.version) == (str(bin_folder / "fio"), "3.99")


def test_a_tool_that_hangs_or_asks_does_not_hold_up_the_others(bin_folder, monkeypatch):
    monkeypatch.setattr("lockscale.doctor._ANSWER", 'timeout 1 "$@" </dev/null 2>/dev/null | head -c 4096')
    install(bin_folder, "strace", "exec sleep 600")
    install(bin_folder, "fio", "read answer; echo fio-3.40")
    listed = found(ThisMachine(), [one_of("strace"), replace(one_of("fio"), parts=())])
    assert (listed["strace"].path, listed["strace"].version) == (str(bin_folder / "strace"), None)
    assert listed["fio"].version == "3.40"


def test_a_tool_that_is_tried_leaves_nothing_behind(bin_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("d", str(bin_folder))
    assert found(ThisMachine(), [one_of("mdtest")])["mdtest"].path == shutil.which("mdtest")
    install(bin_folder, "mdtest", "")
    banner = "mdtest-4.0.0 was launched with 1 total task(s) on 1 node(s)"
    install(bin_folder, "mpirun", f"touch a b; pwd >{tmp_path}/where; echo '{banner}'")
    assert found(ThisMachine(), [one_of("mdtest")])["mdtest"].version == "4.0.0"
    assert Path((tmp_path / "where").read_text().strip()).parent == tmp_path
    assert {path.name for path in tmp_path.iterdir()} == {"bin", "where"} and bin_folder.exists()


def test_what_the_user_says_is_passed_on_as_it_is(tmp_path):
    folder = tmp_path / "$(touch ruined); it's 'mine'"
    folder.mkdir()
    install(folder, "fallocate2_processes", "")
    told = {"WILL_IT_SCALE": str(folder), "XFSTESTS": "$(touch ruined)", "SECRET": "x"}
    machine = ThisMachine()
    listed = found(machine, [one_of("will-it-scale"), one_of("xfstests")], told)
    assert listed["will-it-scale"].path == str(folder)
    assert listed["xfstests"].path != "$(touch ruined)"
    assert not Path("ruined").exists()
    assert "SECRET" not in str(machine.asked)
