# SPDX-License-Identifier: MIT
"""A kernel source is whole or absent: unpacked once, hashed, of the right line."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from toy_source import tarball

from lockscale.errors import BadInput
from lockscale.kernels import source as source_module
from lockscale.kernels.source import find_source, room_of, unpacked
from small_disk import run_on_small_disk

pytestmark = pytest.mark.usefixtures("own_cache")


def test_a_tarball_is_unpacked_once_and_its_version_kept(tmp_path: Path):
    source = find_source(str(tarball(tmp_path)))
    room = room_of(source)
    tree = unpacked(source, room)
    assert (tree / "fs/a.c").read_bytes().startswith(b"pristine\n")
    assert json.loads((room / "tree.json").read_text()) == {"version": "6.12.99", "sha256": source.sha256}
    (tree / "fs/a.c").write_text("kept")
    assert (unpacked(source, room) / "fs/a.c").read_text() == "kept"


def test_a_tree_has_its_name_once_it_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source = find_source(str(tarball(tmp_path)))
    room = room_of(source)
    (tmp_path / "sync").write_text(f'#!/bin/sh\nls {room} > {tmp_path}/then\necho "$@" > {tmp_path}/synced\n')
    (tmp_path / "sync").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    unpacked(source, room)
    assert (tmp_path / "synced").read_text() == f"--file-system {room}/src.part\n"
    assert "src" not in (tmp_path / "then").read_text().split()


def test_a_source_that_was_refused_is_not_unpacked_for_the_next_arm(tmp_path: Path, monkeypatch):
    path = tarball(tmp_path, "6.6.1")
    said = refused_and_nothing_left(path)
    monkeypatch.setattr(source_module, "_unpack", lambda *_: pytest.fail("unpacked again"))
    assert refused_and_nothing_left(path) == said


def test_a_tree_is_hashed_once_as_long_as_no_file_of_it_changes(tmp_path: Path, monkeypatch):
    tarball(tmp_path)
    tree, hashed = tmp_path / "made" / "linux-6.12", []
    real = source_module.sha256_of
    monkeypatch.setattr(source_module, "sha256_of", lambda path: hashed.append(path.name) or real(path))
    first = find_source(str(tree)).sha256
    assert find_source(str(tree)).sha256 == first
    assert sorted(hashed) == ["Kbuild", "Makefile", "a.c"]
    before = (tree / "fs/a.c").stat()
    content = (tree / "fs/a.c").read_bytes()
    while (tree / "fs/a.c").stat().st_ctime_ns == before.st_ctime_ns:  # the clock of a file system is coarse
        (tree / "fs/a.c").write_bytes(content[::-1])
    os.utime(tree / "fs/a.c", ns=(before.st_atime_ns, before.st_mtime_ns))  # same size, same mtime
    assert find_source(str(tree)).sha256 != first


def test_a_tree_of_the_users_own_is_copied_and_known_by_its_content(tmp_path: Path):
    tarball(tmp_path)
    tree = tmp_path / "made" / "linux-6.12"
    source = find_source(str(tree))
    copy = unpacked(source, room_of(source))
    assert (copy / "fs/a.c").read_bytes() == (tree / "fs/a.c").read_bytes()
    (tree / "fs/a.c").write_text("changed")
    assert find_source(str(tree)).sha256 != source.sha256


def test_the_history_of_a_tree_is_not_copied_with_it(tmp_path: Path):
    """git's folder takes gigabytes, and a worktree's file would lead kernel scripts to the user's own."""
    tarball(tmp_path)
    tree = tmp_path / "made" / "linux-6.12"
    without = find_source(str(tree))
    (tree / ".git").mkdir()
    (tree / ".git" / "pack").write_text("gigabytes")
    (tree / ".clang-format").write_text("")
    source = find_source(str(tree))
    copy = unpacked(source, room_of(source))
    assert sorted(path.name for path in copy.iterdir()) == [".clang-format", "Kbuild", "Makefile", "fs"]
    (tree / ".clang-format").unlink()
    assert find_source(str(tree)) == without, "nor does it decide a kernel"


@pytest.mark.parametrize("made", [".config", "include/config", "arch/x86/include/generated"])
def test_a_tree_in_which_a_kernel_was_built_is_refused_before_it_is_copied(tmp_path: Path, made: str):
    """kbuild refuses it too, with the path of our copy, once all of its objects are hashed and copied."""
    tarball(tmp_path)
    tree = tmp_path / "made" / "linux-6.12"
    (tree / made).mkdir(parents=True)
    with pytest.raises(BadInput, match=rf"a kernel was built in {tree} \({made} is there\): run `make mr"):
        find_source(str(tree))


def test_a_folder_in_which_no_kernel_builds_is_refused_before_the_first_file(tmp_path: Path):
    source = find_source(str(tarball(tmp_path)))
    with pytest.raises(BadInput, match="my cache' contains a space, colon or comma, which kernel builds"):
        unpacked(source, tmp_path / "my cache" / "room")
    assert not (tmp_path / "my cache").exists()


def refused_and_nothing_left(path: Path) -> str:
    source = find_source(str(path))
    with pytest.raises(BadInput) as refused:
        unpacked(source, room_of(source))
    assert not [p for p in room_of(source).iterdir() if p.is_dir() or p.name == "tree.json"]
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_source_of_another_line_is_refused(tmp_path: Path):
    path = tarball(tmp_path, "6.6.1")
    assert refused_and_nothing_left(path) == (
        f"{path} is Linux 6.6.1, but the series are for 6.12.y: give a 6.12.y source, "
        "or name another base with --base"
    )


def test_6_1_is_not_taken_for_6_12(tmp_path: Path):
    assert "is Linux 6.1.2," in refused_and_nothing_left(tarball(tmp_path, "6.1.2"))


@pytest.mark.parametrize("content", [b"", b"no tarball\n", os.urandom(5000)])
def test_a_file_that_is_no_tarball_is_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "linux.tar.xz"
    path.write_bytes(content)
    with pytest.raises(BadInput, match="neither a tarball nor a folder"):
        find_source(str(path))


def test_a_tarball_that_was_cut_is_refused(tmp_path: Path):
    path = tarball(tmp_path)
    path.write_bytes(path.read_bytes()[:-2000])
    assert refused_and_nothing_left(path).startswith(f"{path} is not a complete kernel tarball")


def test_a_tarball_of_something_else_is_refused(tmp_path: Path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "README").write_text("words\n")
    path = tmp_path / "other.tar"
    subprocess.run(["tar", "-cf", path, "-C", tmp_path, "other"], check=True)
    assert "is not a kernel: it has no Makefile" in refused_and_nothing_left(path)


def test_a_source_that_is_not_there_or_no_kernel_is_refused(tmp_path: Path, monkeypatch):
    with pytest.raises(BadInput, match="/nonexistent does not exist: give a kernel tarball or tree"):
        find_source("/nonexistent")
    monkeypatch.setenv("LOCKSCALE_KERNEL_SOURCE", str(tmp_path))
    with pytest.raises(BadInput, match="is not a kernel tree"):
        find_source()
    found = find_source(str(tarball(tmp_path)))  # what is asked for goes before the environment
    assert found.path.name == "linux-6.12.99.tar.xz"


def test_a_disk_too_small_is_refused_before_the_first_file(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(source_module, "UNPACKED_MIB", 10**9)
    source = find_source(str(tarball(tmp_path)))
    with pytest.raises(BadInput, match="unpacking and building a kernel needs 1000000000 MiB"):
        unpacked(source, room_of(source))
    assert not room_of(source).exists()


def test_a_disk_that_fills_while_unpacking_is_one_sentence_and_leaves_no_tree(tmp_path: Path):
    tree = tmp_path / "made" / "linux-6.12"
    path = tarball(tmp_path)
    for n in range(30):
        (tree / f"{n}.c").write_bytes(os.urandom(20_000))
    subprocess.run(["tar", "-cJf", path, "-C", tree.parent, tree.name], check=True)
    disk = tmp_path / "disk"
    disk.mkdir()
    said = run_on_small_disk(
        disk,
        256,
        """
        import os, sys
        from pathlib import Path
        from lockscale.kernels import source
        source.UNPACKED_MIB = 0
        found = source.find_source(sys.argv[1])
        print(refused(source.unpacked, found, Path("room").resolve()))
        print(sorted(os.listdir("room")))
        """,
        str(path),
    )
    assert said[0].startswith(f"the disk under {disk}/room is full") and "LOCKSCALE_CACHE" in said[0]
    assert said[1:] == ["['unpack.log']"]
