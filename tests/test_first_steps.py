# SPDX-License-Identifier: MIT
"""What a newcomer meets: the five first steps, completion in a shell, a new study, the version."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from command import SCRIPT, Lockscale
from lockscale import paths
from lockscale.cli import cli
from lockscale.measure.study_check import check_study
from lockscale.study.file import load_study
from lockscale.study.tables import beside, study_tables

VERSION = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]["version"]


def steps(text: str) -> list[str]:
    """The commands that stand one a line, without what is said of each."""
    return [re.split(r"\s{2,}", line.strip())[0] for line in text.splitlines() if line.startswith("  ")]


def test_alone_it_names_five_things_in_one_line_each(lockscale: Lockscale):
    said = lockscale()
    assert said.status == 0 and not said.err
    assert len(steps(said.out)) == 5 and max(map(len, said.out.splitlines())) <= 80
    assert all(
        len(re.split(r"\s{2,}", line.strip())) == 2 for line in said.out.splitlines() if line[:2] == "  "
    )


def test_each_of_the_five_is_a_command_with_the_options_that_it_has(lockscale: Lockscale):
    for step in steps(lockscale().out):
        group: click.Command = cli
        words = step.split()[1:]
        while isinstance(group, click.Group):
            group = group.commands[words.pop(0)]
        group.make_context(step, words)  # raises where an option or a value is none


@pytest.fixture
def own_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree in which a study can be made."""
    for name in ("STUDIES", "KERNEL_PATCHES"):
        shutil.copytree(getattr(paths, name), tmp_path / name)
        monkeypatch.setattr(paths, name, tmp_path / name)
    return tmp_path


def test_a_new_study_is_whole_as_it_stands(own_tree: Path, lockscale: Lockscale):
    said = lockscale("new", "study", "dir-lock", "--json").value
    assert said["file"] == str(own_tree / "STUDIES/dir-lock.yaml")
    shown = lockscale("study", "show", "dir-lock", "--json")
    assert shown.status == 0 and shown.value["name"] == "dir-lock"
    assert "with-patch (patched" in lockscale("study", "show", "dir-lock").out
    study = load_study("dir-lock")
    check_study(study)
    assert study.problem and study.story == study.limits == ""  # no "write here" gets into a commit message
    assert study_tables(study, [beside(study)])
    assert study.series_of(study.unpatched.name).patches == study.series_of(study.patched.name).patches == ()
    folder = Path(said["folder"])
    assert (folder / "as-is/series").read_text() == "" and (folder / "with-patch/series").read_text()[
        0
    ] == "#"
    assert "git format-patch" in (folder / "README.md").read_text()
    arms = {(row["study"], row["arm"]) for row in lockscale("patches", "list", "--json").value}
    assert {("dir-lock", "as-is"), ("dir-lock", "with-patch")} <= arms


@pytest.mark.parametrize(
    "name", ["1", "0x10", "010", "1e3", "true", "null", "no", "2024-01-01", "2024-99-99"]
)
def test_a_name_that_yaml_takes_for_a_number_or_a_date_is_read_back(
    name: str, own_tree: Path, lockscale: Lockscale
):
    assert lockscale("new", "study", name).status == 0
    assert load_study(name).name == name
    assert lockscale("study", "list").status == 0


def test_a_patch_that_is_put_in_is_the_arms(own_tree: Path, lockscale: Lockscale):
    folder = Path(lockscale("new", "study", "dir-lock", "--json").value["folder"])
    patch = next((paths.ROOT / "docs/own-study/look-again").glob("*.patch"))
    shutil.copy(patch, folder / "with-patch")
    with (folder / "with-patch/series").open("a") as series:
        series.write(f"{patch.name}\n")
    (found,) = load_study("dir-lock").series_of("with-patch").patches
    assert found.name == patch.name
    (folder / "with-patch/series").write_text("nosuch.patch\n")
    refused = lockscale("study", "show", "dir-lock")
    assert refused.status == 2 and "nosuch.patch" in refused.err and refused.out == ""


def test_a_study_py_that_cannot_be_run_is_refused_where_its_study_is_shown(
    own_tree: Path, lockscale: Lockscale
):
    folder = Path(lockscale("new", "study", "dir-lock", "--json").value["folder"])
    (folder / "study.py").write_text("STUDY = StudyParts(nam='dir-lock')\n")
    refused = lockscale("study", "show", "dir-lock")
    assert refused.status == 2 and "study.py line 1: NameError" in refused.err and refused.out == ""


@pytest.mark.parametrize("name", ["inode-claim", "../up", "Upper", "", "a b", "x" * 65])
def test_a_name_that_is_taken_or_none_writes_nothing(name: str, own_tree: Path, lockscale: Lockscale):
    before = sorted(own_tree.rglob("*"))
    said = lockscale("new", "study", name)
    assert said.status == 2 and said.err.count("\n") == 1
    assert sorted(own_tree.rglob("*")) == before


def test_a_study_that_cannot_be_written_leaves_nothing(
    own_tree: Path, lockscale: Lockscale, monkeypatch: pytest.MonkeyPatch
):
    def full(path: Path, text: str) -> None:
        if path.suffix == ".yaml":
            raise OSError(28, "No space left on device", str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    before = sorted(own_tree.rglob("*"))
    monkeypatch.setattr("lockscale.studies.skeleton.write_text", full)
    assert lockscale("new", "study", "dir-lock").status == 2
    assert sorted(own_tree.rglob("*")) == before


def completed(*words: str) -> set[str]:
    """What bash is offered for the last word."""
    env = {**os.environ, "_LOCKSCALE_COMPLETE": "bash_complete"}
    env |= {"COMP_WORDS": "\n".join(["lockscale", *words]), "COMP_CWORD": str(len(words))}
    out = subprocess.run([SCRIPT], env=env, capture_output=True, text=True, check=True).stdout
    return set(out.splitlines())


def test_commands_options_and_names_are_completed():
    assert completed("stu") == {"plain,study"}
    assert {"plain,--model"} <= completed("whatif", "--mod")
    assert "plain,inode-claim" in completed("study", "run", "ino")
    assert "plain,manycore" in completed("study", "run", "inode-claim", "--target", "m")
    run = next(paths.MEASURED.glob("*/study.json")).parent.name
    assert f"plain,{run}" in completed("report", run[:-3])
    assert completed("compare", "s1_r") == {"plain,s1_rates"}
    assert completed("compare", "./my") == {"file,./my"}


def test_bash_reads_what_it_is_given_and_completes(tmp_path: Path):
    script = tmp_path / "completion"
    script.write_text(
        subprocess.run([SCRIPT, "--show-completion", "bash"], capture_output=True, text=True).stdout
    )
    ask = f"""
    source {script}
    COMP_WORDS=({SCRIPT} study sho) COMP_CWORD=2
    _lockscale_completion {SCRIPT}
    printf '%s\\n' "${{COMPREPLY[@]}}"
    complete -p lockscale
    """
    said = subprocess.run(["bash", "--norc", "-c", ask], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[0] == "show" and "_lockscale_completion" in said.stdout


def test_zsh_and_fish_get_theirs_and_an_unknown_shell_a_sentence(lockscale: Lockscale, monkeypatch):
    assert "#compdef lockscale" in lockscale("--show-completion", "zsh").out
    assert "complete --no-files --command lockscale" in lockscale("--show-completion", "fish").out
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert lockscale("--show-completion").out == lockscale("--show-completion", "fish").out
    said = lockscale("--show-completion", "tcsh")
    assert said.status == 2 and "no completion for the shell 'tcsh'" in said.err


def test_the_version_is_one_in_the_command_the_changelog_and_the_citation(lockscale: Lockscale):
    assert lockscale("--version").out.split()[-1] == VERSION
    headings = re.findall(r"(?m)^## (\S+)", (paths.ROOT / "CHANGELOG.md").read_text())
    assert headings[0] == VERSION and len(headings) == len(set(headings))
    assert yaml.safe_load((paths.ROOT / "CITATION.cff").read_text())["version"] == VERSION


def test_the_citation_has_what_its_schema_asks_for():
    said = yaml.safe_load((paths.ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(said)  # required by schema 1.2.0
    assert said["cff-version"] == "1.2.0" and said["type"] in ("software", "dataset")
    assert all(isinstance(one["name"], str) for one in said["authors"])
    licences = {path.stem for path in (paths.ROOT / "LICENSES").iterdir()}
    assert set(said["license"]) == licences
    assert len(said["keywords"]) == len(set(said["keywords"])) and all(map(json.dumps, said["keywords"]))
