# SPDX-License-Identifier: MIT
"""A run that ended in the middle says how it goes on; one that had not begun is as if it never was."""

from pathlib import Path

import pytest

from lockscale.errors import BadInput, FullDisk, Interrupted, RunFailed
from lockscale.files import locked, write_json
from lockscale.measure.resume import forget_unbegun, says_how_to_go_on, state_of
from lockscale.measure.run_folder import Run

GOES_ON = "no finished step is lost, `lockscale study resume inode-claim-1` continues the run"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "inode-claim-1")
    run.folder.mkdir()
    for name in ("study.json", "pipeline.lock"):
        (run.folder / name).touch()
    run.tables.mkdir()  # of a study with a table of its own
    return run


def ended(run: Run, error: BaseException) -> Exception:
    with pytest.raises((BadInput, RunFailed)) as said, says_how_to_go_on(run):
        raise error
    return said.value


def test_a_full_disk_names_the_command_that_goes_on(run: Run):
    (run.folder / "progress.log").touch()
    said = ended(run, FullDisk("the disk is full"))
    assert isinstance(said, BadInput) and str(said) == f"the disk is full; {GOES_ON}"


def test_it_is_told_once_by_a_plan_within_a_study(run: Run):
    (run.folder / "journal.jsonl").touch()
    assert str(ended(run, ended(run, FullDisk("the disk is full")))).count("study resume") == 1


def test_an_interrupt_names_it_too(run: Run):
    (run.folder / "journal.jsonl").touch()
    said = ended(run, KeyboardInterrupt())
    assert isinstance(said, Interrupted) and str(said) == f"interrupted: {GOES_ON}"


def test_without_a_study_the_same_call_goes_on(run: Run):
    (run.folder / "journal.jsonl").touch()
    (run.folder / "study.json").unlink()
    assert str(ended(run, KeyboardInterrupt())).endswith("running this again continues the run")


@pytest.mark.parametrize("error", [FullDisk("full"), KeyboardInterrupt()])
def test_what_had_not_begun_is_not_resumed_and_leaves_nothing(run: Run, error: BaseException):
    assert "resume" not in str(ended(run, error))
    forget_unbegun(run)
    assert not run.folder.exists()


def test_what_had_begun_stays(run: Run):
    (run.folder / "progress.log").touch()
    forget_unbegun(run)
    assert (run.folder / "progress.log").exists()


def test_a_run_is_running_as_long_as_its_lock_is_held(tmp_path: Path):
    run = Run(tmp_path)
    assert state_of(run) == "not measured"
    with locked(tmp_path / "pipeline.lock", "run x"):
        assert state_of(run) == "running"
    run.journal.write_text("")
    assert state_of(run) == "unfinished"
    run.rows.write_text("")
    assert state_of(run) == "measured"


def test_whoever_is_refused_as_somebody_measures_is_told_how_to_go_on(tmp_path: Path):
    run = Run(tmp_path / "r-1")
    run.folder.mkdir()
    write_json(run.folder / "study.json", {})
    run.prediction.write_text("{}")
    with (
        locked(tmp_path / "lock", "the machine"),
        pytest.raises(BadInput) as refused,
        says_how_to_go_on(run),
        locked(tmp_path / "lock", "the machine"),
    ):
        raise AssertionError("two hold one lock")
    assert str(refused.value).endswith(
        "wait until it ends; no finished step is lost, `lockscale study resume r-1` continues the run"
    )
