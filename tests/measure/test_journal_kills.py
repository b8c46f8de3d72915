# SPDX-License-Identifier: MIT
"""A controller that dies anywhere loses nothing and does nothing twice; on a real place, without root."""

import itertools
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from lockscale import journal, paths
from lockscale.errors import BadInput, RunFailed
from lockscale.measure import run as runner
from lockscale.measure.resume import read_entries
from lockscale.measure.rows import read_rows
from lockscale.measure.run import run_plan
from lockscale.measure.run_folder import Run
from lockscale.study.file import LocalTarget, load_study

SMALL = {"guests": [{"cpus": 1, "processes": [1, 2]}], "operations_per_point": 40, "iterations": 2}
STUDY = load_study("inode-claim", SMALL)
STEPS = 4  # an A/A pair and two blocks of the one arm that a machine as it is has
KEY = ["arm", "cpus", "pair", "block", "iteration", "threads", "tool", "test", "metric", "statistic"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled load generator is kept for the session."""
    monkeypatch.setattr(paths, "CACHE", tmp_path_factory.getbasetemp() / "cache")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where a run is, in memory where that can be: a plan syncs."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as made:
        (Path(made) / "run").mkdir()
        yield Path(made) / "run"


def resume(folder: Path, name: str = "here") -> pd.DataFrame:
    return read_rows(run_plan(Run(folder), STUDY, LocalTarget(name=name, kind="local")))


def resume_when_free(folder: Path) -> pd.DataFrame:
    """As soon as the load of a controller that was killed has ended: it holds the run and the machine."""
    deadline_s = time.monotonic() + 120
    while True:
        try:
            return resume(folder)
        except BadInput as error:
            if "is in use by" not in str(error) or time.monotonic() > deadline_s:
                raise
            time.sleep(0.05)


def start(folder: Path, when: str = "never", record: int = 0, who: str = "") -> int:
    """A controller of its own, which kills itself before, in or after its `record`-th line; its pid."""
    pid = os.fork()
    if pid:
        return pid
    os.environ["LOCKSCALE_NAME"] = who
    whole, lines = journal.append_line, itertools.count(1)

    def append(path: Path, line: str) -> None:
        if next(lines) != record:
            return whole(path, line)
        if when == "torn":
            with path.open("a") as stream:
                stream.write(line[: len(line) // 2])
        if when == "after":
            whole(path, line)
        os.kill(os.getpid(), signal.SIGKILL)

    journal.append_line = append
    try:
        resume_when_free(folder)
    finally:
        os._exit(0)


def end_of(pid: int) -> int:
    """How a controller ended: minus the signal, or its status."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def keys(rows: pd.DataFrame) -> list[tuple[object, ...]]:
    return sorted(map(tuple, rows[KEY].to_numpy().tolist()))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    """The keys of the rows of a run that nothing happened to."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    folder.mkdir()
    found = keys(resume(folder))
    assert len(read_entries(Run(folder).journal)) == STEPS
    assert len(set(found)) == len(found) == STEPS * 2 * 2 * 2  # processes, tests, statistics
    return found


@pytest.mark.slow
@pytest.mark.parametrize("record", range(1, STEPS + 1))
@pytest.mark.parametrize("when", ["before", "torn", "after"])
def test_a_controller_killed_at_a_record_is_resumed(folder: Path, undisturbed, when: str, record: int):
    assert end_of(start(folder, when, record)) == -signal.SIGKILL
    done = record if when == "after" else record - 1
    before = read_entries(Run(folder).journal)
    assert len(before) == done and not Run(folder).rows.exists()
    assert keys(resume(folder)) == undisturbed
    assert read_entries(Run(folder).journal)[:done] == before


@pytest.mark.slow
def test_a_controller_killed_at_any_time_is_resumed(folder: Path, undisturbed):
    for wait_s in (0.01, 0.1, 0.3):
        had = len(read_entries(Run(folder).journal))
        controller = start(folder)
        while len(read_entries(Run(folder).journal)) == had:  # each has a step to do at least
            time.sleep(0.005)
        time.sleep(wait_s)  # somewhere in the next step, or at the end
        os.kill(controller, signal.SIGKILL)
        assert end_of(controller) in (0, -signal.SIGKILL)
    assert keys(resume_when_free(folder)) == undisturbed


def test_a_run_goes_on_on_another_controller(folder: Path, undisturbed):
    end_of(start(folder, "after", 2))
    other = folder.parent / "other" / "run"
    shutil.copytree(folder, other)
    assert keys(resume(other)) == undisturbed


def test_a_finished_run_does_nothing_more(folder: Path, monkeypatch: pytest.MonkeyPatch):
    first = resume(folder)
    monkeypatch.setattr(runner, "measure", None)
    pd.testing.assert_frame_equal(resume(folder), first)


def test_a_second_controller_is_refused_with_who_and_since_when(folder: Path):
    (folder.parent / "two").mkdir()
    first = start(folder, who="Ada")
    while not Run(folder).journal.exists():
        time.sleep(0.005)
    os.kill(first, signal.SIGSTOP)  # it lives, somewhere in a step
    try:
        with pytest.raises(
            BadInput,
            match=r"^target here needs this machine, which is in use by Ada since \d{4}-.*Z \(run run\)",
        ):
            resume(folder.parent / "two")
        with pytest.raises(BadInput, match=rf"run run is in use by Ada since .*Z \(process {first}\): wait"):
            resume(folder)
    finally:
        os.kill(first, signal.SIGKILL)
        end_of(first)
    assert len(resume(folder.parent / "two"))


def test_an_interrupt_says_how_to_go_on(folder: Path, undisturbed, monkeypatch: pytest.MonkeyPatch):
    real, calls = runner.measure, itertools.count(1)

    def interrupted(*args):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return real(*args)

    (folder / "study.json").write_text("{}")
    with monkeypatch.context() as patch, pytest.raises(RunFailed) as said:
        patch.setattr(runner, "measure", interrupted)
        resume(folder)
    assert str(said.value).startswith("interrupted: ") and "`lockscale study resume run`" in str(said.value)
    assert len(read_entries(Run(folder).journal)) == 2
    assert keys(resume(folder)) == undisturbed


def test_another_target_or_build_is_not_mixed_in(folder: Path):
    resume(folder)
    with pytest.raises(BadInput, match="started on here, not on there"):
        resume(folder, "there")
    entries = read_entries(Run(folder).journal)[:-1]
    for row in (row for entry in entries for row in entry["rows"]):
        row["build_id"] = "0" * 40
    Run(folder).journal.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    with pytest.raises(BadInput, match="arm as-found was measured as build-id 0000"):
        resume(folder)


def test_a_step_that_the_plan_lacks_is_refused(folder: Path):
    resume(folder)
    entries = read_entries(Run(folder).journal)
    for entry in entries:
        entry["step"] = entry["step"].replace("004-ab2", "004-ab9")
    Run(folder).journal.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    with pytest.raises(BadInput, match="has step 004-ab9-as-found-1cpu, which is not in the plan"):
        resume(folder)
