# SPDX-License-Identifier: MIT
"""kernel-patches/base.toml: what it lacks or has too many is told by its name."""

from pathlib import Path

import pytest

from command import Lockscale
from lockscale import paths
from lockscale.cli import main
from lockscale.errors import BadInput
from lockscale.kernels.base import VARIABLE, base, bases, build_kind

WHOLE = (paths.KERNEL_PATCHES / "base.toml").read_text()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "KERNEL_PATCHES", tmp_path)
    return tmp_path / "base.toml"


@pytest.mark.parametrize("key", ["line", "package", "tarball", "tested", "configs"])
def test_a_key_that_is_missing_is_named(file: Path, key: str):
    lines = WHOLE.splitlines(keepends=True)
    first = lines.index("[kinds.rate]  # the only one that gives rates\n") if key == "configs" else 0
    at = next(n for n, line in enumerate(lines) if n >= first and line.startswith(f"{key} = "))
    file.write_text("".join(lines[:at] + lines[at + 1 :]))
    where = "kinds.rate.configs" if key == "configs" else f"base.0.{key}"
    with pytest.raises(BadInput, match=rf"base\.toml: {where}: Field required$"):
        base()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "base: Field required"),
        (WHOLE.split("# What a build is for")[0], "kinds: Field required"),
        (WHOLE.replace('line = "6.12"', "line = 6.12"), r"base\.0\.line: Input should be a valid string"),
        (WHOLE.replace("on_top", "ontop"), r"kinds\.observe\.ontop: Extra inputs are not permitted"),
        (WHOLE.replace('configs = ["guest.config"]', "configs = []"), r"kinds\.rate\.configs: List should"),
        ('line = "6.12', r"is not TOML \("),
    ],
)
def test_what_it_does_not_know_is_refused_in_a_sentence(file: Path, text: str, says: str):
    file.write_text(text)
    with pytest.raises(BadInput, match=rf"base\.toml:? {says}"):
        base()


def test_without_the_kind_that_gives_rates_nothing_is_built(file: Path):
    file.write_text(WHOLE.replace("[kinds.rate]", "[kinds.rates]"))
    with pytest.raises(BadInput, match=r"^there is no kind of build 'rate': did you mean rates\?$"):
        build_kind("rate")


def test_the_command_ends_in_that_sentence(file: Path, capsys: pytest.CaptureFixture[str]):
    file.write_text(WHOLE.replace("tarball = ", "archive = ", 1))
    with pytest.raises(SystemExit, match="2"):
        main(["patches", "check"])
    said = capsys.readouterr()
    assert said.out == "" and "Traceback" not in said.err and "there is no series" in said.err
    (file.parent / "s/arm").mkdir(parents=True)
    (file.parent / "s/arm/series").touch()
    with pytest.raises(SystemExit, match="2"):
        main(["patches", "check"])
    assert capsys.readouterr().err.endswith("base.toml: base.0.tarball: Field required\n")


def test_the_base_is_the_first_or_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch):
    first, newest = bases()
    assert base() == first and base(newest.line) == newest
    monkeypatch.setenv(VARIABLE, newest.line)
    assert base() == newest and base(first.line) == first


def test_a_base_that_is_not_there_is_refused_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit, match="2"):
        main(["patches", "check", "--base", "9.9"])
    sentence = "there is no base '9.9' in kernel-patches/base.toml (known: 6.12, 7.3)\n"
    assert capsys.readouterr().err == f"lockscale: {sentence}"
    monkeypatch.setenv(VARIABLE, "9.9")
    with pytest.raises(SystemExit, match="2"):
        main(["patches", "check"])
    assert capsys.readouterr().err.endswith(f"{VARIABLE}: {sentence}")


def test_a_command_on_another_base_leaves_the_next_one_on_its_own(lockscale: Lockscale):
    newest, first = (
        {(one["study"], one["arm"]): one["patches"] for one in lockscale(*argv).value}
        for argv in (("patches", "list", "--base", "7.3", "--json"), ("patches", "list", "--json"))
    )
    several, one_goal = ("group-trylock", "multi-goal"), ("group-trylock", "trylock")
    assert (first[several], first[one_goal]) == (1, 0)  # 6.12 has one goal, 7.3 has several
    assert (newest[several], newest[one_goal]) == (0, 1)
