# SPDX-License-Identifier: MIT
"""Two arms of inode-claim as packages for a Debian server: real kernels, built once and kept."""

import shutil
import subprocess
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.kernels.config import read_config
from lockscale.kernels.package import ServerKernel, build_package
from lockscale.kernels.series import read_series
from lockscale.kernels.server_config import ServerConfig, server_config
from server_sample import SERVER

pytestmark = [pytest.mark.guest, pytest.mark.long]
BASE, ARM = "search-locked", "steal-retry"
TOUCHED, UNTOUCHED = "fs/ext4/ialloc.o", "fs/ext4/mballoc.o"


@pytest.fixture(scope="module")
def config() -> ServerConfig:
    return server_config(SERVER, keep=["i6300esb"])


@pytest.fixture(scope="module")
def packages(config: ServerConfig, pytestconfig: pytest.Config) -> dict[str, ServerKernel]:
    """Minutes the first time, so its progress is shown and not captured."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        return {arm: build_package(read_series("inode-claim", arm), config) for arm in (BASE, ARM)}


def unpacked(kernel: ServerKernel, folder: Path) -> Path:
    subprocess.run(["dpkg-deb", "--extract", kernel.package, folder], check=True)
    return folder


def test_a_package_holds_image_modules_and_configuration_of_one_release(packages, config, tmp_path: Path):
    kernel = packages[ARM]
    root = unpacked(kernel, tmp_path)
    assert (root / f"boot/vmlinuz-{kernel.release}").read_bytes() == kernel.image.read_bytes()
    installed = read_config((root / f"boot/config-{kernel.release}").read_text())
    assert installed == read_config(config.text)
    modules = {path.stem: path for path in (root / "lib/modules" / kernel.release).rglob("*.ko")}
    assert {"virtio_blk", "virtio_net", "virtio_pci", "dm-mod", "i6300esb"} <= set(modules)
    assert "ext4" not in modules  # it is built in: the build-id covers it
    said = subprocess.run(
        ["modinfo", "-F", "vermagic", modules["virtio_blk"]], capture_output=True, text=True
    )
    assert said.stdout.split()[0] == kernel.release
    assert (root / "lib/modules" / kernel.release / "modules.dep").stat().st_size


def test_arms_differ_in_release_build_id_and_code(packages):
    base, arm = packages[BASE], packages[ARM]
    assert arm.release.startswith(f"{arm.version}-lockscale-{arm.series_sha256[:8]}-")
    assert base.config_sha256 == arm.config_sha256 and base.modules_sha256 == arm.modules_sha256
    for what in ("release", "build_id", "code_sha256", "package_sha256"):
        assert getattr(base, what) != getattr(arm, what)


def test_a_further_build_compiles_what_the_series_touches_and_gives_the_same_package(packages, config):
    objects = next(paths.BUILD_CACHE.glob(f"*/objects-server-*/{TOUCHED}")).parents[2]
    before = {name: (objects / name).stat().st_mtime_ns for name in (TOUCHED, UNTOUCHED)}
    shutil.rmtree(packages[ARM].folder)
    again = build_package(read_series("inode-claim", ARM), config)
    assert again == packages[ARM]
    assert (objects / TOUCHED).stat().st_mtime_ns > before[TOUCHED]
    assert (objects / UNTOUCHED).stat().st_mtime_ns == before[UNTOUCHED]
