# SPDX-License-Identifier: MIT
"""`lockscale batch` refuses in one sentence, with status 2, and leaves what it finds as it was."""

from pathlib import Path

import pytest

from command import Lockscale
from lockscale import paths
from lockscale.files import locked

FILE = "notebooks: [02_simulate]\n"


@pytest.fixture
def storm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    (tmp_path / "storm.yaml").write_text(FILE)
    return tmp_path / "storm.yaml"


def refusal(lockscale: Lockscale, *argv: object) -> str:
    said = lockscale("batch", *map(str, argv))
    assert (said.status, said.out) == (2, "") and said.err.count("\n") == 1
    return said.err


def test_a_file_that_is_not_there(lockscale: Lockscale, storm: Path):
    assert "is not a file: give a batch file" in refusal(lockscale, storm.with_name("none.yaml"))
    assert "is not a file: give a batch file" in refusal(lockscale, storm.parent)


def test_a_set_that_cannot_run_leaves_no_folder(lockscale: Lockscale, storm: Path):
    storm.write_text(FILE + "grid: {seed: [1, none]}\n")
    assert "parameter seed: " in refusal(lockscale, storm)
    assert not paths.RUNS.exists()


def test_a_folder_of_something_else_is_left_as_it_is(lockscale: Lockscale, storm: Path):
    folder = paths.RUNS / "storm"
    folder.mkdir(parents=True)
    (folder / "thesis.tex").write_text("mine")
    assert "contains something other than batch storm: give another --output" in refusal(lockscale, storm)
    (folder / "batch.json").write_text('{"kind": "lockscale batch", "name": "other"}')
    assert "contains something other than batch storm" in refusal(lockscale, storm)
    assert sorted(path.name for path in folder.iterdir()) == ["batch.json", "thesis.tex"]


def test_an_output_that_is_a_file(lockscale: Lockscale, storm: Path):
    assert "is a file" in refusal(lockscale, storm, "--output", storm)


def test_a_batch_that_runs_already(lockscale: Lockscale, storm: Path):
    with locked(paths.RUNS / "storm" / "batch.lock", "it"):
        assert "batch storm in" in refusal(lockscale, storm) and "is in use by " in refusal(lockscale, storm)
