# SPDX-License-Identifier: MIT
"""How QEMU is started with a first process of ours: nothing else of its words is another one."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockscale import paths
from lockscale.machines.guest_disks import Scratch
from lockscale.machines.guest_init import write_starter
from lockscale.machines.qemu import Guest, command, qemu_line
from lockscale.tools import c_program

SHOW = ["printf", "%s\\n"]


def started_with(starter: Path, *words: str) -> list[str]:
    done = subprocess.run([starter, *words], capture_output=True, check=True)
    return done.stdout.decode().split("\n")[:-1]


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_starter(tmp_path_factory.mktemp("room") / "qemu", SHOW)


def test_the_guest_starts_with_our_process_which_knows_virtme_ngs(starter: Path) -> None:
    asked = "console=ttyS0 virtme.exec=`c2ggL3Rt` quiet init=/venv/virtme/guest/bin/virtme-ng-init"
    (line,) = started_with(starter, asked)
    first = c_program.build("first-process", paths.GUEST, paths.CACHE / "bin")
    assert line == asked.replace(" init=", " lockscale_init=") + f" init={first}"


@settings(max_examples=30, deadline=None)
@given(
    words=st.lists(st.text(st.characters(codec="ascii", exclude_characters="\0\n")), min_size=1, max_size=4)
)
def test_every_other_word_reaches_qemu_as_it_is(starter: Path, words: list[str]) -> None:
    assert started_with(starter, *words) == words


@pytest.mark.parametrize("line", ["init=/sbin/init", "quiet init=/bin/sh", "quiet init=/x/virtme-init"])
def test_another_first_process_stays(starter: Path, line: str) -> None:
    assert started_with(starter, line) == [line]


def test_a_cache_whose_name_has_a_blank_ends_no_word_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "my cache")
    asked = "quiet init=/venv/virtme/guest/bin/virtme-ng-init"
    assert started_with(write_starter(tmp_path / "qemu", SHOW), asked) == [asked]


def test_a_caches_name_is_none_of_the_starters_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "QEMU$HOME")
    (line,) = started_with(write_starter(tmp_path / "qemu", SHOW), "quiet init=/v/bin/virtme-ng-init")
    assert line.rpartition("/")[0] == f"quiet lockscale_init=/v/bin/virtme-ng-init init={paths.CACHE}/bin"


def test_no_name_of_a_folder_is_a_command_of_virtme_ngs_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """virtme-ng puts its words behind one another, unquoted, and has a shell carry them out."""
    monkeypatch.chdir(tmp_path)
    room = tmp_path / "my runs; touch named; # $(touch named)"
    room.mkdir()
    image = room / "bzImage"
    image.touch()
    guest = Guest(image, 2, 512, "tcg", 60, Scratch(room / "scratch.img", 64, "S1"))
    line = qemu_line(guest)
    assert f"file={room}/scratch.img," in line and str(image) in line
    argv = [word.removeprefix("--qemu-opts=") for word in command(guest, room / "shared", "true")]
    words = " ".join(word for word in argv if "named" in word)
    said = subprocess.run(["sh", "-c", f"printf '%s\\n' {words}"], capture_output=True, text=True, check=True)
    for name in ("bzImage", "shared", "qemu"):
        assert str(room / name) in said.stdout.splitlines()
    assert not (tmp_path / "named").exists()


def test_the_first_process_compiles_without_a_warning(tmp_path: Path) -> None:
    sources = map(str, paths.GUEST.glob("*.c"))
    argv = ["cc", *c_program.FLAGS, "-Werror", *sources, "-o", str(tmp_path / "first-process")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_mounts_nothing_where_it_is_not_the_first_process() -> None:
    first = c_program.build("first-process", paths.GUEST, paths.CACHE / "bin")
    env = {"lockscale_init": "/nowhere/bin/virtme-ng-init"}
    done = subprocess.run([first], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "the kernel starts it in a guest" in done.stderr
