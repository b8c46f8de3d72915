# SPDX-License-Identifier: MIT
"""A debug kernel's silence counts only if somebody listened."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput, FullDisk, RunFailed
from lockscale.kernels.series import Series
from lockscale.machines.machine import Completed, Machine, Step, Write
from lockscale.prove import soak as soak_module
from lockscale.prove.soak import DEBUG, KCSAN, Beside, Soaked, _said, as_text, new_races, soak_all
from lockscale.prove.soak_load import Rounds, read_rounds, rounds_command
from lockscale.study.file import Target, load_target, load_whole_study

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
    with pytest.raises(RunFailed, match=r"debug kernel of s/arm does not print 'Kernel.*nothing was checked"):
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
    assert new_races(arm, [raced(("a", "b")), raced(("e",))]) == (("c", "d"),)
    assert new_races(arm, []) == (("a", "b"), ("c", "d"))


@pytest.mark.slow
def test_the_load_is_repeated_until_its_time_is_over(tmp_path: Path):
    mark = tmp_path / "marks"
    load = ["sh", "-c", f"echo x >> {mark}; sleep 0.02"]
    argv = [*rounds_command(2, str(tmp_path), freezes=False), *load]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert read_rounds(done.stdout) == Rounds(len(mark.read_text().split()), 0, 0)
    assert read_rounds(done.stdout).loads >= 3


def test_a_load_that_fails_ends_the_soak(tmp_path: Path):
    argv = [*rounds_command(30, str(tmp_path), freezes=False), "false"]
    assert subprocess.run(argv, capture_output=True, check=False).returncode == 1


def freezer(folder: Path, script: str) -> dict[str, str]:
    """PATH with a fsfreeze of our own before the real one, which would need a file system to freeze."""
    (tool := folder / "fsfreeze").write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.slow
def test_each_freeze_is_thawed_before_the_soak_ends_and_fsyncs_go_on_meanwhile(tmp_path: Path):
    tools, mounted = tmp_path / "tools", tmp_path / "mounted"
    tools.mkdir(), mounted.mkdir()
    argv = [*rounds_command(2, str(mounted), freezes=True), "sleep", "0.3"]
    environment = freezer(tools, f'echo "$@" >> {tmp_path}/asked')
    (tools / "sleep").write_text("#!/bin/sh\nexec /bin/sleep 0.02\n")  # many rounds, on a busy machine too
    (tools / "sleep").chmod(0o755)
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=environment)
    rounds = read_rounds(done.stdout)
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == rounds.freezes * [f"--freeze {mounted}", f"--unfreeze {mounted}"]
    assert min(rounds.loads, rounds.freezes, rounds.fsyncs) >= 2
    assert list(mounted.iterdir()) == []  # as the load found it


def test_a_file_system_that_cannot_be_frozen_ends_the_soak(tmp_path: Path):
    """At once, and not when the time of the load is over."""
    argv = [*rounds_command(600, str(tmp_path), freezes=True), "sleep", "0.1"]
    environment = freezer(tmp_path, "exit 1")
    done = subprocess.run(argv, capture_output=True, check=False, env=environment, timeout=60)
    assert done.returncode == 1


def test_a_load_that_fails_ends_the_freezes_and_the_fsyncs_too(tmp_path: Path):
    argv = [*rounds_command(600, str(tmp_path), freezes=True), "false"]
    done = subprocess.run(argv, capture_output=True, check=False, env=freezer(tmp_path, "true"), timeout=60)
    assert done.returncode == 1


def test_options_of_mkfs_are_added_to_those_of_each_arm_and_bad_ones_refused():
    study = Beside(mkfs=("-O", "fast_commit")).study("handle-start")
    for arm in study.arms:
        assert " ".join(study.options_of(arm.name).mkfs).endswith("-O fast_commit")
    with pytest.raises(BadInput, match=r"--mkfs, for the ext4 of handle-start: .* beyond the disk"):
        Beside(mkfs=("-J", "device=/dev/sda")).study("handle-start")


def test_options_that_mkfs_itself_does_not_take_are_named_before_the_study():
    beside = Beside(mkfs=("-O", "no_such_feature"))
    said = r"with --mkfs -O no_such_feature, handle-start\.yaml: arm .*: mkfs\.ext4 does not take"
    with pytest.raises(BadInput, match=said):
        beside.refuse_by_mkfs(beside.study("handle-start"), 512)


def test_each_line_says_with_which_options_of_mkfs():
    mkfs = ("-O", "fast_commit")
    good = Soaked("s", "arm", DEBUG, 120, 40, (), (), freezes=50, fsyncs=900, mkfs=mkfs)
    bad = Soaked("s", "arm", DEBUG, 0, 0, (), (), failure="no kernel", mkfs=mkfs)
    assert as_text([good, bad]).splitlines() == [
        "ok  s/arm debug -O fast_commit: 40 loads in 120 s of guest time, 50 freezes and 900 fsyncs "
        "meanwhile, silent",
        "NO  s/arm debug -O fast_commit: no kernel",
    ]


BASE, ARM, OTHER, UNSAFE = (
    Series("s", "base", Path(), ()),
    Series("s", "arm", Path(), (Path("1.patch"),)),
    Series("s", "other", Path(), (Path("2.patch"),)),
    Series("s", "floor", Path(), (Path("3.patch"),), unsafe="it loses orphans"),
)
RACES = {"base": (("a",),), "arm": (("a",), ("b", "c")), "other": (("a",),)}


@pytest.fixture
def guests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Exception]:
    """Soaks that need no guest; an arm that the dictionary names fails with its error."""
    failing: dict[str, Exception] = {}

    def soaked(series: Series, kind: str, target: Target, guest_seconds: int, beside: Beside) -> Soaked:
        if series.arm in failing:
            raise failing[series.arm]
        races = RACES[series.arm] if kind == KCSAN else ()
        return Soaked(series.study, series.arm, kind, guest_seconds, 7, (), races)

    monkeypatch.setattr(paths, "RUNS", tmp_path)
    monkeypatch.setattr(soak_module, "soak", soaked)
    monkeypatch.setattr(soak_module, "all_series", lambda: [BASE, ARM, OTHER, UNSAFE])
    monkeypatch.setattr(soak_module, "refuse_bad_surroundings", lambda **_: None)
    return failing


def soaks(kind: str, *chosen: Series) -> dict[str, Soaked]:
    return {one.arm: one for one in soak_all(chosen, kind, load_target("qemu"), 120)}


@pytest.mark.parametrize("error", [RunFailed("the guest hung"), BadInput("1.patch does not apply")])
def test_an_arm_that_fails_is_red_and_loses_no_other(
    guests: dict[str, Exception], tmp_path: Path, error: Exception
):
    guests["arm"] = error
    found = soaks(DEBUG, BASE, ARM, OTHER)
    assert {arm: one.ok for arm, one in found.items()} == {"base": True, "arm": False, "other": True}
    assert f"NO  s/arm debug: {error}" in as_text(list(found.values()))
    (kept,) = tmp_path.glob("soak-*/soak.json")
    assert [(one["arm"], one["ok"]) for one in json.loads(kept.read_text())] == [
        ("base", True),
        ("arm", False),
        ("other", True),
    ]


def test_an_arm_that_fails_keeps_its_options_of_mkfs(
    guests: dict[str, Exception], monkeypatch: pytest.MonkeyPatch
):
    guests["arm"] = RunFailed("panic")
    monkeypatch.setattr(Beside, "study", lambda self, name: load_whole_study("handle-start"))
    beside = Beside(mkfs=("-O", "fast_commit"))
    (found,) = soak_all([ARM], DEBUG, load_target("qemu"), 120, beside)
    assert (found.failure, found.mkfs) == ("panic", beside.mkfs)


@pytest.mark.parametrize("error", [MemoryError(), FullDisk("a full disk is no arm's fault")])
def test_what_was_soaked_is_kept_when_the_command_is_cut_off(
    guests: dict[str, Exception], tmp_path: Path, error: Exception
):
    guests["other"] = error
    with pytest.raises(type(error)):
        soaks(DEBUG, BASE, ARM, OTHER)
    (kept,) = tmp_path.glob("soak-*/soak.json")
    assert [one["arm"] for one in json.loads(kept.read_text())] == ["base", "arm"]


@pytest.mark.usefixtures("guests")
def test_a_race_of_the_base_is_silence_and_a_new_one_is_not():
    found = soaks(KCSAN, ARM, OTHER)
    assert {arm: one.ok for arm, one in found.items()} == {"base": True, "arm": False, "other": True}
    assert found["arm"].new_races == (("b", "c"),)
    assert "1 that the base did not show, first: b / c" in as_text([found["arm"]])


def test_a_race_that_the_base_shows_later_is_the_bases(
    guests: dict[str, Exception], monkeypatch: pytest.MonkeyPatch
):
    rare = iter([(("a",),), (("a",), ("b", "c"))])

    def soaked(series: Series, kind: str, target: Target, guest_seconds: int, beside: Beside) -> Soaked:
        races = next(rare) if series == BASE else RACES[series.arm]
        return Soaked(series.study, series.arm, kind, guest_seconds, 7, (), races)

    monkeypatch.setattr(soak_module, "soak", soaked)
    found = soak_all([ARM, OTHER], KCSAN, load_target("qemu"), 120)
    assert [(one.arm, one.again) for one in found] == [
        ("base", False),
        ("arm", False),
        ("base", True),  # once was enough: a third load of the base would raise StopIteration
        ("other", False),
    ]
    assert all(one.ok for one in found)


@pytest.mark.usefixtures("guests")
def test_the_base_is_loaded_only_so_often():
    found = soak_all([ARM], KCSAN, load_target("qemu"), 120)
    assert [one.arm for one in found] == ["base", "arm"] + soak_module.BASE_AGAIN * ["base"]


def test_where_every_arm_has_patches_the_unpatched_one_is_the_base(
    guests: dict[str, Exception], monkeypatch: pytest.MonkeyPatch
):
    """As of goal-fold, of whose arms all are on top of a patch: without a base any race was silence."""
    study = load_whole_study("goal-fold")
    patched = [Series(study.name, arm.name, Path(), (Path("1.patch"),)) for arm in study.arms]
    found_in = dict.fromkeys(study.arm_names, (("a",),)) | {study.patched.name: (("b", "c"),)}

    def soaked(series: Series, kind: str, target: Target, guest_seconds: int, beside: Beside) -> Soaked:
        return Soaked(series.study, series.arm, kind, guest_seconds, 7, (), found_in[series.arm])

    monkeypatch.setattr(soak_module, "all_series", lambda: [*patched, ARM])
    monkeypatch.setattr(soak_module, "soak", soaked)
    found = soaks(KCSAN, patched[1], patched[2])
    assert list(found)[:2] == [study.unpatched.name, study.patched.name]
    assert {arm: one.ok for arm, one in found.items()} == {
        study.unpatched.name: True, study.patched.name: False, study.arm_names[2]: True
    }  # fmt: skip
    assert found[study.patched.name].new_races == (("b", "c"),)


def test_without_its_base_no_race_is_called_new(guests: dict[str, Exception]):
    guests["base"] = RunFailed("the guest hung")
    found = soaks(KCSAN, ARM)
    assert found["arm"].new_races == () and not found["arm"].ok
    assert "not loaded: there are no races of the base" in found["arm"].failure


@pytest.mark.usefixtures("guests")
def test_only_unsafe_arms_prove_nothing(tmp_path: Path):
    with pytest.raises(BadInput, match=r"s/floor is unsafe \(it loses orphans\).*name a safe arm"):
        soaks(DEBUG, UNSAFE)
    assert list(soaks(DEBUG, ARM, UNSAFE)) == ["arm"]
