# SPDX-License-Identifier: MIT
"""Which arms are cut, and what is said and kept of each. No guest: PowerCuts.run is replaced."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from lockscale import paths
from lockscale.cli import main
from lockscale.errors import BadInput, RunFailed
from lockscale.kernels.series import Series, all_series, chosen_series, safe_of
from lockscale.prove.powercut import campaign
from lockscale.prove.powercut.campaign import CheckedCut, CutOutcome, PowerCuts
from lockscale.prove.powercut.cuts import Cut, Disk
from lockscale.prove.powercut.load import Plan


@pytest.fixture
def cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the arms that are loaded; steal-retry's guest fails, fast-search loses a file."""
    loaded: list[str] = []

    def run(self: PowerCuts, shown: object, done: float) -> CutOutcome:
        loaded.append(self.name)
        study, arm = self.name.split("/")
        if arm == "steal-retry":
            raise RunFailed("the guest panicked")
        faults = ("cut 3: file 0/1: lost",) if arm == "fast-search" else ()
        return CutOutcome(study, arm, self.plan.cuts, 4, 9, 70, 80, faults)

    monkeypatch.setattr(PowerCuts, "run", run)
    monkeypatch.setattr(campaign, "build", lambda series: SimpleNamespace(build_id=series.sha256))
    monkeypatch.setattr(campaign, "refuse_bad_surroundings", lambda **_: None)
    monkeypatch.setattr(paths, "RUNS", tmp_path)
    return loaded


def command(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["patches", "powercut", *argv])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def test_unsafe_arms_are_left_out_and_the_broken_one_is_in_no_list() -> None:
    safe = {series.name for series in safe_of(chosen_series(None))}
    unsafe = {series.name for series in all_series() if series.unsafe}
    assert "orphan-file/orphan-off" in unsafe and not safe & unsafe
    assert safe | unsafe == {series.name for series in all_series()}
    assert not any("flush" in name for name in safe | unsafe)
    with pytest.raises(BadInput, match="orphan-off is unsafe"):
        safe_of(chosen_series("orphan-file/orphan-off"))


def test_json_and_the_kept_file_say_the_same(
    cut: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, out, err = command(capsys, "orphan-file", "--cuts", "7", "--json")
    (kept,) = tmp_path.glob("powercut-*/powercut.json")
    found = json.loads(out)
    assert status == 0 and found == json.loads(kept.read_text())
    assert [one["arm"] for one in found] == ["orphan-locked", "orphan-lockless", "orphan-mutex"]
    assert all(one["cuts"] == 7 and one["ok"] and one["origin"] == "qemu" for one in found)
    assert "orphan-file/orphan-off is left out: unsafe" in err


def test_one_arm_that_fails_does_not_keep_the_others_from_being_cut(
    cut: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = command(capsys, "inode-claim")
    lines = dict(line[4:].split(": ", 1) for line in out.splitlines())
    assert status == 1 and len(cut) == 2
    assert "first: the guest panicked" in lines["inode-claim/steal-retry"]
    assert "20 power cuts, 4 journals replayed" in lines["inode-claim/search-locked"]


@pytest.mark.parametrize(
    "error", [BadInput("hunk 2 does not apply"), RunFailed("make: *** [fs/ext4] Error 2")]
)
def test_nor_does_one_that_does_not_build(
    cut: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    built = campaign.build

    def build(series: Series) -> SimpleNamespace:
        if series.arm == "orphan-lockless":
            raise error
        return built(series)

    monkeypatch.setattr(campaign, "build", build)
    status, out, _ = command(capsys, "orphan-file")
    assert status == 1 and cut == ["orphan-file/orphan-locked", "orphan-file/orphan-mutex"]
    assert f"NO  orphan-file/orphan-lockless: 0 power cuts, 1 fault(s), first: {error}" in out.splitlines()


def test_arms_on_another_file_system_are_left_out_and_end_no_campaign(
    cut: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """xfs-create comes last: mkfs.ext4 refused its options when all others had been cut for hours."""
    status, out, err = command(capsys)
    assert status == 1 and "xfs-create" not in out and not [name for name in cut if "xfs" in name]
    assert "xfs-create/four-groups is left out: it is on another file system than ext4" in err
    assert "write-access/timed-backoff" in out
    cut.clear()
    status, _, err = command(capsys, "xfs-create")
    assert (status, cut) == (2, []) and "name another arm" in err


def test_a_lost_file_is_exit_1(cut: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = command(capsys, "write-access/fast-search")
    assert status == 1 and out.startswith("NO  write-access/fast-search: 20 power cuts, 1 fault(s)")


def test_an_arm_that_is_another_one_is_not_loaded_again(
    cut: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "build", lambda series: SimpleNamespace(build_id="one"))
    _, out, _ = command(capsys, "orphan-file")
    assert "ok  orphan-file/orphan-lockless: same as orphan-file/orphan-locked" in out.splitlines()
    assert cut == ["orphan-file/orphan-locked", "orphan-file/orphan-mutex"], "mutex has another mkfs"


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PowerCuts:
    """Three cuts whose disks are in one guest: the second has a fault, and the third is not reached."""

    @contextmanager
    def guest(*_: object) -> Iterator[None]:
        yield None

    def check_cut(_machine: None, _device: str, _mount: object, _log: object, cut: Cut) -> CheckedCut:
        if cut.seed == 3:
            raise RunFailed("the guest panicked")
        return CheckedCut(cut, 1, 1, True, ("file 0/1: lost",) if cut.seed == 2 else ())

    monkeypatch.setattr(PowerCuts, "_guest", guest)
    monkeypatch.setattr(campaign, "assert_runs", lambda *_: None)
    monkeypatch.setattr(campaign, "check_cut", check_cut)
    monkeypatch.setattr(campaign, "disks", lambda _, cuts: ((cut, Disk({0: b"x" * 4096})) for cut in cuts))
    options = SimpleNamespace(mount=[])
    return PowerCuts("s/arm", None, options, None, Plan(4), tmp_path)  # type: ignore[arg-type]


def cuts_of(*seeds: int) -> list[Cut]:
    return [Cut(10 * seed, "nothing", seed) for seed in seeds]


def images(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.img"))


def test_the_disk_of_a_cut_with_faults_is_kept_and_those_of_the_others_are_not(batch: PowerCuts) -> None:
    found = list(batch._check(None, cuts_of(1, 2, 4)))  # type: ignore[arg-type]
    assert [one.cut.seed for one in found if one.faults] == [2]
    assert images(batch.folder) == ["s-arm-cut-2.img"]


def test_a_guest_that_fails_leaves_the_disk_on_which_it_failed_and_names_it(batch: PowerCuts) -> None:
    with pytest.raises(RunFailed) as failed:
        list(batch._check(None, cuts_of(1, 3, 4, 5)))  # type: ignore[arg-type]
    assert str(failed.value) == (
        "cut 3 (before log entry 30, nothing of the cache kept), whose disk image is kept as "
        f"{batch.folder.name}/s-arm-cut-3.img: the guest panicked"
    )
    assert images(batch.folder) == ["s-arm-cut-3.img"]


def test_a_guest_that_does_not_boot_and_somebody_who_interrupts_leave_no_disks(
    batch: PowerCuts, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (RunFailed("the guest did not boot"), KeyboardInterrupt()):

        def asserts(*_: object, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr(campaign, "assert_runs", asserts)
        with pytest.raises(type(error)):
            list(batch._check(None, cuts_of(1, 2, 3)))  # type: ignore[arg-type]
        assert images(batch.folder) == []


def test_what_is_kept_of_a_cut_is_told() -> None:
    found = CutOutcome("s", "arm", 4, faults=("cut 2: lost",), images=("powercut-1/s-arm-cut-2.img",))
    assert campaign.as_text([found]) == (
        "NO  s/arm: 4 power cuts, 1 fault(s), first: cut 2: lost; "
        "1 disk image(s) kept in runs, first: powercut-1/s-arm-cut-2.img"
    )
