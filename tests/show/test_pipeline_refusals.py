# SPDX-License-Identifier: MIT
"""What cannot end well is refused before anything runs: one sentence, and no run folder."""

import json
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.kernels.source import find_source
from lockscale.measure.run_folder import Run, keep_study
from lockscale.measure.target import hold_this_machine
from lockscale.programs import find
from lockscale.show.pipeline import TOOLS, resume_study, run_study
from lockscale.study.file import load_study
from small_disk import run_on_small_disk


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Studies, patches and runs of the test's own; the source is there, so that it is not the reason."""
    shutil.copytree(paths.STUDIES, tmp_path / "studies")
    shutil.copytree(paths.KERNEL_PATCHES, tmp_path / "kernel-patches")
    tarfile.open(tmp_path / "source.tar", "w").close()  # never unpacked
    monkeypatch.setattr(paths, "STUDIES", tmp_path / "studies")
    monkeypatch.setattr(paths, "KERNEL_PATCHES", tmp_path / "kernel-patches")
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    monkeypatch.setenv("LOCKSCALE_KERNEL_SOURCE", str(tmp_path / "source.tar"))
    return tmp_path


def refusal(place: Path, name: str = "inode-claim", target: str = "qemu", **changes: Any) -> str:
    """The sentence with which a run is refused; nothing of it is on disk."""
    with pytest.raises(BadInput) as refused:
        run_study(name, target, changes)
    assert not (place / "runs").exists()
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"name": "inode_claim"}, r"did you mean inode-claim\?"),
        ({"target": "qemu2"}, r"did you mean qemu\?"),
        ({"create_per_point": 10}, "has no parameter 'create_per_point': did you mean"),
        ({"iterations": "three"}, "^parameter iterations: "),
    ],
)
def test_a_name_that_is_not_there_or_a_value_of_the_wrong_type(place: Path, asked: dict[str, Any], says: str):
    assert re.search(says, refusal(place, **asked))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("steal-retry", "steal-retri", "^no series inode-claim/steal-retri under "),
        ("search_locked: true", "search_lock: true", "model inode_claim has no parameter 'search_lock'"),
        ("model: inode_claim", "model: inode-claim", "no model 'inode-claim'"),
        (
            "tables: [s1_rates, s1_function_cost]",
            "tables: []",
            r"^inode-claim\.yaml: tables: it has 0 entries: write at least 1",
        ),
        ("counter: jbd2_journal_get_write_access", "counter: unknown things", "unknown things"),
        ("s1_rates", "s1_ratios", "s1_ratios"),
    ],
)
def test_a_study_file_that_names_what_is_not_there(place: Path, old: str, new: str, says: str):
    study = place / "studies" / "inode-claim.yaml"
    assert old in study.read_text()
    study.write_text(study.read_text().replace(old, new))
    assert re.search(says, refusal(place))


@pytest.mark.parametrize(
    ("option", "says"),
    [("fast_comit", "Invalid filesystem option set: "), ("flex_bg", "")],
)
def test_a_misspelt_feature_is_refused_as_mkfs_refuses_it_before_a_kernel_is_built(
    place: Path, option: str, says: str
):
    """By the mkfs that the guests run too; one that it takes is not in the way of what else is wrong."""
    study = place / "studies" / "inode-claim.yaml"
    text = study.read_text()
    assert "\nmkfs: " in text
    study.write_text(re.sub(r"\nmkfs: .*", f"\nmkfs: [-O, {option}]", text))
    said = refusal(
        place, guests=[{"cpus": 4, "processes": [4]}], kernel_source="" if says else "/nonexistent"
    )
    assert said.startswith("inode-claim.yaml: arm " if says else "inode-claim.yaml: parameters.kernel_source")
    assert not says or f"mkfs.ext4 does not take '-O {option}': {says}" in said


def test_more_processors_than_a_guest_has(place: Path):
    said = refusal(place, guests=[{"cpus": 65, "processes": [1]}])
    assert said == "the study asks for 65 CPUs and target qemu has 64: ask for fewer"


@pytest.mark.parametrize("target", ["qemu", "manycore"])
def test_a_machine_that_measures_already(place: Path, target: str):
    with hold_this_machine("inode-claim-20261124T060000Z", "here"):
        said = refusal(place, target=target)
    assert re.fullmatch(
        rf"target {target} needs this machine, which is in use by .* \(run inode-claim-20\w+\): wait until "
        "it ends",
        said,
    )


def test_a_series_without_a_folder(place: Path):
    shutil.rmtree(place / "kernel-patches" / "inode-claim" / "steal-retry")
    assert refusal(place).startswith("no series inode-claim/steal-retry under ")


def test_a_series_that_lists_a_patch_that_is_not_there(place: Path):
    with (place / "kernel-patches" / "inode-claim" / "steal-retry" / "series").open("a") as series:
        series.write("0002-absent.patch\n")
    assert (
        "lists '0002-absent.patch', which is neither a file beside it nor a patch of another arm"
        in refusal(place)
    )


@pytest.mark.parametrize("said", ["environment", "parameter"])
def test_a_kernel_source_that_is_not_there(place: Path, monkeypatch, said: str):
    sentence = "the kernel source /nonexistent does not exist: give a kernel tarball or tree"
    if said == "environment":
        monkeypatch.setenv("LOCKSCALE_KERNEL_SOURCE", "/nonexistent")
        assert refusal(place) == f"LOCKSCALE_KERNEL_SOURCE: {sentence}"
    else:
        asked = refusal(place, kernel_source="/nonexistent")
        assert asked == f"inode-claim.yaml: parameters.kernel_source: {sentence}"


@pytest.mark.parametrize("missing", [*TOOLS, "chromium"])
def test_a_missing_tool(place: Path, monkeypatch, missing: str):
    tools = place / "bin"
    tools.mkdir()
    for tool in {*TOOLS, "mkfs.ext4", "chromium"} - {missing}:
        (tools / tool).symlink_to(find(tool))
    monkeypatch.setenv("PATH", str(tools))
    said = refusal(place)
    assert re.match(rf"{re.escape(missing)} is missing on this machine(: | \()", said)
    assert ": apt-get install " in said


@pytest.mark.slow
def test_a_full_disk(place: Path):
    disk = place / "disk"
    disk.mkdir()
    said = run_on_small_disk(
        disk,
        64,
        """
        import os, sys
        from pathlib import Path
        from lockscale import paths
        from lockscale.show.pipeline import preflight
        from lockscale.study.file import load_study
        paths.RUNS = Path("runs").resolve()
        print(refused(preflight, load_study("inode-claim")), os.listdir())
        """,
    )
    assert said == [
        f"a run needs 500 MiB but the disk of {disk} has 0 MiB free: free some space or set "
        "LOCKSCALE_CACHE and LOCKSCALE_RUNS to folders on a larger disk []"
    ]


def test_a_checkout_in_a_folder_with_a_blank_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(paths, "CACHE", tmp_path / "my cache")
    with pytest.raises(BadInput, match="contains a space, colon or comma"):
        run_study("inode-claim", "qemu", {})
    assert not (tmp_path / "runs").exists()


def test_a_curated_run_is_not_resumed_and_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths, "RUNS", tmp_path)
    curated = sorted(path.parent for path in paths.MEASURED.glob("*/rows.csv"))[-1]
    before = sorted(curated.rglob("*"))
    with pytest.raises(BadInput, match="curated"):
        resume_study(curated.name)
    assert sorted(curated.rglob("*")) == before


@pytest.mark.parametrize("name", ["", "..", ".", "inode-claim-20000101T000000Z"])
def test_what_is_no_run_is_not_resumed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths, "RUNS", tmp_path)
    with pytest.raises(BadInput, match="there is no run"):
        resume_study(name)


@pytest.mark.parametrize("folder", [".", "base", "unpatched"])
def test_a_measured_run_is_not_resumed_under_another_study_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
):
    """Nor one of which only the arm that comes before the plan was counted or measured."""
    monkeypatch.setattr(paths, "RUNS", tmp_path)
    run = Run(tmp_path / "inode-claim-20260101T000000Z")
    keep_study(run, load_study("inode-claim"), "qemu")
    said = json.loads((run.folder / "study.json").read_text())
    said["calls_without_retry"]["value"] = 5.0
    (run.folder / "study.json").write_text(json.dumps(said))
    (run.folder / folder).mkdir(exist_ok=True)
    (run.folder / folder / "journal.jsonl").write_text("{}\n")
    with pytest.raises(BadInput, match="was changed after run"):
        resume_study(run.id)


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero"])
def test_a_device_is_no_kernel_source(path: str):
    with pytest.raises(BadInput, match="neither a tarball nor a folder"):
        find_source(path)
