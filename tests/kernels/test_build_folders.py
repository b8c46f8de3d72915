# SPDX-License-Identifier: MIT
"""What a source that is not built from any more takes is told, and can be freed while nobody builds there."""

import os
from pathlib import Path

import pytest
from toy_source import tarball

from command import Lockscale
from lockscale import paths
from lockscale.kernels.build import build_folder
from lockscale.kernels.build_folders import remove_build_folder
from lockscale.kernels.source import Source, find_source, room_of

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def two(tmp_path: Path) -> list[Source]:
    """A source that was built from long ago, and one that was used since."""
    sources = []
    for at, version in enumerate(("6.12.98", "6.12.99")):
        (tmp_path / version).mkdir()
        sources.append(find_source(str(tarball(tmp_path / version, version))))
        with build_folder(sources[-1]) as (_, room):
            (room / "objects").mkdir()
            (room / "objects" / "vmlinux").write_bytes(os.urandom(3 << 20))
        os.utime(room / "lock", (1e9 + at, 1e9 + at))
    return sources


def test_each_source_has_a_line_with_its_version_and_size_and_the_last_used_comes_last(
    two: list[Source], lockscale: Lockscale
):
    found = lockscale("kernel", "folders", "--json").value
    assert [one["name"] for one in found] == [room_of(source).name for source in two]
    assert [one["version"] for one in found] == ["6.12.98", "6.12.99"]
    assert [one["mib"] for one in found] == [3, 3]
    assert found[0]["last_used_utc"] == "2001-09-09T01:46:40Z"


def test_one_that_is_removed_frees_its_space_and_leaves_the_other_and_every_kernel(
    two: list[Source], lockscale: Lockscale
):
    kernel = paths.KERNEL_CACHE / "k" / "bzImage"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("image")
    left = lockscale("kernel", "folders", "--remove", room_of(two[0]).name, "--json").value
    assert [one["version"] for one in left] == ["6.12.99"] and kernel.is_file()
    assert [path.name for path in room_of(two[0]).iterdir()] == ["lock"]
    with build_folder(two[0]) as (tree, _):
        assert (tree / "Makefile").is_file(), "it is unpacked again"


def test_a_removal_that_is_killed_leaves_nothing_that_a_build_takes_for_whole(
    two: list[Source], monkeypatch: pytest.MonkeyPatch
):
    room = room_of(two[0])

    def killed(folder: Path, **_: bool) -> None:
        if folder.is_dir():
            (folder / "Makefile").unlink()
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_build_folder(room.name)
    assert not (room / "src").exists() and (room / "src.part").is_dir()
    with build_folder(two[0]) as (tree, _):
        assert (tree / "Makefile").is_file()
    remove_build_folder(room.name)
    assert [path.name for path in room.iterdir()] == ["lock"]


def test_one_in_which_a_kernel_is_built_is_not_removed(two: list[Source], lockscale: Lockscale):
    with build_folder(two[0]) as (tree, room):
        said = lockscale("kernel", "folders", "--remove", room.name)
        assert said.status == 2 and f"the build folder {room.name} is in use by " in said.err
        assert (tree / "Makefile").is_file()


@pytest.mark.parametrize("name", ["nope", "", "..", "../kernels"])
def test_no_other_folder_is_removed(two: list[Source], lockscale: Lockscale, name: str):
    said = lockscale("kernel", "folders", "--remove", name)
    assert said.status == 2 and f"there is no build folder {name!r}" in said.err


def test_without_any_it_says_so(lockscale: Lockscale):
    assert lockscale("kernel", "folders").out == f"there is no build folder in {paths.BUILD_CACHE}\n"
