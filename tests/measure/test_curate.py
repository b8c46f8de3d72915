# SPDX-License-Identifier: MIT
"""What is kept of a run says nothing of the machine's folders, and all of its numbers."""

import gzip
import json
import os
import tempfile
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import locked, sha256_of_json, write_json
from lockscale.measure import curate as curate_module
from lockscale.measure.curate import curate
from lockscale.measure.run_folder import Run, curated_run, latest_run, read_prediction

OF_KERNELS = '"origin": "qemu", "kernels": {"before": {}}'


def test_a_kept_run_has_its_numbers_and_no_path_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paths, "MEASURED", tmp_path / "measured")
    run = Run(tmp_path / "inode-claim-20260101T000000Z")
    (run.raw / "001").mkdir(parents=True)
    guest = f"{tempfile.gettempdir()}/lockscale-guest-ab12_x"
    run.provenance.write_text(
        f'{{"line": "{guest}/shared {paths.ROOT}/.venv {guest.lstrip("/")}", {OF_KERNELS}}}'
    )
    run.rows.write_text("value\n8.0125\n")
    (run.raw / "001" / "rate-1.txt.gz").write_bytes(gzip.compress(f"{paths.ROOT}/bin 42\n".encode()))
    kept = curate(run)
    assert (kept / "rows.csv").read_text() == "value\n8.0125\n"
    said = json.loads((kept / "provenance.json").read_text())
    del said["rows_sha256"]
    assert said == json.loads(f'{{"line": "GUEST/shared ROOT/.venv GUEST", {OF_KERNELS}}}')
    assert gzip.decompress((kept / "raw" / "001" / "rate-1.txt.gz").read_bytes()) == b"ROOT/bin 42\n"


def test_of_a_run_with_a_file_that_is_too_large_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Half of it would be a run of data/measured, and the latest of its study."""
    monkeypatch.setattr(paths, "MEASURED", tmp_path / "measured")
    monkeypatch.setattr(curate_module, "MAX_FILE_BYTES", 10_000)
    run = measured(tmp_path, "inode-claim-20260101T000000Z", '{"before": {}}')
    (run.raw / "001").mkdir(parents=True)
    (run.raw / "001" / "rate-1.txt.gz").write_bytes(gzip.compress(os.urandom(20_000).hex().encode()))
    with pytest.raises(BadInput, match="larger than 2 MB"):
        curate(run)
    assert not paths.MEASURED.exists()


def test_a_run_is_kept_whole_or_not_at_all_wherever_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Others read data/measured meanwhile; of a run that is kept again they read the old one."""
    monkeypatch.setattr(paths, "MEASURED", tmp_path / "measured")
    run = measured(tmp_path, "inode-claim-20260101T000000Z", '{"before": {}}')
    for name in ("study.json", "prediction.json"):
        write_json(run.folder / name, {})
    write, writes = curate_module.write_bytes, iter(())

    def killed(path: Path, content: bytes) -> None:
        if next(writes, None) is None:
            raise KeyboardInterrupt
        write(path, content)

    monkeypatch.setattr(curate_module, "write_bytes", killed)
    for again in (False, True):
        for done in range(4):
            writes = iter(range(done))
            with pytest.raises(KeyboardInterrupt):
                curate(run)
            assert [one.name for one in paths.MEASURED.iterdir()] == [run.id] * again
        writes = iter(range(4))
        assert {one.name for one in curate(run).iterdir()} == {one.name for one in run.folder.iterdir()}


def test_a_run_without_rows_is_not_kept(tmp_path: Path):
    with pytest.raises(BadInput, match=r"no rows\.csv"):
        curate(Run(tmp_path))


def test_a_run_that_is_still_running_is_not_kept_without_its_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its rates are whole, and the kernels that count are still being built."""
    monkeypatch.setattr(paths, "MEASURED", tmp_path / "measured")
    run = measured(tmp_path, "inode-claim-20260101T000000Z", '{"before": {}}')
    with (
        locked(run.folder / "pipeline.lock", "the run"),
        pytest.raises(BadInput, match=f"run {run.id} is still running: keep it once it has ended"),
    ):
        curate(run)
    assert curate(run).is_dir()


def test_a_run_of_which_only_some_counts_are_done_is_not_kept_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paths, "MEASURED", tmp_path / "measured")
    run = measured(tmp_path, "inode-claim-20260101T000000Z", '{"before": {}}')
    counts = run.folder / "observed"
    counts.mkdir()
    (counts / "journal.jsonl").touch()
    with pytest.raises(BadInput, match=f"only some steps of observed, .*`lockscale study resume {run.id}`"):
        curate(run)
    assert not paths.MEASURED.exists()
    (counts / "rows.csv").write_text("value\n3\n")
    (counts / "provenance.json").write_text(f"{{{OF_KERNELS}}}")
    assert (curate(run) / "observed/rows.csv").read_text() == "value\n3\n"


def measured(folder: Path, name: str, kernels: str) -> Run:
    run = Run(folder / name)
    run.folder.mkdir(parents=True)
    run.rows.write_text("value\n8.0125\n")
    run.provenance.write_text(f'{{"origin": "hardware", "kernels": {kernels}}}')
    return run


def test_a_run_of_a_machine_as_it_is_is_not_kept_and_hides_no_run_of_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(paths, "MEASURED", tmp_path / "measured")
    local = measured(paths.RUNS, "inode-claim-20260103T000000Z", "{}")
    with pytest.raises(
        BadInput, match="has no kernels of arms, because it measured the kernel that was running"
    ):
        curate(local)
    assert not paths.MEASURED.exists()
    with pytest.raises(BadInput, match="has no measured run"):
        latest_run("inode-claim")
    (paths.RUNS / "inode-claim-20260104T000000Z").mkdir()
    (paths.RUNS / "inode-claim-20260104T000000Z" / "rows.csv").write_text("")  # nobody knows of what
    real = measured(paths.RUNS, "inode-claim-20260102T000000Z", '{"before": {}}')
    assert latest_run("inode-claim").folder == real.folder
    measured(paths.MEASURED, "inode-claim-20260105T000000Z", "{}")  # kept by an earlier version
    with pytest.raises(BadInput, match="no run in data/measured"):
        curated_run("inode-claim")
    older = measured(paths.MEASURED, "inode-claim-20260101T000000Z", '{"before": {}}')
    assert curated_run("inode-claim").folder == older.folder


def test_a_run_of_a_study_whose_name_begins_alike_is_another_studys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(paths, "MEASURED", tmp_path / "measured")
    for other in ("look-again-2", "look-again-2b", "look-again-20260101"):
        measured(paths.RUNS, f"{other}-20260102T000000Z", '{"before": {}}')
        assert latest_run(other).id == f"{other}-20260102T000000Z"
    with pytest.raises(BadInput, match="look-again has no measured run"):
        latest_run("look-again")
    own = measured(paths.RUNS, "look-again-20260101T000000Z", '{"before": {}}')
    assert latest_run("look-again").folder == own.folder


def test_a_prediction_that_names_this_machine_is_not_kept_as_one_that_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its hash is of what was written before anything was measured."""
    monkeypatch.setattr(paths, "MEASURED", tmp_path / "measured")
    run = measured(tmp_path, "inode-claim-20260101T000000Z", '{"before": {}}')
    monkeypatch.setenv("HOME", "/srv/people/ada")  # a service's own may be /
    for used in ("s1_rates", f"{Path.home()}/rates.csv"):
        said = {"used": [used]}
        write_json(run.prediction, {**said, "sha256": sha256_of_json(said)})
        if used == "s1_rates":
            assert read_prediction(Run(curate(run)))["used"] == [used]
    with pytest.raises(BadInput, match=r"prediction\.json has a path .* may not be changed any more: let"):
        curate(run)
    assert read_prediction(Run(paths.MEASURED / run.id))["used"] == ["s1_rates"]


def test_a_password_that_an_address_carried_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths, "MEASURED", tmp_path / "measured")
    run = measured(tmp_path, "inode-claim-20260101T000000Z", '{"before": {}}')
    said = '{"name": "a", "parameters": {"kernel_source": "https://bob:hunter2@host/x"}}'
    (run.folder / "study.json").write_text(said)
    assert (curate(run) / "study.json").read_text() == said.replace("bob:hunter2@", "USER@")
