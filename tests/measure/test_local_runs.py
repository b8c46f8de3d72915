# SPDX-License-Identifier: MIT
"""Whole runs on this machine as it is: what they say of themselves, and what hostile tools cannot do."""

import json
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from synthetic_rows import rates

from command import Lockscale
from lockscale import paths
from lockscale.errors import BadInput, FullDisk, RunFailed
from lockscale.measure import arm_boot
from lockscale.measure import target as target_module
from lockscale.measure import target_local as place_local
from lockscale.measure.curate import scrub
from lockscale.measure.power import detection, earlier_rows, noise_of
from lockscale.measure.rows import read_rows
from lockscale.measure.run import run_plan
from lockscale.measure.run_folder import Run
from lockscale.measure.run_progress import so_far, time_text
from lockscale.measure.target_local import HeldMachine
from lockscale.measure.target_ssh import names_of
from lockscale.programs import need
from lockscale.scratch import NAME
from lockscale.show import pipeline
from lockscale.show.pipeline import iterations_to_detect
from lockscale.study.file import LocalTarget, load_study, load_target

SMALL = {"guests": [{"cpus": 1, "processes": [1, 2]}], "operations_per_point": 40, "iterations": 2}
pytestmark = pytest.mark.usefixtures("own_places")
HERE = LocalTarget(name="here", kind="local")
HOSTILE = [
    "", "\x1b[31mred\x1b[0m\n", "$(touch ran)\n`touch ran`; touch ran\n", '{"tool":"fsload"}\n', "\x00\xff\n",
    '{"tool":"../../ran","version":"0.2.0"}\n', "!!python/object/apply:os.mkdir [ran]\n", "x" * 100_000,
]  # fmt: skip


@pytest.mark.slow
def test_rows_say_that_a_machine_as_it_is_compares_no_kernels(run: Run):
    rows = read_rows(run_plan(run, load_study("inode-claim", SMALL), HERE))
    assert set(rows.arm) == {"as-found"} and set(rows.target) == {"here"}
    assert set(rows.kernel) == {os.uname().release} and not rows.profiled.any()
    assert set(rows.origin) in ({"vm"}, {"hardware"})
    said = json.loads(run.provenance.read_text())
    assert said["kernels"] == {} and said["accel"] is None and said["host"] == said["controllers"][-1]
    assert not list(run.folder.glob(NAME))


FOUND = {
    "mounts": [{"device": "/dev/mapper/lab--seven--vg-root", "where": "/srv/data"}, {"device": "/dev/sda1"}],
    "kernel_command_line": "ro ip=10.9.8.7::10.9.8.1:255.255.255.0:lab-seven:eth0 quiet",
}


def test_what_a_server_says_of_itself_is_kept_without_its_names(run: Run, monkeypatch: pytest.MonkeyPatch):
    """Debian's installer calls the group of volumes by the host."""
    names = names_of("lab-seven.example.org", "lab-seven")
    monkeypatch.setattr(HeldMachine, "scrub", lambda _, text: scrub(text, names))
    monkeypatch.setattr(arm_boot, "as_found", lambda *_: FOUND)
    run_plan(run, load_study("inode-claim", SMALL), HERE)
    for kept in (run.provenance, run.journal):
        said = kept.read_text()
        assert not [name for name in ("seven", "/ada", "10.9.8") if name in said], kept
        assert "/dev/sda1" in said and "quiet" in said


def test_a_run_that_ended_in_an_error_tells_no_more_of_itself(run: Run, monkeypatch: pytest.MonkeyPatch):
    """In a notebook, where the error is kept, its bar went on below a cell that had failed."""

    def full(*_: object) -> None:
        raise FullDisk("the disk is full")

    monkeypatch.setattr("lockscale.measure.run._keep", full)
    before = threading.active_count()
    with pytest.raises(BadInput, match=r"^the disk is full") as kept:
        run_plan(run, load_study("inode-claim", SMALL), HERE)
    assert kept.tb and threading.active_count() == before


def test_a_finished_run_of_other_kernels_is_not_told_to_be_of_these(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    """No step is left that would boot one, and its provenance was written anew with what is built now."""
    study = load_study("inode-claim", SMALL)
    run_plan(run, study, HERE)
    said = run.provenance.read_text()
    other = SimpleNamespace(build_id="cd" * 20)
    monkeypatch.setattr(HeldMachine, "kernels", {"as-found": other})
    with pytest.raises(
        BadInput, match=f"arm as-found was measured as build-id .* and runs as {other.build_id}"
    ):
        run_plan(run, study, HERE)
    assert run.provenance.read_text() == said


def test_a_run_of_this_machine_does_not_go_on_on_one_with_another_processor(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    """As where two machines share the folder of runs, and run the same kernel."""
    study = load_study("inode-claim", SMALL)
    run_plan(run, study, HERE)
    here = target_module.host()
    monkeypatch.setattr(target_module, "host", lambda: {**here, "cpu_model": "another"})
    with pytest.raises(
        BadInput, match=r"step 001-aa0-as-found-1cpu of .* and here is \d+ x another: continue"
    ):
        run_plan(run, study, HERE)


def test_a_second_controller_of_one_run_leaves_the_folder_of_the_firsts_load(run: Run):
    """As two have it that name different locks of the machine; a killed one's folder goes."""
    held = HeldMachine(run, load_study("inode-claim", SMALL), HERE)
    killed = run.folder / NAME.replace("*", "load").replace("????????", "12345678")
    killed.mkdir(mode=0o700)
    with held.boot("as-found", 1) as first:
        assert not killed.exists()
        (Path(first.folder) / "file").touch()
        with held.boot("as-found", 1) as second:
            assert not list(Path(second.folder).iterdir())
        assert (Path(first.folder) / "file").exists() and not Path(second.folder).exists()


def test_latencies_are_rows_where_the_study_asks_for_them(run: Run):
    rows = read_rows(run_plan(run, load_study("inode-claim", {**SMALL, "latency": True}), HERE))
    timed = rows[rows.metric == "latency"]
    assert {"total_p50", "total_p99", "total_max"} <= set(timed.statistic) and set(timed.unit) == {"ns"}


def test_warm_up_blocks_are_marked(run: Run):
    rows = read_rows(run_plan(run, load_study("inode-claim", {**SMALL, "warm_up_blocks": 1}), HERE))
    assert list(rows.pair.unique()) == ["warm-up", "aa", "ab"]
    table = so_far(rows.to_dict("records"))
    assert table.loc[(1, 2), "as-found"].endswith("(2)")
    assert table.loc[(1, 2), "as-found (A/A)"].endswith("(2)")


def test_more_processors_than_there_are_is_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    points = {"guests": [{"cpus": 2, "processes": [1]}]}
    with pytest.raises(BadInput, match="asks for 2 CPUs and target here has 1"):
        run_plan(run, load_study("inode-claim", points), HERE)


def test_mdtest_is_refused_where_it_is_not_before_a_run_is_begun(
    lockscale: Lockscale, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for tool in ("setpriv", "sh"):
        (tmp_path / tool).symlink_to(need(tool))
    monkeypatch.setenv("PATH", str(tmp_path))
    argv = ("study", "run", "inode-claim", "--target", "local", *parameters(), "-p", "tool=mdtest")
    said = lockscale(*argv)
    assert said.status == 2 and "the target has no mdtest with mpirun: install IOR" in said.err
    assert not list(paths.RUNS.glob("*"))


def test_a_place_for_runs_that_cannot_be_one_is_said_with_what_to_do(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    argv = ("study", "run", "inode-claim", "--target", "local", *parameters())
    (tmp_path / "file").touch()
    monkeypatch.setattr(paths, "RUNS", tmp_path / "file")
    said = lockscale(*argv)
    assert said.status == 2
    assert said.err.endswith("file is a file: name another folder in LOCKSCALE_RUNS\n")
    monkeypatch.setattr(paths, "RUNS", Path("/proc/runs"))  # where nobody may make a folder, root neither
    said = lockscale(*argv)
    assert said.status == 2 and "is not writable: name another one in LOCKSCALE_RUNS" in said.err
    assert not paths.RUNS.exists()


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:20]))
@pytest.mark.parametrize("status", [0, 3])
def test_a_hostile_tool_gives_a_sentence_and_no_file(
    run: Run, inside: Path, monkeypatch, text: str, status: int
):
    tool = inside / "fsload"
    (inside / "said").write_text(text, errors="surrogateescape")
    tool.write_text(f"#!/bin/sh\ncat {inside}/said\ncat {inside}/said >&2\nexit {status}\n")
    tool.chmod(0o755)
    monkeypatch.setattr(place_local.fsload, "build", lambda _: tool)
    before = set(inside.rglob("*")) - {run.folder, *run.folder.rglob("*")}
    with pytest.raises((BadInput, RunFailed)) as refused:
        run_plan(run, load_study("inode-claim", {**SMALL, "tool": "fsload"}), HERE)
    assert str(refused.value).isprintable() and len(str(refused.value)) < 1200
    assert set(inside.rglob("*")) - {run.folder, *run.folder.rglob("*")} == before
    assert not run.rows.exists() and not run.journal.exists()


def parameters() -> list[str]:
    return [word for name, value in SMALL.items() for word in ("-p", f"{name}={json.dumps(value)}")]


def test_the_command_measures_shows_how_to_repeat_and_knows_the_noise(lockscale: Lockscale):
    done = lockscale("study", "run", "inode-claim", "--target", "local", *parameters(), "--json")
    assert done.status == 0, done.err
    name = done.value["run"]
    assert "4 steps to do" in done.err and "all steps are done" in done.err and "as-found" in done.err
    told = lockscale("study", "show", name, "--json").value
    (command,) = [line for line in told["commands"] if "study run" in line]
    assert command.startswith("lockscale study run inode-claim --target local -p ")
    assert "'operations_per_point=40'" in command or "operations_per_point=40" in command
    assert told["seed"] == 1 and told["study_sha256"] and told["packages"]["numpy"]
    text = lockscale("study", "show", name)
    assert text.status == 0 and command in text.out
    again = lockscale("study", "resume", name)
    assert again.status == 0 and "4 steps" not in again.err
    points = {name: value for name, value in SMALL.items() if name != "iterations"}
    assert (
        noise_of(earlier_rows(load_study("inode-claim", SMALL), "local"), load_study("inode-claim"))[1] >= 2
    )
    with pytest.raises(BadInput, match="there is no comparison"):
        iterations_to_detect("inode-claim", "local", points, "900%")
    with pytest.raises(BadInput, match="leave out -p iterations"):
        iterations_to_detect("inode-claim", "local", SMALL, "3%")


def test_a_disk_that_is_still_full_says_again_how_to_go_on(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch
):
    done = lockscale("study", "run", "inode-claim", "--target", "local", *parameters(), "--json")

    def full(*_: object) -> None:
        raise FullDisk("the disk is full: free some space")

    monkeypatch.setattr(pipeline, "keep_study", full)
    said = lockscale("study", "resume", done.value["run"])
    again = f"`lockscale study resume {done.value['run']}` continues the run\n"
    assert said.status == 2 and said.err.endswith(f"no finished step is lost, {again}")


def test_detect_asks_for_as_many_iterations_as_the_noise_needs(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch
):
    def asked(name, target, changes, *, short):
        raise BadInput(f"{name} {target} {changes}")

    monkeypatch.setattr("lockscale.show.pipeline.run_study", asked)
    rows = rates(1, 3, noise=0.01).to_dict("records")
    monkeypatch.setattr("lockscale.show.pipeline.earlier_rows", lambda *_: pd.DataFrame(rows))
    told = lockscale("study", "run", "inode-claim", "--target", "qemu", "--detect", "5%", "-p", "seed=2")
    sentence, refused = told.err.splitlines()
    planned = detection(pd.DataFrame(rows), load_study("inode-claim"), 5)
    assert told.status == 2 and sentence == planned.says and f"{planned.iterations} iterations" in sentence
    assert refused == f"lockscale: inode-claim qemu {{'seed': 2, 'iterations': {planned.iterations}}}"


@pytest.mark.parametrize("short", [False, True])
def test_detect_looks_for_earlier_runs_at_the_points_of_the_target(
    monkeypatch: pytest.MonkeyPatch, short: bool
):
    """A run in virtual time keeps its own points as the study's guests."""
    asked = []

    def earlier(study, target):
        asked.append(study.parameters.guests)
        return rates(1, 3, noise=0.01)

    monkeypatch.setattr(pipeline, "earlier_rows", earlier)
    for name in ("manycore", "qemu"):
        iterations_to_detect("inode-claim", name, {}, "5%", short=short)
    kept = [
        pipeline.study_on(load_target(name), "inode-claim", {}, short=short) for name in ("manycore", "qemu")
    ]
    assert asked == [study.parameters.guests for study in kept] and asked[0] != asked[1]


def test_a_time_is_said_as_a_person_says_it():
    assert [time_text(x) for x in (7.2, 720, 12_600)] == ["7 s", "12 min", "3.5 h"]


def test_nothing_measured_is_an_empty_table():
    assert so_far([]).empty
    row = {"metric": "creates", "test": "create", "pair": "ab", "statistic": "total", "value": 1.0}
    assert so_far([row]).empty and isinstance(so_far([row]), pd.DataFrame)
