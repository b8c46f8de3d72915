# SPDX-License-Identifier: MIT
"""`patches check` as its user meets it: what one bad arm costs the others, and what ends the whole check.

No kernel and no guest: what builds and boots is replaced.
"""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from lockscale import paths
from lockscale.cli import main
from lockscale.errors import BadInput, FullDisk, Interrupted, RunFailed
from lockscale.kernels.series import Series, read_series
from lockscale.kernels.source import VARIABLE
from lockscale.machines.machine import Completed, Machine, Step
from lockscale.measure.target import hold_this_machine
from lockscale.prove import check as check_module
from lockscale.prove.campaign import Counted
from lockscale.prove.check import CheckedArm, check
from lockscale.prove.kept_rows import read_rows, write_rows
from lockscale.prove.series_checks import CheckResult
from lockscale.study.file import Study, load_target
from small_study import write_study

PROPOSED = {"name": "ours", "role": "proposed"}
COUNTER = {
    "name": "retries",
    "count": ["trace:ext4_inode_bit_retry"],
    "per": ["trace:ext4_allocate_inode"],
    "unit": "per create",
    "expect": ["unpatched > patched", "ours = 0"],
}
RETRIES = {"unpatched": 9, "patched": 2, "ours": 0, "bare": 0}


class Bench:
    """Studies s and t with the same arms; (step, arm) -> the error that this step ends with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.errors: dict[tuple[str, str], Exception] = {}
        self.counted: list[tuple[str, tuple[str, ...]]] = []
        for study in ("s", "t"):
            for arm in ("unpatched", "patched", "ours"):
                self.add(study, arm)
            write_study(PROPOSED, name=study, counters=[COUNTER])

    def add(self, study: str, arm: str) -> None:
        (self.folder / study / arm).mkdir(parents=True)
        (self.folder / study / arm / "series").touch()

    def end(self, step: str, name: str) -> None:
        if (step, name) in self.errors:
            raise self.errors[step, name]

    def applies(self, series: Series) -> CheckResult:
        self.end("applies", series.name)
        return CheckResult(True, "applies")

    def boots(self, series: Series, _target: object) -> str:
        self.end("boots", series.name)
        return "booted"

    def campaign(
        self, study: Study, arms: Sequence[str], _target: object, iterations: int, _folder: Path
    ) -> list[Counted]:
        self.counted.append((study.name, tuple(arms)))
        self.end("campaign", study.name)
        return [
            Counted(study.name, arm, "", n, 8, 4, f"trace:{source}", value, "b1d")
            for arm in arms
            for n in range(iterations)
            for source, value in (
                ("ext4_inode_bit_retry", RETRIES[arm] + n * (RETRIES[arm] > 0)),
                ("ext4_allocate_inode", 100),
            )
        ]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bases = (paths.KERNEL_PATCHES / "base.toml").read_bytes()
    monkeypatch.setattr(paths, "STUDIES", tmp_path / "studies")
    monkeypatch.setattr(paths, "KERNEL_PATCHES", tmp_path / "patches")
    found = Bench(paths.KERNEL_PATCHES)
    (paths.KERNEL_PATCHES / "base.toml").write_bytes(bases)
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(paths, "BUILD_CACHE", tmp_path / "build")
    monkeypatch.setattr(check_module, "refuse_bad_surroundings", lambda **_: None)
    monkeypatch.setattr(check_module, "refuse_unknown_events", lambda *_: None)
    monkeypatch.setattr(check_module, "applies", found.applies)
    monkeypatch.setattr(check_module, "differs", lambda _: CheckResult(True, "differs"))
    monkeypatch.setattr(check_module, "runs_its_load", found.boots)
    monkeypatch.setattr(check_module, "campaign", found.campaign)
    return found


class Said(Machine):
    """A guest whose every command succeeds, and whose log is this."""

    def __init__(self, log: str) -> None:
        self.log = log

    def run_all(self, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
        return [Completed((), 0, self.log if step == ["dmesg"] else "", "") for step in steps]


@pytest.mark.parametrize(
    "said", ["", "WARNING: CPU: 2 PID: 345 at fs/ext4/orphan.c:120 ext4_orphan_add+0x1/0x2"]
)
def test_an_arm_whose_kernel_warns_under_its_load_has_failed(monkeypatch: pytest.MonkeyPatch, said: str):
    """Though the load ends, and the file system is clean."""
    kernel = SimpleNamespace(release="6.12", build_id="ab")
    guest = contextlib.nullcontext((Said(f"[    1.0] Linux version 6.12\n[    9.0] {said}\n"), None))
    monkeypatch.setattr(check_module, "build", lambda _: kernel)
    monkeypatch.setattr(check_module, "booted_guest", lambda *_: guest)
    monkeypatch.setattr(check_module, "make", lambda *_: None)
    monkeypatch.setattr(check_module, "unmount_and_check", lambda *_, **__: None)
    monkeypatch.setattr(check_module.fsload, "parse", lambda _: SimpleNamespace(warnings=()))
    series, target = read_series("inode-claim", "search-locked"), load_target("qemu")
    if not said:
        assert check_module.runs_its_load(series, target).endswith("clean")
        return
    with pytest.raises(
        RunFailed, match="search-locked: the kernel reported under the load: WARNING: at fs/ext4"
    ):
        check_module.runs_its_load(series, target)


def checked(which: str | None = None) -> dict[str, CheckedArm]:
    return {f"{one.study}/{one.arm}": one for one in check(which, boot=True)}


def status(words: list[str]) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code


def test_arms_that_do_what_is_expected_of_them_are_green(bench: Bench):
    found = checked()
    assert all(one.ok for one in found.values()) and len(found) == 6
    assert bench.counted == [("s", ("unpatched", "patched", "ours")), ("t", ("unpatched", "patched", "ours"))]
    assert [entry.expected for entry in found["s/ours"].counters] == ["ours = 0"]


@pytest.mark.parametrize("error", [BadInput("hunk 2 does not apply"), RunFailed("the guest panicked")])
@pytest.mark.parametrize(("step", "why"), [("applies", "it does not apply"), ("boots", "it does not boot")])
def test_a_bad_arm_is_red_and_costs_the_others_nothing(bench: Bench, step: str, why: str, error: Exception):
    bench.errors[step, "s/ours"] = error
    found = checked()
    assert [name for name, one in found.items() if not one.ok] == ["s/ours"]
    assert found["s/ours"].checks[step] == CheckResult(False, str(error))
    assert found["s/ours"].checks["counts"].detail.startswith(f"not counted: {why}")
    assert ("s", ("unpatched", "patched")) in bench.counted


def test_the_result_of_a_bad_arm_is_printed_and_the_exit_is_1(
    bench: Bench, capsys: pytest.CaptureFixture[str]
):
    bench.errors["applies", "s/ours"] = BadInput("hunk 2 does not apply")
    assert status(["patches", "check", "s", "--base", "7.3", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert {one["arm"]: one["ok"] for one in rows} == {"unpatched": True, "ours": False, "patched": True}
    assert {one["base"] for one in rows} == {"7.3"}


def test_an_arm_whose_only_counterpart_is_red_is_not_proved(bench: Bench):
    bench.errors["boots", "s/unpatched"] = RunFailed("the guest panicked")
    found = checked("s")
    assert found["s/patched"].checks["counts"].detail.startswith("not compared: all arms to compare it with")
    assert not found["s/patched"].ok and found["s/ours"].ok


@pytest.mark.parametrize("error", [RunFailed("guest 3 hung"), BadInput("the kernel has no event x")])
def test_a_campaign_that_fails_costs_its_study_alone(bench: Bench, error: Exception):
    bench.errors["campaign", "s"] = error
    found = checked()
    assert {name for name, one in found.items() if one.ok} == {"t/unpatched", "t/ours", "t/patched"}
    assert found["s/ours"].checks["counts"] == CheckResult(False, str(error))


@pytest.mark.parametrize(("step", "name"), [("applies", "s/ours"), ("boots", "s/ours"), ("campaign", "s")])
def test_a_full_disk_is_no_arms_fault_and_ends_the_check(bench: Bench, step: str, name: str):
    """Else `--write-table` would say of each arm after it that it does not build."""
    bench.errors[step, name] = FullDisk("the disk is full")
    with pytest.raises(FullDisk, match=r"^the disk is full") as said:
        check(None, boot=True)
    assert bench.counted == [("s", ("unpatched", "patched", "ours"))] * (step == "campaign")
    assert ("--resume patches-check-" in str(said.value)) == (step == "campaign")


def test_counts_of_nothing_are_red_and_cost_their_study_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    def nothing(study: Study, *rest: object) -> list[Counted]:
        return [one for one in bench.campaign(study, *rest) if study.name == "t" or "retry" in one.source]  # type: ignore[arg-type]

    monkeypatch.setattr(check_module, "campaign", nothing)
    found = checked()
    assert "counted no trace:ext4_allocate_inode" in found["s/unpatched"].checks["counts"].detail
    assert found["t/unpatched"].ok and not found["s/unpatched"].ok


def test_an_arm_that_no_counter_names_is_said_not_to_be_compared(bench: Bench):
    bench.add("s", "bare")
    write_study(PROPOSED, {"name": "bare", "role": "variant"}, counters=[COUNTER])
    bare = checked("s")["s/bare"]
    assert bare.ok and bare.checks["counts"].detail == "not compared: no counter of its study names it"
    assert bench.counted == [("s", ("unpatched", "patched", "ours"))]


def test_an_arm_that_its_study_lacks_is_red_until_it_is_added(bench: Bench):
    bench.add("s", "bare")
    found = checked("s")
    assert [name for name, one in found.items() if not one.ok] == ["s/bare"]
    assert found["s/bare"].checks["counts"].detail == "add an arm bare to s.yaml"


@pytest.mark.parametrize("listing", [b"\xff", b"0001-absent.patch\n", b"# unsafe\n"])
def test_a_bad_series_file_fails_its_arm_alone(
    bench: Bench, capsys: pytest.CaptureFixture[str], listing: bytes
):
    (bench.folder / "s/ours/series").write_bytes(listing)
    found = checked()
    assert [name for name, one in found.items() if not one.ok] == ["s/ours"]
    assert "s/ours/series" in found["s/ours"].checks["applies"].detail
    assert list(found["s/ours"].checks) == ["applies", "counts"]
    assert ("s", ("unpatched", "patched")) in bench.counted
    assert status(["patches", "check", "s", "--json"]) == 1
    ok = {one["arm"]: one["ok"] for one in json.loads(capsys.readouterr().out)}
    assert ok == {"unpatched": True, "ours": False, "patched": True}


def test_an_arm_of_the_study_that_has_no_series_is_red(bench: Bench):
    """A folder that was renamed, or whose file was forgotten."""
    (bench.folder / "s/ours/series").unlink()
    found = checked("s")
    assert [name for name, one in found.items() if not one.ok] == ["s/ours"]
    assert "kernel-patches/s/ours has no `series`" in found["s/ours"].checks["applies"].detail
    assert list(checked("s/patched")) == ["s/patched"]


def test_a_patch_that_no_series_names_is_red_unless_it_is_commented_out(bench: Bench):
    (bench.folder / "s/ours/0002-too.patch").touch()
    assert "0002-too.patch is not in `series`" in checked("s")["s/ours"].checks["applies"].detail
    (bench.folder / "s/ours/series").write_text("# 0002-too.patch\n")
    assert all(one.ok for one in checked("s").values())


def test_a_bad_series_file_is_no_matter_to_an_arm_that_is_not_compared_with_it(bench: Bench):
    (bench.folder / "s/ours/series").write_bytes(b"\xff")
    assert [one.ok for one in check("t") + check("s/unpatched")] == [True] * 4


def test_built_kernels_are_compared_once_all_are_built(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    built: list[str] = []

    def builds(series: Series) -> CheckResult:
        built.append(series.name)
        return CheckResult(series.arm != "unpatched", "built")

    def compared(series: Series) -> CheckResult:
        assert len(built) == 3
        return CheckResult(series.arm != "ours", "by kernels")

    for step in ("has_style", "adds_no_warning"):
        monkeypatch.setattr(check_module, step, lambda _: CheckResult(True, ""))
    monkeypatch.setattr(check_module, "builds", builds)
    monkeypatch.setattr(check_module, "kernels_differ", compared)
    found = {one.arm: one.checks["differs"] for one in check("s", build=True)}
    assert found == {
        "unpatched": CheckResult(True, "differs"),  # not built, so its sources were compared alone
        "ours": CheckResult(False, "by kernels"),
        "patched": CheckResult(True, "by kernels"),
    }


@pytest.fixture
def surroundings(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """With the real look at what all arms need."""
    from lockscale.prove.series_checks import refuse_bad_surroundings

    monkeypatch.setattr(check_module, "refuse_bad_surroundings", refuse_bad_surroundings)
    return bench


@pytest.mark.usefixtures("surroundings")
def test_a_wrong_kernel_source_is_no_patch_s_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv(VARIABLE, "/no/such/linux.tar.xz")
    assert status(["patches", "check"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("/no/such/linux.tar.xz does not exist") == 1


@pytest.mark.parametrize("words", [["--write-table"], ["s/ours", "--boot", "--write-table"]])
def test_one_arm_or_what_was_not_booted_replaces_no_rows(
    bench: Bench, capsys: pytest.CaptureFixture[str], words: list[str]
):
    assert status(["patches", "check", *words]) == 2
    assert "--write-table replaces the rows of whole studies" in capsys.readouterr().err and not bench.counted


def test_a_check_goes_on_with_the_counts_of_an_earlier_one(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    earlier = paths.RUNS / "patches-check-20261125T000000Z"
    earlier.mkdir(parents=True)
    seen: list[Path] = []
    monkeypatch.setattr(
        check_module, "campaign", lambda *given: seen.append(given[-1]) or bench.campaign(*given)
    )
    check(None, boot=True, resume=earlier.name)
    assert set(seen) == {earlier} and list(paths.RUNS.iterdir()) == [earlier]


def test_fewer_boots_than_were_counted_are_refused_before_anything_is_built(bench: Bench):
    earlier = paths.RUNS / "patches-check-20261125T000000Z"
    counted = [Counted("t", "ours", "", n, 8, 4, "trace:x", 1, "b1d") for n in range(1, 6)]
    write_rows(earlier / "counts-t.csv", counted, Counted)
    with pytest.raises(
        BadInput, match="has 5 boots of each arm of t: give --iterations 5 or more, or leave out"
    ):
        check(None, boot=True, iterations=4, resume=earlier.name)
    assert bench.counted == [] and len(read_rows(earlier / "counts-t.csv", Counted)) == 5
    check("s", boot=True, iterations=4, resume=earlier.name)


@pytest.mark.parametrize(
    ("which", "kept"), [(None, {"counts-s.csv", "counts-t.csv"}), ("s", {"counts-s.csv"})]
)
def test_the_counts_of_a_whole_check_are_kept_beside_its_table(
    bench: Bench, tmp_path: Path, which: str | None, kept: set[str]
):
    """A study that was not checked has the rows of another check in the table, and its counts stay too."""
    earlier = paths.RUNS / "patches-check-20261125T000000Z"
    earlier.mkdir(parents=True)
    for study in ("s", "t"):
        (earlier / f"counts-{study}.csv").write_text("study,arm\n")
    check(which, boot=True, resume=earlier.name, keep=tmp_path / "kept")
    assert {path.name: path.read_text() for path in (tmp_path / "kept").iterdir()} == dict.fromkeys(
        kept, "study,arm\n"
    )


@pytest.mark.parametrize("name", ["patches-check-1", "inode-claim-20261125T000000Z", "\0", "../x"])
def test_what_is_no_earlier_check_is_refused_before_anything_is_built(bench: Bench, name: str):
    (paths.RUNS / "inode-claim-20261125T000000Z").mkdir(parents=True)
    with pytest.raises(BadInput, match="has no such folder of an earlier check"):
        check(None, boot=True, resume=name)
    assert bench.counted == []


@pytest.mark.parametrize(
    "words", [["check", "--boot"], ["soak"], ["locality", "s"], ["xfstests", "s/ours"], ["powercut"]], ids=str
)
def test_what_boots_guests_is_refused_while_somebody_measures(
    bench: Bench, capsys: pytest.CaptureFixture[str], words: list[str]
):
    """Counts would be of two loads at once, and of two that continue one run each drops the other's rows."""
    with hold_this_machine("s-20260131T120000Z", "qemu"):
        assert status(["patches", *words]) == 2
    said = capsys.readouterr().err
    assert "needs this machine, which is in use by" in said and "(run s-20260131T120000Z)" in said
    assert bench.counted == [] and not paths.RUNS.exists()


def test_an_interrupted_count_says_how_to_go_on(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check_module, "campaign", interrupted)
    with pytest.raises(Interrupted, match=r"interrupted: the same command with --resume patches-check-\d"):
        check(None, boot=True)
