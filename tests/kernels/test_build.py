# SPDX-License-Identifier: MIT
"""Before a kernel is compiled: it is not in the cache, and its tools are there."""

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from toy_source import tarball

from lockscale.errors import BadInput, RunFailed
from lockscale.files import user_name
from lockscale.kernels import build as build_module
from lockscale.kernels.build import Kernel, build, build_folder, cached_kernel, cached_kernels, keep
from lockscale.kernels.build_cache import keep_files
from lockscale.kernels.logged_command import make_in, run_step
from lockscale.kernels.series import read_series
from lockscale.kernels.source import Source, find_source
from small_disk import run_on_small_disk

KERNEL = Kernel("k", "6.12.99", "6.12.99-x", "ab" * 20, "s/a", "1", "2", "3", "gcc", "queued")

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def kept(own_cache: None, tmp_path: Path) -> Path:
    """The folder of KERNEL, put into the cache from objects."""
    (tmp_path / "arch/x86/boot").mkdir(parents=True)
    for name in ("arch/x86/boot/bzImage", ".config", "System.map"):
        (tmp_path / name).write_text(f"{name} of a kernel\n" * 100)
    keep(KERNEL, tmp_path, 12.0)
    return KERNEL.folder


def test_a_kernel_that_was_kept_is_found(kept: Path):
    assert cached_kernel("k") == KERNEL and cached_kernels() == [KERNEL] and cached_kernel("other") is None


@pytest.mark.parametrize("name", ["bzImage", "System.map", "config"])
@pytest.mark.parametrize("damage", ["gone", "empty", "half", "a bit"])
def test_a_damaged_file_of_a_kept_kernel_is_as_if_it_had_never_been_built(name: str, damage: str, kept: Path):
    path = kept / name
    whole = path.read_bytes()
    broken = {"empty": b"", "half": whole[: len(whole) // 2], "a bit": bytes([whole[0] ^ 1]) + whole[1:]}
    path.unlink() if damage == "gone" else path.write_bytes(broken[damage])
    assert cached_kernel("k") is None and cached_kernels() == []


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"key": "k"}', '{"sha256_of_files": []}', '{"sha256_of_files": {}, "new": 1}'],
)
def test_a_damaged_record_or_one_of_another_version_is_no_traceback(text: str, kept: Path):
    (kept / "kernel.json").write_text(text)
    assert cached_kernel("k") is None and cached_kernels() == []


def test_the_record_is_on_disk_after_all_that_it_vouches_for(
    own_cache: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    synced: list[bytes] = []

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}")
        if not path.is_dir():
            synced.append(path.read_bytes())

    monkeypatch.setattr(os, "fsync", fsync)
    files = {name: tmp_path / name for name in ("bzImage", "config")}
    for path in files.values():
        path.write_text(path.name)
    keep_files(tmp_path / "kept", files, {"key": "k"})
    assert synced == [b"bzImage", b"config", (tmp_path / "kept" / "kernel.json").read_bytes()]


def test_a_second_build_on_one_cache_waits_for_the_first_and_says_who_that_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("lockscale.progress.LINE_EVERY_S", 0.1)
    source, had, said = find_source(str(tarball(tmp_path)), ""), [], ""

    def builds() -> None:
        with build_folder(source):
            had.append("second")

    second = threading.Thread(target=builds)
    with build_folder(source):
        second.start()
        for _ in range(600):
            second.join(0.1)
            said += capsys.readouterr().err
            if had or f"in use by {user_name()} since " in said:
                break
        had.append("first")
    second.join()
    assert had == ["first", "second"]
    assert f"in use by {user_name()} since " in said


def test_who_waited_for_the_build_of_the_same_kernel_takes_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Path
):
    """The first one built it while the second waited for the build folder."""
    waited = []

    @contextlib.contextmanager
    def folder(_source: Source) -> Iterator[tuple[Path, Path]]:
        waited.append(kept.with_name("elsewhere").rename(kept))
        yield tmp_path, tmp_path

    kept.rename(kept.with_name("elsewhere"))
    monkeypatch.setattr(build_module, "build_folder", folder)
    monkeypatch.setattr(build_module, "key_of", lambda *_: "k")
    monkeypatch.setattr(build_module, "series_in", lambda *_: pytest.fail("built again"))
    assert build(read_series("s", "arm"), str(tarball(tmp_path))) == KERNEL and waited


def test_objects_of_a_build_that_a_power_cut_ended_are_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """They have no length and are newer than their source; after a build that ended, all are on disk."""
    boot, met, synced = tmp_path / "boot_id", list[bool](), list[Path]()
    source, series = find_source(str(tarball(tmp_path))), read_series("s", "arm")
    monkeypatch.setattr(build_module, "BOOT_ID", boot)
    monkeypatch.setattr(build_module, "series_in", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(build_module, "sync_below", synced.append)

    def built(boot_id: str, ends: Exception | None = None) -> None:
        def compiled(_: Path, room: Path) -> Kernel:
            met.append((room / "objects").exists())
            (room / "objects").mkdir(exist_ok=True)
            if ends:
                raise ends
            return KERNEL

        boot.write_text(boot_id)
        build_module.cached_or_built(lambda: None, compiled, tmp_path / "kept", (), series, source)

    built("1")
    with pytest.raises(RunFailed):
        built("2", RunFailed("compile error"))
    built("3")
    assert met == [False, True, True] and len(synced) == 3
    (synced[0] / "builds").write_text("3")  # as kill -9 leaves it
    built("3")
    (synced[0] / "builds").write_text("3")
    built("4")
    assert met[3:] == [True, False]


def test_a_disk_that_fills_while_objects_are_copied_is_one_sentence_and_leaves_no_copy(tmp_path: Path):
    said = run_on_small_disk(
        tmp_path,
        64,
        """
        import os
        from pathlib import Path
        from lockscale.kernels.build import objects_in
        room = Path("room").resolve()
        (room / "objects" / "tools").mkdir(parents=True)
        for name in ("vmlinux", "tools/a.o"):
            (room / "objects" / name).write_bytes(bytes(20_000))
        print(refused(objects_in, room, "-debug"))
        print(sorted(os.listdir(room)))
        """,
    )
    assert said[0].startswith(f"the disk under {tmp_path}/room is full")
    assert said[1:] == ["['copy.log', 'objects']"]


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
    assert str(failed.value).endswith(f"(full log: {tmp_path}/log)")
    assert "net/9p/error.o" in (tmp_path / "log").read_text()


def test_a_kernel_developers_shell_decides_nothing_of_a_kernel_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """ARCH and KCFLAGS are exported for other kernels: they are in no key of the cache."""
    shell = ("ARCH", "CROSS_COMPILE", "KCFLAGS", "LLVM", "KBUILD_OUTPUT", "KBUILD_BUILD_USER", "MAKEFLAGS")
    for name in shell:
        monkeypatch.setenv(name, "x")
    (tmp_path / "Makefile").write_text(
        "all: ; @echo said $(ARCH)$(CROSS_COMPILE)$(KCFLAGS)$(LLVM)$(KBUILD_OUTPUT) by $(KBUILD_BUILD_USER)\n"
    )
    argv = ["make", "--no-print-directory", "-C", str(tmp_path)]
    run_step(argv, "x", 1, tmp_path / "log", {"KBUILD_BUILD_USER": "lockscale"})
    assert (tmp_path / "log").read_text() == "said by lockscale\n"


def test_make_compiles_as_much_at_once_as_this_process_has_processors(monkeypatch: pytest.MonkeyPatch):
    """In a container with three of 128, as many compilers as there are processors would fill its memory."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5, 7})
    monkeypatch.setattr(os, "cpu_count", lambda: 128)
    assert "-j3" in make_in(Path("src"), Path("objects"), "bzImage")


def test_a_command_that_fails_without_a_word_is_still_a_sentence(tmp_path: Path):
    with pytest.raises(RunFailed, match=r"^x failed \(false\): no output"):
        run_step(["false"], "x", 1, tmp_path / "log")
    with pytest.raises(BadInput, match="is full"):
        run_step(["sh", "-c", "echo 'cp: No space left on device'; exit 1"], "x", 1, tmp_path / "log")
