# SPDX-License-Identifier: MIT
"""What is wrong on the command line is one sentence on stderr and exit 2, before anything is written."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from command import Lockscale, script
from lockscale import paths
from lockscale.errors import RunFailed
from lockscale.show.pipeline import TOOLS

WRONG = [
    "nope",
    "study",
    "study nope",
    "study list --nope",
    "study list extra",
    "study show",
    "study show inode-clam",
    "study run inode-clam",
    "study run inode-claim --target nope",
    "study run inode-claim -p iteration=3",
    "study run inode-claim -p iterations=many",
    "study run inode-claim -p iterations=1",
    "study run inode-claim -p novalue",
    "study run inode-claim -p =3",
    "study run inode-claim -p guests=[",
    "study resume nope",
    "patches check nope",
    "patches check inode-claim/nope",
    "kernel build nope",
    "kernel build inode-claim/nope",
    "kernel build inode-claim/search-locked --source /nope",
    "target boot nope inode-claim/search-locked",
    "target boot nope inode-claim/search-locked --show-command",
    "target boot qemu inode-claim/nope",
    "target boot qemu inode-claim/search-locked --cpus 0",
    "doctor --target nope",
    "parse nope",
    "parse .",
    "parse README.md",
    "parse README.md --tool fio",
    "parse README.md --tool mdtest",
    "audit nope",
    "sim nope",
    "sim nope.py",
    "sim README.md.py",
    "sim tests/sim/oracles.py",
    "sim inode_claim --threads x",
    "sim inode_claim --threads 1,,2",
    "sim inode_claim --threads 0",
    "sim inode_claim --threads 1,1000000",
    "sim inode_claim --replications 0",
    "sim inode_claim --seed -1",
    "sim inode_claim -p novalue",
    "sim inode_claim -p hold=3",
    "sim inode_claim -p hold_ns=-1",
    "sim inode_claim -p hold_ns=nan",
    "sim inode_claim -p hold_ns=1e999",
    "sim inode_claim -p hold_ns=[1]",
    "sim inode_claim -p search_locked=3",
    "sim inode_claim -p hold_ns=1 -p hold_ns=2",
    "sim inode_claim --threads 48 --trace /nope/storm.html",
    "sim inode_claim --threads 48 --trace LICENSES/nope/storm.json",
    "sweep inode_claim --threads 48 --keep /nope/points.jsonl",
    "export inode-claim --format csv --output README.md/nope",
    "batch notebooks/batches/simulated-studies.yaml --output README.md/nope",
    "patches export inode-claim/steal-retry --format mbox --output README.md/nope.mbox",
    "fit nope",
    "fit s1_function_cost",
    "fit s4_creat_clo --model nope",
    "fit s4_creat_clo --n-min 1000",
    "fit s4_creat_clo --n-min x",
]


@pytest.mark.parametrize("json_too", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("line", WRONG)
def test_bad_input_is_one_sentence_on_stderr_and_exit_2(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch, line: str, json_too: bool
):
    monkeypatch.chdir(paths.ROOT)
    said = lockscale(*line.split(), *(["--json"] if json_too else []))
    assert said.status == 2 and said.out == ""
    assert said.err.startswith("lockscale: ") and said.err.count("\n") == 1
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "sim inode_claim --threads 48 --trace /nope/x.html",
            "because there is no folder /nope: create it first",
        ),
        ("sweep inode_claim --threads 48 --keep /nope/points.jsonl", "because there is no folder /nope"),
        ("export inode-claim --format csv --output README.md/nope", "README.md is a file: name another"),
        (
            "export inode-claim --format csv --output /proc/x",
            "because the folder /proc is not writable: name",
        ),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_simulated(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch, line: str, says: str
):
    def simulated(*_: object, **__: object) -> None:
        raise AssertionError("it is refused first")

    for name in (
        "show.simulated.simulate_points",
        "show.exports.simulated_points",
        "sweeps.sweep",
        "sim.trace.trace",
    ):
        monkeypatch.setattr(f"lockscale.{name}", simulated)
    monkeypatch.chdir(paths.ROOT)
    said = lockscale(*line.split())
    assert said.status == 2 and says in said.err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("study run inode-claim -p iteration=3", "did you mean iterations?"),
        ("study run inode-claim -p iterations=3 -p iterations=5", "parameter iterations is given twice"),
        ("study run inode-claim -p iterations=-1", "lockscale: parameter iterations: "),
        ("study run inode-claim -p arms=[nope]", "lockscale: parameter arms: study inode-claim has no arm"),
        ("study show inode-clam", "did you mean inode-claim?"),
        ("study new mine", "Did you mean lockscale new study?"),
        ("patches build", "Did you mean lockscale kernel build?"),
        ("sim inode_claim -p hold=3", "did you mean hold_ns?"),
        ("sim inode_clam", "did you mean inode_claim?"),
        ("audit s1_rate", "did you mean s1_rates"),
        ("study", "lockscale study --help"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_right_one(lockscale: Lockscale, line: str, says: str):
    assert says in lockscale(*line.split()).err


def test_no_name_in_a_sentence_steers_the_terminal(lockscale: Lockscale):
    said = lockscale("audit", "no\x1b[31m\a.csv")
    assert said.status == 2 and said.err.startswith("lockscale: no?[31m?.csv: No such file")


STEERS = "\x1b]0;mine\a\u202e"


def test_no_function_in_a_profile_steers_the_terminal(lockscale: Lockscale, tmp_path: Path):
    profile, name = tmp_path / "report.txt", f"ext4_{STEERS}create"
    profile.write_text(f"  60.00%  touch  [kernel.kallsyms]  [k] {name}\n" * 2)
    said = lockscale("parse", str(profile))
    assert said.status == 0 and "\x1b" not in said.out + said.err
    assert said.out.count("ext4_?]0;mine??create") == 2 and "ext4_?]0;mine??create appears" in said.err


def test_what_a_console_said_last_steers_no_terminal(lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch):
    def fail(**_: object) -> None:
        raise RunFailed(f"the guest panicked:\n\tKernel panic {STEERS}")

    monkeypatch.setattr("lockscale.cli.cli.main", fail)
    assert lockscale().err == "lockscale: the guest panicked:\n\tKernel panic ?]0;mine??\n"


def test_a_sentence_of_several_lines_is_printed_as_one(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)
    said = lockscale("parse", "no\nsuch\nfile")
    assert said.status == 2 and said.err.count("\n") == 1


@pytest.mark.parametrize("missing", ["gcc", "qemu-system-x86_64", "chromium"])
def test_a_missing_tool_is_named_with_its_package_before_anything_is_written(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str
):
    tools, runs = tmp_path / "bin", tmp_path / "runs"
    tools.mkdir()
    for tool in {*TOOLS, "chromium"} - {missing}:
        (tools / tool).symlink_to(shutil.which(tool) or pytest.fail(f"{tool} is not installed"))
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setattr(paths, "RUNS", runs)
    said = lockscale("study", "run", "inode-claim")
    assert said.status == 2 and said.out == "" and said.err.count("\n") == 1
    assert said.err.startswith(f"lockscale: {missing} is missing") and "apt-get install" in said.err
    assert not runs.exists()


@pytest.mark.slow
def test_a_folder_that_cannot_hold_runs_is_one_sentence(tmp_path: Path):
    (tmp_path / "file").touch()
    where = {"LOCKSCALE_RUNS": str(tmp_path / "file/runs"), "LOCKSCALE_MACHINE_LOCK": str(tmp_path / "lock")}
    said = script("study", "run", "inode-claim", PATH="/usr/bin", **where)
    assert said.status == 2 and said.out == "" and said.err.count("\n") == 1
    assert str(tmp_path / "file/runs") in said.err


OF_A_CLONE = [
    "study list",
    "study show inode-claim",
    "new study mine",
    "patches list",
    "patches check",
    "target list",
    "audit",
    "fit s3_fallocate2",
    "export",
    "report inode-claim",
    "scoreboard --gains",
    "scoreboard --again",
    "scale",
    "casebook list",
    "whatif -r 1:35k,64:140k",
    "whatif inode-claim",
]


@pytest.mark.parametrize("line", OF_A_CLONE)
def test_a_root_that_is_no_clone_is_one_sentence_and_not_an_empty_table(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str
):
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    said = lockscale(*line.split())
    assert said.status == 2 and said.out == "" and said.err.count("\n") == 1
    assert f"lockscale: {tmp_path} is no clone of lockscale" in said.err and "LOCKSCALE_ROOT" in said.err
    assert list(tmp_path.iterdir()) == []


def test_the_root_of_the_environment_is_the_one_that_is_looked_at(tmp_path: Path):
    said = script("doctor", **{**os.environ, "LOCKSCALE_ROOT": str(tmp_path)})
    assert said.status == 2 and said.err.startswith(f"lockscale: {tmp_path} is no clone of lockscale")


@pytest.mark.parametrize(("line", "folder"), [("study status", "RUNS"), ("kernel list", "KERNEL_CACHE")])
def test_an_empty_list_says_where_it_looked(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, folder: str
):
    monkeypatch.setattr(paths, folder, tmp_path / "none")
    said = lockscale(*line.split())
    assert said.status == 0 and said.out.startswith("there is no ") and str(tmp_path / "none") in said.out
    assert lockscale(*line.split(), "--json").value == []


@pytest.mark.parametrize(
    ("line", "folder", "says"),
    [
        (
            "new study mine",
            "KERNEL_PATCHES",
            "a new study is written beside the others, but the folder /proc ",
        ),
        ("new study mine", "STUDIES", "a new study is written beside the others, but the folder /proc "),
        ("study keep nope", "MEASURED", "a run is kept in data/measured, but the folder /proc "),
        ("scoreboard --keep", "DATA", "the scoreboard is kept in data/, but the folder /proc "),
        ("scoreboard --again --keep", "MEASURED", "is kept in data/measured, but the folder /proc "),
        ("scale --keep", "DATA", "the scale study is kept in data/, but the folder /proc "),
        ("patches check --boot --write-table", "KERNEL_PATCHES", "README.md, but the folder /proc "),
    ],
)
def test_what_is_written_into_a_clone_that_takes_nothing_is_refused_first(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch, line: str, folder: str, says: str
):
    monkeypatch.setattr(paths, folder, Path("/proc"))  # where nobody may make a file, root neither
    said = lockscale(*line.split())
    assert said.status == 2 and said.err.count("\n") == 1 and says in said.err
    assert "is not writable: work in a clone that is, and name it in LOCKSCALE_ROOT" in said.err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("report inode-claim", ".html cannot be written because the folder /proc is not writable"),
        ("patches export inode-claim/steal-retry --format mbox", "the folder /proc is not writable"),
        ("export inode-claim --format csv --output x", "x cannot be written because the folder /proc is not"),
    ],
)
def test_an_output_that_cannot_be_here_names_the_option_that_puts_it_elsewhere(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch, line: str, says: str
):
    monkeypatch.chdir("/proc")
    said = lockscale(*line.split())
    assert said.status == 2 and says in said.err
    assert said.err.endswith("is not writable: name another one with --output\n")


@pytest.mark.parametrize("figure", ["/proc/score.svg", "/nope/score.svg", "score.jpeg"])
def test_a_figure_that_cannot_be_written_is_refused_before_cases_are_scored(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch, figure: str
):
    monkeypatch.setattr("lockscale.predict.casebook_score.score_cases", lambda _: pytest.fail("scored"))
    said = lockscale("casebook", "score", "--figure", figure)
    assert said.status == 2 and figure in said.err and said.err.count("\n") == 1
    assert not Path("/nope").exists()


@pytest.mark.parametrize(("variable", "folder"), [("LOCKSCALE_CACHE", "CACHE"), ("LOCKSCALE_RUNS", "RUNS")])
def test_a_read_only_folder_is_named_with_the_variable_that_moves_it(
    lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, folder: str
):
    def build(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(tmp_path / folder / "kernels"))

    monkeypatch.setattr(paths, folder, tmp_path / folder)
    monkeypatch.setattr("lockscale.kernels.build.build", build)
    said = lockscale("kernel", "build", "inode-claim/steal-retry")
    why = f"{tmp_path / folder / 'kernels'} cannot be written because the folder {tmp_path} is not writable"
    assert (said.status, said.err) == (2, f"lockscale: {why}: name another one in {variable}\n")
