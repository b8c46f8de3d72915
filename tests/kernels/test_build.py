# SPDX-License-Identifier: MIT
"""Before a kernel is compiled: its source is whole, its tree pristine, its tools there."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput, RunFailed
from lockscale.kernels import source as source_module
from lockscale.kernels.build import Kernel, build, cached_kernel, refuse_one_identity, series_in
from lockscale.kernels.series import read_series
from lockscale.kernels.source import find_source, room_of, unpacked
from lockscale.kernels.steps import run_step
from small_disk import run_on_small_disk

NEW_FILE = "--- /dev/null\n+++ b/fs/new.c\n@@ -0,0 +1 @@\n+new\n"
MAIL = "From: a <a@x>\nSubject: [PATCH] change a\n\n---\ndiff --git a/fs/a.c b/fs/a.c\n"
PATCH = f"{MAIL}--- a/fs/a.c\n+++ b/fs/a.c\n@@ -1 +1 @@\n-pristine\n+patched\n{NEW_FILE}"
KERNEL = Kernel("k", "6.12.99", "6.12.99-x", "ab" * 20, "s/a", "1", "2", "3", "gcc", "queued")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the kernels that the other tests boot."""
    monkeypatch.setattr(paths, "BUILD_CACHE", tmp_path / "cache" / "build")
    monkeypatch.setattr(paths, "KERNEL_CACHE", tmp_path / "cache" / "kernels")
    monkeypatch.setattr(paths, "KERNEL_PATCHES", tmp_path / "kernel-patches")
    monkeypatch.setattr(source_module, "UNPACKED_MIB", 1)
    arm = tmp_path / "kernel-patches" / "s" / "arm"
    arm.mkdir(parents=True)
    (arm / "series").write_text("0001-x.patch\n")
    (arm / "0001-x.patch").write_text(PATCH)
    for name in ("base.toml", "guest.config"):
        shutil.copy(paths.ROOT / "kernel-patches" / name, tmp_path / "kernel-patches")


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A build folder with a tree of two files in it."""
    (tmp_path / "room" / "src" / "fs").mkdir(parents=True)
    (tmp_path / "room" / "src" / "fs" / "a.c").write_text("pristine\n")
    (tmp_path / "room" / "src" / "Makefile").write_text("VERSION = 6\n")
    return tmp_path / "room"


def files(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def tarball(folder: Path, version: str = "6.12.99", top: str = "linux-6.12") -> Path:
    """A kernel tarball of two files, with the Makefile's lines as kernel.org writes them."""
    tree = folder / "made" / top
    (tree / "fs").mkdir(parents=True)
    numbers = zip(("VERSION", "PATCHLEVEL", "SUBLEVEL"), version.split("."), strict=True)
    (tree / "Makefile").write_text("".join(f"{k} = {v}\n" for k, v in numbers) + "EXTRAVERSION =\n")
    (tree / "Kbuild").write_text("# top\n")
    (tree / "fs" / "a.c").write_bytes(b"pristine\n" + os.urandom(4000))
    path = folder / f"linux-{version}.tar.xz"
    subprocess.run(["tar", "-cJf", path, "-C", folder / "made", top], check=True)
    return path


# --- The shared tree is pristine between two arms ---------------------------------------------------


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


# --- Arms are told apart by what they are -------------------------------------------------------------


def test_two_arms_of_one_identity_are_refused_by_name():
    other = replace(KERNEL, build_id="cd" * 20)
    refuse_one_identity({"before": (other, "mkfs"), "after": (KERNEL, "mkfs")})
    refuse_one_identity({"locked": (KERNEL, "mkfs -O x"), "off": (KERNEL, "mkfs")})
    with pytest.raises(BadInput, match="arms before and twin are the same kernel with the same mkfs"):
        refuse_one_identity(
            {"before": (KERNEL, "mkfs"), "after": (other, "mkfs"), "twin": (replace(KERNEL, key="z"), "mkfs")}
        )


def test_a_kernel_in_the_cache_counts_only_with_its_record_and_its_image():
    assert cached_kernel("k") is None
    KERNEL.folder.mkdir(parents=True)
    (KERNEL.folder / "kernel.json").write_text(json.dumps(KERNEL.__dict__))
    assert cached_kernel("k") is None
    KERNEL.image.write_bytes(b"x")
    assert cached_kernel("k") == KERNEL
    (KERNEL.folder / "kernel.json").unlink()
    assert cached_kernel("k") is None


# --- The source is whole or absent ----------------------------------------------------------------------


def test_a_tarball_is_unpacked_once_and_its_version_kept(tmp_path: Path):
    source = find_source(str(tarball(tmp_path)))
    room = room_of(source)
    tree = unpacked(source, room)
    assert (tree / "fs/a.c").read_bytes().startswith(b"pristine\n")
    assert json.loads((room / "tree.json").read_text()) == {"version": "6.12.99", "sha256": source.sha256}
    (tree / "fs/a.c").write_text("kept")
    assert (unpacked(source, room) / "fs/a.c").read_text() == "kept"


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
        f"{path} is Linux 6.6.1, but the series are made for 6.12.y: give a 6.12.y source"
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
    assert refused_and_nothing_left(path).startswith(f"{path} is no whole kernel tarball")


def test_a_tarball_of_something_else_is_refused(tmp_path: Path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "README").write_text("words\n")
    path = tmp_path / "other.tar"
    subprocess.run(["tar", "-cf", path, "-C", tmp_path, "other"], check=True)
    assert "holds no kernel: there is no Makefile" in refused_and_nothing_left(path)


def test_a_source_that_is_not_there_or_no_kernel_is_refused(tmp_path: Path, monkeypatch):
    with pytest.raises(BadInput, match="/nonexistent is not there: give a kernel tarball or tree"):
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


# --- The tools and the compiler ---------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["gcc", "ld", "flex", "bc", "xz"])
def test_a_missing_compiler_is_one_sentence_and_nothing_is_left_behind(tmp_path: Path, monkeypatch, missing):
    path = tarball(tmp_path)
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in {"gcc", "ld", "make", "flex", "bison", "bc", "perl", "git", "tar", "xz"} - {missing}:
        (tools / tool).symlink_to(shutil.which(tool))
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(BadInput, match=rf"^{missing} is missing on this machine"):
        build(read_series("s", "arm"), str(path))
    left = [p for p in (tmp_path / "cache").rglob("*") if p.name != "lock" and p.is_file()]
    assert not left and not list((tmp_path / "cache").rglob("src*"))


def test_a_compile_error_is_told_by_its_own_first_line(tmp_path: Path):
    """Not by a file name such as net/9p/error.o, which every build prints."""
    (tmp_path / "bad.c").write_text("int f(void)\n{\n\treturn nowhere;\n}\n")
    makefile = "all: error.o bad.o\nerror.o:\n\t@echo '  CC      net/9p/error.o'\n"
    (tmp_path / "Makefile").write_text(makefile)
    with pytest.raises(RunFailed) as failed:
        run_step(["make", "-C", str(tmp_path)], "build kernel s/arm", 10, tmp_path / "log")
    assert str(failed.value).startswith("build kernel s/arm failed (make): bad.c:3:16: error: ")
    assert str(failed.value).endswith(f"(whole log: {tmp_path}/log)")
    assert "net/9p/error.o" in (tmp_path / "log").read_text()


def test_a_command_that_fails_without_a_word_is_still_a_sentence(tmp_path: Path):
    with pytest.raises(RunFailed, match=r"^x failed \(false\): nothing was said"):
        run_step(["false"], "x", 1, tmp_path / "log")
    with pytest.raises(BadInput, match="is full"):
        run_step(["sh", "-c", "echo 'cp: No space left on device'; exit 1"], "x", 1, tmp_path / "log")
