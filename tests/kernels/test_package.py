# SPDX-License-Identifier: MIT
"""A server's kernel comes as a package that is built once, names its series and holds what was built."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from toy_kernel_build import BASE, own_patches, series_of, toy_tree

from lockscale import paths, programs
from lockscale.errors import BadInput, RunFailed
from lockscale.kernels import package as package_module
from lockscale.kernels.identity import build_id_of
from lockscale.kernels.package import ServerKernel, build_package, cached_package
from lockscale.kernels.series import read_series
from lockscale.kernels.server_config import ServerConfig, server_config
from server_sample import SERVER, server

HEAD = "From: a <a@x>\nSubject: [PATCH] change a\n\n---\n"


def patch(name: str, old: str, new: str) -> str:
    return f"{HEAD}diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-{old}\n+{new}\n"


@pytest.fixture
def tree(tmp_path: Path, own_cache, monkeypatch: pytest.MonkeyPatch) -> Path:
    own_patches()
    made = toy_tree(tmp_path)
    monkeypatch.setenv("LOCKSCALE_KERNEL_SOURCE", str(made))
    series_of("base", "")
    series_of("code", patch("fs/a.c", BASE.strip(), BASE.strip().replace("1", "2")))
    series_of("module", patch("mod.c", "module", "changed"))
    return made


@pytest.fixture
def config(tree: Path) -> ServerConfig:
    return server_config(SERVER)


def built(arm: str, config: ServerConfig) -> ServerKernel:
    return build_package(read_series("s", arm), config)


def deb(*argv: str) -> str:
    return subprocess.run(["dpkg-deb", *argv], capture_output=True, text=True, check=True).stdout


def steps() -> int:
    return sum(
        len(path.read_text().splitlines()) for path in paths.BUILD_CACHE.glob("*/objects-server-*/steps")
    )


def test_the_package_names_the_series_and_holds_the_kernel_that_was_built(config):
    kernel = built("code", config)
    assert kernel.release == f"6.12.99-lockscale-{kernel.series_sha256[:8]}-{kernel.key[:8]}"
    assert deb("--field", str(kernel.package), "Package", "Architecture").split() == [
        "Package:", f"linux-image-{kernel.release}", "Architecture:", "amd64",
    ]  # fmt: skip
    listed = deb("--contents", str(kernel.package))
    assert (
        f"./boot/vmlinuz-{kernel.release}\n" in listed and f"./lib/modules/{kernel.release}/mod.ko" in listed
    )
    objects = next(paths.BUILD_CACHE.glob("*/objects-server-*"))
    assert kernel.build_id == build_id_of(objects / "vmlinux")
    assert kernel.spin_lock == "paravirt-queued" and kernel.server_release == "6.1.0-56-amd64"
    assert (kernel.folder / "config").read_text() == config.text


def test_the_server_can_read_what_a_careful_user_packed(config):
    before = os.umask(0o077)
    try:
        kernel = built("base", config)
    finally:
        os.umask(before)
    lines = [line.split() for line in deb("--contents", str(kernel.package)).splitlines()]
    assert {line[1] for line in lines} == {"root/root"}
    assert all(line[0][7] == "r" for line in lines)
    assert f"{kernel.folder}".startswith(str(paths.PACKAGE_CACHE))


def test_a_package_is_built_once(config, monkeypatch):
    first = built("base", config)
    monkeypatch.setattr(package_module, "run_step", lambda *_: pytest.fail("built again"))
    assert built("base", config) == first == cached_package(first.key)
    whole = first.package.read_bytes()
    first.package.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))  # a bit that flipped
    assert cached_package(first.key) is None
    first.package.write_bytes(whole)
    assert cached_package(first.key) == first
    first.package.unlink()
    assert cached_package(first.key) is None


def test_the_same_input_gives_the_same_package(config):
    first = built("code", config)
    for folder in (paths.PACKAGE_CACHE, *paths.BUILD_CACHE.glob("*/objects-server-*")):
        shutil.rmtree(folder)
    assert built("code", config) == first


def test_arms_share_objects_and_leave_the_tree_as_it_was(config, tree):
    first, second = built("base", config), built("code", config)
    assert len(list(paths.BUILD_CACHE.glob("*/objects-server-*"))) == 1 and steps() == 8
    shared = next(paths.BUILD_CACHE.glob("*/src"))
    assert (shared / "fs/a.c").read_text() == (tree / "fs/a.c").read_text()
    assert first.build_id != second.build_id and first.release != second.release


def test_another_configuration_is_another_release(config):
    other = server_config(server(config=SERVER.config.replace("CONFIG_HZ=250", "CONFIG_HZ=1000")))
    assert built("base", other).release != built("base", config).release


def test_arms_of_one_code_are_told_by_image_and_modules(config):
    base, same, module = (built(arm, config) for arm in ("base", "base", "module"))
    assert base.code_sha256 == same.code_sha256
    assert base.modules_sha256 != module.modules_sha256 and base.code_sha256 != module.code_sha256


def test_a_kind_with_a_series_on_top_is_named_by_it(tree):
    (paths.KERNEL_PATCHES / "observe").mkdir()
    (paths.KERNEL_PATCHES / "observe" / "series").write_text("")
    kernel = built("base", server_config(SERVER, kind="observe"))
    assert kernel.kind == "observe" and kernel.release.endswith("-observe")


def test_a_build_that_fails_is_one_sentence_and_leaves_nothing(config, tree):
    series_of("broken", patch("fs/a.c", BASE.strip(), "int f(void) { return nowhere; }"))
    with pytest.raises(
        RunFailed, match=r"^build kernel s/broken for the server failed \(make\): .*a\.c:1:\d+: error"
    ):
        built("broken", config)
    assert not list(paths.PACKAGE_CACHE.glob("*/kernel.json"))
    assert built("base", config).package.is_file()


def test_a_package_that_cannot_be_collected_is_one_sentence(config):
    shared = next(paths.BUILD_CACHE.glob("*/src"))
    (shared / "scripts/package/builddeb").write_text("#!/bin/sh\necho 'cp: cannot stat bzImage'; exit 1\n")
    with pytest.raises(RunFailed, match=r"^collect the package failed \(make\): cp: cannot stat bzImage"):
        built("base", config)


@pytest.mark.parametrize("missing", ["dpkg-deb", "depmod"])
def test_a_missing_tool_is_told_before_anything_is_compiled(config, monkeypatch, missing):
    monkeypatch.setattr(programs, "find", lambda tool: None if tool == missing else shutil.which(tool))
    with pytest.raises(BadInput, match=f"^{missing} is missing on this machine"):
        built("base", config)
    assert steps() == 0


def test_objects_too_large_for_the_disk_are_refused(config, monkeypatch):
    monkeypatch.setattr(package_module, "OBJECTS_MIB", {"localmodconfig": 10**9})
    with pytest.raises(BadInput, match="building a server's kernel needs 1000000000 MiB"):
        built("base", config)
