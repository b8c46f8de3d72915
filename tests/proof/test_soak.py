# SPDX-License-Identifier: MIT
"""A debug kernel's silence counts only if somebody listened."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lockscale.errors import RunFailed
from lockscale.kernels.series import Series
from lockscale.proof import soak as soak_module
from lockscale.proof.soak import KCSAN, Soaked, _said, new_races
from lockscale.targets.machine import Completed, Machine, Step, Write

SERIES = Series("s", "arm", Path(), ())
KASAN_SAYS = "[    0.004000] kasan: KernelAddressSanitizer initialized\n"
SPLAT = "[   10.000000] WARNING: possible circular locking dependency detected\n"


@dataclass
class Told:
    """The two answers of a machine that are asked for once the load has ended."""

    log: str
    lockdep_on: bool = True
    emulated: bool = True
    asked: list[Sequence[str]] = field(default_factory=list)

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
        self.asked.append(argv)
        status = 0 if argv[0] == "dmesg" or self.lockdep_on else 1
        return Completed(tuple(argv), status, self.log if argv[0] == "dmesg" else "", "")

    def run_all(self, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
        return [self.run(step, timeout_s=timeout_s) for step in steps if not isinstance(step, Write)]


def said(machine: Machine, kind: str = "debug") -> Soaked:
    return _said(machine, SERIES, kind, 120, 7)


def test_a_quiet_kernel_with_its_watchers_awake_is_silent():
    assert said(Told(KASAN_SAYS)).reports == ()


def test_a_kernel_without_kasan_proves_nothing():
    with pytest.raises(RunFailed, match=r"debug kernel of s/arm does not say 'Kernel.*nobody watched"):
        said(Told("[    0.000000] Linux version 6.12\n"))


def test_lockdep_that_turned_itself_off_in_silence_proves_nothing():
    with pytest.raises(RunFailed, match="lockdep turned itself off in s/arm"):
        said(Told(KASAN_SAYS, lockdep_on=False))


def test_lockdep_is_off_after_a_report_which_is_told():
    found = said(Told(KASAN_SAYS + SPLAT, lockdep_on=False))
    assert found.reports == ("WARNING: possible circular locking dependency detected",)


def test_races_of_the_base_are_not_the_arms():
    def raced(*races: tuple[str, ...]) -> Soaked:
        return Soaked("s", "arm", KCSAN, 120, 7, (), races)

    arm = raced(("a", "b"), ("c", "d"))
    assert new_races(arm, [raced(("a", "b")), raced(("e",))]) == [("c", "d")]
    assert new_races(arm, []) == [("a", "b"), ("c", "d")]


def test_the_load_is_repeated_until_its_time_is_over(tmp_path: Path):
    mark = tmp_path / "marks"
    load = ["sh", "-c", f"echo x >> {mark}; sleep 0.2"]
    argv = ["sh", "-c", soak_module.FOR_A_WHILE, "sh", "2", *load]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(mark.read_text().split()) >= 3


def test_a_load_that_fails_ends_the_soak():
    argv = ["sh", "-c", soak_module.FOR_A_WHILE, "sh", "30", "false"]
    assert subprocess.run(argv, capture_output=True, check=False).returncode == 1
