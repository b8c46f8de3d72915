# SPDX-License-Identifier: MIT
"""xfstests on the base and on an arm, in pieces: nothing done is done again, and a hang has a name."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from xfstests_output import KERNEL, printed

from lockscale import paths
from lockscale.cli import main
from lockscale.errors import BadInput, BootHung, Interrupted, RunFailed
from lockscale.kernels.series import read_series
from lockscale.prove import xfstests as module
from lockscale.prove.kept_rows import read_rows
from lockscale.prove.xfstests import Outcome, compare_with_base
from lockscale.study.file import load_target
from lockscale.tools.xfstests import Intermittent, TestResult

SERIES = read_series("inode-claim", "steal-retry")
TESTS = [f"generic/{n:03}" for n in range(1, 21)]


class Kernels:
    """Two kernels with a check of their own: `fails` says how often a test fails on the arm yet.

    `hangs`: tests that hang the arm's guest. `lacking`: for which something is not built.
    `at`: the check that is broken off.
    """

    def __init__(self) -> None:
        self.checks: list[tuple[str, list[str]]] = []
        self.fails: dict[str, int] = {}
        self.hangs: set[str] = set()
        self.lacking: set[str] = set()
        self.at = 0
        self.base_never_ends = False
        self.boots_that_hang = 0
        self.printed: list[str] = []
        self.told: threading.Event | None = None

    @contextmanager
    def guest(self, pair: Any, kernel: Any) -> Iterator[tuple["Booted", str]]:
        booted = Booted(self, kernel.series.partition("/")[2])
        if self.boots_that_hang and self.checks:  # not the first one, which lists the tests
            self.boots_that_hang -= 1
            raise BootHung("the guest did not boot within 120 s; the console's last lines: nothing")
        pair.guests.append(booted)
        try:
            yield booted, "/opt/xfstests"
        finally:
            pair.guests.remove(booted)

    def run(self, kernel: str, argv: list[str]) -> SimpleNamespace:
        if "VERSION" in argv[2]:
            return completed("v2025\n")
        if "-n" in argv:
            return completed("FSTYP -- ext4\n\n" + "".join(f"{test}\n" for test in TESTS))
        tests = [word for word in argv if word in TESTS]
        self.checks.append((kernel, tests))
        if len(self.checks) == self.at:
            raise KeyboardInterrupt
        if kernel != "base" and self.hangs & set(tests):
            raise RunFailed("the guest hangs: `check` did not end; the console's last lines: nothing")
        return completed(printed([self.result(kernel, test) for test in tests]))

    def result(self, kernel: str, test: str) -> TestResult:
        if test in self.lacking:
            return TestResult(test, "notrun", "/opt/xfstests/src/file_attr not built")
        if kernel == "base" or not self.fails.get(test):
            return TestResult(test, "pass")
        self.fails[test] -= 1
        return TestResult(test, "fail", "- output mismatch")


@dataclass
class Booted:
    """A guest with one of the two kernels."""

    kernels: Kernels
    kernel: str
    killed: threading.Event = field(default_factory=threading.Event)

    def run(self, argv: list[str], **_: Any) -> SimpleNamespace:
        if self.kernels.base_never_ends and self.kernel == "base" and TESTS[0] in argv:
            assert self.killed.wait(timeout=20)
            raise RunFailed("the guest ended before its command did")
        if self.kernels.told and "-n" not in argv and "VERSION" not in argv[2]:
            assert self.kernels.told.wait(timeout=20)
        return self.kernels.run(self.kernel, argv)

    def so_far(self) -> str:
        return "".join(f"{test}  1s ... 2s\n" for test in self.kernels.printed)

    def abandon(self) -> None:
        self.killed.set()


def completed(text: str) -> SimpleNamespace:
    return SimpleNamespace(stdout=text, status=0, check=lambda: None)


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Kernels:
    found = Kernels()
    monkeypatch.setattr(
        module, "build", lambda s: SimpleNamespace(series=s.name, build_id=s.arm, release=KERNEL)
    )
    monkeypatch.setattr(module.Pair, "_guest", lambda pair, kernel: found.guest(pair, kernel))
    return found


def compared(folder: Path, **chosen: Any) -> Any:
    return compare_with_base(SERIES, load_target("qemu"), folder, **chosen)


def test_what_failed_on_a_full_disk_is_not_kept(
    kernels: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Of the arm it would be a failure that the base does not have."""

    def full(*_: object) -> None:
        raise BadInput("the guest's scratch disk needs 16 MiB")

    kernels.fails = {TESTS[0]: 3}
    monkeypatch.setattr(module, "need_free_space", full)
    with pytest.raises(BadInput, match="scratch disk needs"):
        compared(tmp_path)
    assert not (tmp_path / "results.csv").exists()


def test_both_kernels_run_each_piece_side_by_side_so_that_half_a_run_compares_half_the_tests(
    kernels: Kernels, tmp_path: Path
):
    found = compared(tmp_path)
    assert found.ok and found.in_both == len(TESTS)
    for checks, piece in ((kernels.checks[:2], TESTS[:15]), (kernels.checks[2:], TESTS[15:])):
        assert sorted(checks) == [("base", piece), ("steal-retry", piece)]
    assert {row.origin for row in read_rows(tmp_path / "results.csv", Outcome)} == {"qemu"}


def test_a_reason_that_is_kept_names_no_folder_of_this_machine(kernels: Kernels, tmp_path: Path):
    kernels.lacking = {TESTS[1]}
    assert compared(tmp_path, tests=TESTS[:2]).ok
    kept = [row for row in read_rows(tmp_path / "results.csv", Outcome) if row.status == "notrun"]
    assert [row.reason for row in kept] == ["src/file_attr not built"] * 2


def test_while_a_piece_runs_its_progress_is_what_both_guests_have_printed(
    kernels: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    kernels.printed, kernels.told = TESTS[:4], threading.Event()
    shown: list[tuple[float, str]] = []

    def update(done: float, note: str = "") -> None:
        shown.append((done, note))
        if note.startswith("now "):
            kernels.told.set()

    bar = SimpleNamespace(update=update)
    monkeypatch.setattr(module, "progress", lambda *_: nullcontext(bar))
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.05)
    assert compared(tmp_path).in_both == len(TESTS)
    assert (6, "now generic/004") in shown, "three tests of each have ended"
    assert shown[-1] == (40, "")


def test_a_run_that_was_broken_off_goes_on_where_it_was(kernels: Kernels, tmp_path: Path):
    kernels.at = 3
    with pytest.raises(
        Interrupted, match=f"interrupted: the same command with --resume {tmp_path.name} does"
    ):
        compared(tmp_path)
    kept = len(read_rows(tmp_path / "results.csv", Outcome))
    assert kept in (30, 35), "the second piece of the other kernel may have ended before"
    before = len(kernels.checks)
    assert compared(tmp_path).in_both == 20
    assert sum(len(tests) for _, tests in kernels.checks[before:]) == 40 - kept


def test_somebody_who_interrupts_one_kernel_need_not_wait_for_the_tests_of_the_other(
    kernels: Kernels, tmp_path: Path
):
    kernels.at, kernels.base_never_ends = 1, True
    with pytest.raises(RunFailed, match="interrupted"):
        compared(tmp_path)
    assert len(kernels.checks) == 1, "no guest boots for what the killed one left"


def test_a_test_that_fails_on_the_arm_each_time_is_told_and_so_is_one_that_fails_there_at_times(
    kernels: Kernels, tmp_path: Path
):
    kernels.fails = {"generic/003": 3, "generic/007": 1, "generic/009": 2}
    found = compared(tmp_path)
    assert [one.test for one in found.failures] == ["generic/003"] and not found.ok
    assert found.intermittent == (Intermittent("generic/007", 1, 3), Intermittent("generic/009", 2, 3))
    again = [tests for _, tests in kernels.checks[4:]]
    assert again == [["generic/003", "generic/007", "generic/009"]] * 4
    assert "--test): generic/007 (1 of 3), generic/009 (2 of 3)" in found.detail and not found.unsteady


def test_a_command_ends_with_1_when_a_test_fails_on_the_arm_alone_be_it_once(
    kernels: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(paths, "RUNS", tmp_path)
    for fails, status in (({"generic/007": 1}, 1), ({}, 0)):
        kernels.fails = dict(fails)
        with pytest.raises(SystemExit) as ended:
            main(["patches", "xfstests", "inode-claim/steal-retry", "--json"])
        said = json.loads(capsys.readouterr().out)
        assert (ended.value.code or 0, said["ok"]) == (status, not status)
        assert [one["test"] for one in said["intermittent"]] == list(fails)


def test_a_guest_that_hangs_before_any_test_began_is_booted_once_more_and_no_third_time(
    kernels: Kernels, tmp_path: Path
):
    kernels.boots_that_hang = 1
    assert compared(tmp_path / "once").in_both == len(TESTS)
    kernels.checks.clear()
    kernels.boots_that_hang = 9
    with pytest.raises(RunFailed, match="did not boot within 120 s"):
        compared(tmp_path / "again")


def test_a_test_that_hangs_the_guest_fails_and_the_others_of_its_boot_count(kernels: Kernels, tmp_path: Path):
    kernels.hangs = {"generic/002"}
    found = compared(tmp_path, tests=TESTS[:3])
    assert [(one.test, one.reason) for one in found.failures] == [
        ("generic/002", "the guest hangs: `check` did not end")
    ]
    assert found.in_both == 3


def test_another_build_of_the_arm_runs_anew(
    kernels: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    compared(tmp_path)
    monkeypatch.setattr(
        module, "build", lambda s: SimpleNamespace(series=s.name, build_id="b" + s.arm, release=KERNEL)
    )
    compared(tmp_path)
    assert len(kernels.checks) == 8


def test_an_output_of_another_kernel_is_no_result(
    kernels: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        module, "build", lambda s: SimpleNamespace(series=s.name, build_id=s.arm, release="6.1")
    )
    with pytest.raises(RunFailed, match=f"ran on {KERNEL}, not on 6.1"):
        compared(tmp_path)


def test_a_status_that_nobody_gives_is_one_sentence(kernels: Kernels, tmp_path: Path):
    compared(tmp_path)
    path = tmp_path / "results.csv"
    path.write_text(path.read_text().replace(",pass,", ",fine,", 1))
    with pytest.raises(BadInput, match=r"results\.csv.*'fine' is no status of a test, which is one of pass"):
        compared(tmp_path)
