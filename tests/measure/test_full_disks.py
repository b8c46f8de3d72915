# SPDX-License-Identifier: MIT
"""A disk that fills up ends a run in one sentence; with room again it goes on, and nothing is lost."""

from pathlib import Path

import pytest

from small_disk import run_on_small_disk

COMMON = """
    import os, subprocess, sys
    from pathlib import Path
    from lockscale import paths
    from lockscale.errors import RunFailed
    from lockscale.measure import run as runner
    from lockscale.measure.resume import read_entries
    from lockscale.measure.run_folder import Run
    from lockscale.measure.rows import read_rows
    from lockscale.study.file import LocalTarget, load_study

    sys.stderr = open(os.devnull, "w")
    outside = Path(sys.argv[1])
    paths.CACHE = outside / "cache"
    key = ["pair", "block", "iteration", "threads", "test", "statistic"]

    def study(creates):
        points = {"guests": [{"cpus": 1, "processes": [1]}], "operations_per_point": creates, "iterations": 2}
        return load_study("inode-claim", points)
"""
CONTROLLER = (
    COMMON
    + """
    real, ballast, here = runner.measure, Path("ballast"), LocalTarget(
        name="here", kind="local", folder=str(outside))

    def filling(*args):  # while the second step is measured, somebody fills the controller's disk
        found = real(*args)
        if len(read_entries(run.journal)) == 1 and left is not None:
            disk = os.statvfs(".")
            ballast.write_bytes(b"x" * max(0, disk.f_bavail * disk.f_frsize - 1024 * left))
        return found

    runner.measure = filling
    for left in (0, 4, 8, 12, 16, 20):
        run = Run(Path(f"run-{left}").resolve())
        run.folder.mkdir()
        if not left:  # begun by lockscale study run
            (run.folder / "study.json").write_text("{}")
        said = refused(runner.run_plan, run, study(20), here)
        assert said.startswith(f"the disk under {run.folder}"), said
        again = "running this again" if left else f"`lockscale study resume {run.id}`"
        assert said.endswith(f"no finished step is lost, {again} continues the run"), said
        done = len(read_entries(run.journal))
        assert done == 1 and not run.rows.exists(), done
        left = None
        ballast.unlink()
        rows = read_rows(runner.run_plan(run, study(20), here))
        assert len(rows) == len(rows.drop_duplicates(key)) == 4 * 2 * 2, len(rows)
        subprocess.run(["rm", "-r", run.folder], check=True)
        print("whole")
"""
)
TARGET = (
    COMMON
    + """
    run = Run(outside / "run")
    run.folder.mkdir()
    here = LocalTarget(name="here", kind="local", folder=str(Path.cwd()))
    try:
        runner.run_plan(run, study(100), here)
    except RunFailed as error:
        print(error)
    assert not run.journal.exists() and not os.listdir()
    subprocess.run(["mount", "-o", "remount,nr_inodes=4096", "."], check=True)
    rows = read_rows(runner.run_plan(run, study(100), here))
    print(len(rows), len(rows.drop_duplicates(key)))
"""
)


@pytest.mark.slow
def test_the_controllers_disk_fills_up_in_the_middle(tmp_path: Path):
    (tmp_path / "disk").mkdir()
    assert run_on_small_disk(tmp_path / "disk", 256, CONTROLLER, str(tmp_path)) == ["whole"] * 6


@pytest.mark.slow
def test_the_targets_disk_fills_up_in_the_middle(tmp_path: Path):
    (tmp_path / "disk").mkdir()
    sentence, rows = run_on_small_disk(tmp_path / "disk", 1024, TARGET, str(tmp_path))
    assert "No space left on device" in sentence and "exited with status" in sentence
    assert rows == "16 16"
