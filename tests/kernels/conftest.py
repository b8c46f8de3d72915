# SPDX-License-Identifier: MIT
"""A tiny kernel with its own series, and a cache of its own."""

import shutil
from pathlib import Path

import pytest
from tiny_kernel import Kernel

from lockscale import paths
from lockscale.kernels import source as source_module

NEW_FILE = "--- /dev/null\n+++ b/fs/new.c\n@@ -0,0 +1 @@\n+new\n"
MAIL = "From: a <a@x>\nSubject: [PATCH] change a\n\n---\ndiff --git a/fs/a.c b/fs/a.c\n"
PATCH = f"{MAIL}--- a/fs/a.c\n+++ b/fs/a.c\n@@ -1 +1 @@\n-pristine\n+patched\n{NEW_FILE}"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made = Kernel(tmp_path)
    monkeypatch.setattr(paths, "KERNEL_PATCHES", made.patches)
    return made


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the kernels that the other tests boot."""
    monkeypatch.setattr(paths, "BUILD_CACHE", tmp_path / "cache" / "build")
    monkeypatch.setattr(paths, "KERNEL_CACHE", tmp_path / "cache" / "kernels")
    monkeypatch.setattr(paths, "PACKAGE_CACHE", tmp_path / "cache" / "packages")
    monkeypatch.setattr(paths, "KERNEL_PATCHES", tmp_path / "kernel-patches")
    monkeypatch.setattr(source_module, "UNPACKED_MIB", 1)
    arm = tmp_path / "kernel-patches" / "s" / "arm"
    arm.mkdir(parents=True)
    (arm / "series").write_text("0001-x.patch\n")
    (arm / "0001-x.patch").write_text(PATCH)
    for name in ("base.toml", "guest.config"):
        shutil.copy(paths.ROOT / "kernel-patches" / name, tmp_path / "kernel-patches")
