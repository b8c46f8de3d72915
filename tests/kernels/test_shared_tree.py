# SPDX-License-Identifier: MIT
"""The tree that all arms share is pristine between two of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lockscale.errors import BadInput, RunFailed
from lockscale.kernels.build import series_in
from lockscale.kernels.series import read_series

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A build folder with a tree of two files in it."""
    (tmp_path / "room" / "src" / "fs").mkdir(parents=True)
    (tmp_path / "room" / "src" / "fs" / "a.c").write_text("pristine\n")
    (tmp_path / "room" / "src" / "Makefile").write_text("VERSION = 6\n")
    return tmp_path / "room"


def files(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def test_a_series_is_in_the_tree_while_it_is_built_and_then_out(room: Path):
    before, tree = files(room), room / "src"
    with series_in(read_series("s", "arm"), tree, room):
        assert (tree / "fs/a.c").read_text() == "patched\n"
        assert (tree / "fs/new.c").read_text() == "new\n"
    assert files(room) == before


def test_a_build_that_fails_leaves_a_pristine_tree(room: Path):
    before = files(room)
    with pytest.raises(RunFailed), series_in(read_series("s", "arm"), room / "src", room):
        raise RunFailed("compile error")
    assert files(room) == before


KILLED = """
import os, sys
from pathlib import Path
from lockscale import paths
from lockscale.kernels.build import series_in
from lockscale.kernels.series import read_series
paths.KERNEL_PATCHES, room = Path(sys.argv[1]), Path(sys.argv[2])
with series_in(read_series("s", "arm"), room / "src", room):
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_build_left_is_put_back_by_the_next(room: Path, tmp_path: Path):
    before, tree = files(room), room / "src"
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "kernel-patches", room])
    assert done.returncode == -9
    assert (tree / "fs/a.c").read_text() == "patched\n"
    (tmp_path / "kernel-patches" / "s" / "arm" / "series").write_text("")
    with series_in(read_series("s", "arm"), tree, room):
        assert files(tree) == {"fs/a.c": "pristine\n", "Makefile": "VERSION = 6\n"}
    assert files(room) == before


def test_a_kill_while_the_pristine_files_are_copied_spoils_nothing(room: Path):
    """The copy is not whole yet, and the tree is still pristine."""
    (room / "pristine.part" / "fs").mkdir(parents=True)
    (room / "pristine.part" / "fs" / "a.c").write_text("pris")
    with series_in(read_series("s", "arm"), room / "src", room):
        assert (room / "src/fs/a.c").read_text() == "patched\n"
    assert (room / "src/fs/a.c").read_text() == "pristine\n"


def test_after_a_power_cut_the_tree_or_its_pristine_copy_is_on_disk(
    room: Path, monkeypatch: pytest.MonkeyPatch
):
    """Each file by what of it was synced last: a copy before the tree changes, the tree before it goes."""
    on_disk: dict[str, str] = {}
    tree, rmtree = str(room / "src/fs/a.c"), shutil.rmtree

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        if path.is_file():
            on_disk[str(path)] = path.read_text()

    def remove(folder: Path, **how: bool) -> None:
        if folder == room / "pristine" and folder.exists():
            assert on_disk[tree] == "pristine\n"
        rmtree(folder, **how)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(shutil, "rmtree", remove)
    with series_in(read_series("s", "arm"), room / "src", room):
        kept = [text for path, text in on_disk.items() if "pristine.part" in path]
        assert "pristine\n" in kept and on_disk[tree] == "patched\n"


def test_make_sees_every_change_and_its_undoing(room: Path):
    path = room / "src/fs/a.c"
    os.utime(path, ns=(1, 1))
    with series_in(read_series("s", "arm"), room / "src", room):
        during = path.stat().st_mtime_ns
    assert 1 < during <= path.stat().st_mtime_ns


def test_a_series_that_does_not_apply_leaves_the_tree(room: Path):
    (room / "src/fs/a.c").write_text("other\n")
    before = files(room)
    with (
        pytest.raises(BadInput, match="does not apply"),
        series_in(read_series("s", "arm"), room / "src", room),
    ):
        pytest.fail("the series went in")
    assert files(room) == before
