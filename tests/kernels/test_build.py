# SPDX-License-Identifier: MIT
"""Before a kernel is compiled: it is not in the cache, and its tools are there."""

import json
import shutil
from pathlib import Path

import pytest
from toy_source import tarball

from lockscale.errors import BadInput, RunFailed
from lockscale.kernels.build import Kernel, build, cached_kernel
from lockscale.kernels.series import read_series
from lockscale.kernels.steps import run_step

KERNEL = Kernel("k", "6.12.99", "6.12.99-x", "ab" * 20, "s/a", "1", "2", "3", "gcc", "queued")

pytestmark = pytest.mark.usefixtures("own_cache")


def test_a_kernel_in_the_cache_counts_only_with_its_record_and_its_image():
    assert cached_kernel("k") is None
    KERNEL.folder.mkdir(parents=True)
    (KERNEL.folder / "kernel.json").write_text(json.dumps(KERNEL.__dict__))
    assert cached_kernel("k") is None
    KERNEL.image.write_bytes(b"x")
    assert cached_kernel("k") == KERNEL
    (KERNEL.folder / "kernel.json").unlink()
    assert cached_kernel("k") is None


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
