# SPDX-License-Identifier: MIT
"""A server's kernel as a Debian package, built once: the cache key is base, series, config and compiler.

The package's content and its scripts come from the kernel's own scripts/package/builddeb, the part of
`make bindeb-pkg` that makes linux-image; dpkg-deb packs it. bindeb-pkg itself would need debhelper and
dpkg-dev here, and would always make the C library's headers as well.
"""

import hashlib
import shutil
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lockscale import paths
from lockscale.files import full_disk_is_one_sentence, need_free_space, sha256_of, write_text
from lockscale.kernels import build
from lockscale.kernels.base import RATE, build_kind
from lockscale.kernels.build import (
    FIXED,
    Kernel,
    cached_or_built,
    keep,
    kept_in,
    key_of,
    linked,
    objects_in,
)
from lockscale.kernels.build_cache import is_whole
from lockscale.kernels.logged_command import make_in, run_step
from lockscale.kernels.series import Series, with_on_top
from lockscale.kernels.server_config import ServerConfig
from lockscale.kernels.source import Source, find_source, version_in
from lockscale.programs import need

TOOLS = (*build.TOOLS, "gzip", "depmod", "dpkg-deb")
OBJECTS_MIB = {"localmodconfig": 1500, "full": 9000, "file": 3000}
LINES = {"localmodconfig": 6000, "full": 30_000, "file": 3000}  # only scale the progress bar
LINES_OF_A_FURTHER_ARM = 400
ARCHITECTURE = "amd64"  # of dpkg; kernels are built for x86 alone


@dataclass(frozen=True, kw_only=True)
class ServerKernel(Kernel):
    """A kernel for one server in a package, and everything that decided it."""

    package_name: str
    package_sha256: str
    modules_sha256: str
    server_release: str
    mode: str

    @property
    def folder(self) -> Path:
        return paths.PACKAGE_CACHE / self.key

    @property
    def package(self) -> Path:
        """The .deb to install on the server."""
        return self.folder / f"{self.package_name}.deb"

    @property
    def code_sha256(self) -> str:
        """Of image and modules, but for what differs with every release."""
        return hashlib.sha256(f"{super().code_sha256} {self.modules_sha256}".encode()).hexdigest()


def build_package(series: Series, config: ServerConfig, source: Source | None = None) -> ServerKernel:
    """The package of `series` for the server that `config` was made for, from the cache if it is there."""
    found = source or find_source(None, series.base)
    whole = with_on_top(series, build_kind(config.kind, series.base).on_top)
    key = key_of(whole, found, config.sha256)

    def packaged(tree: Path, room: Path) -> ServerKernel:
        return _package(whole, found, key, config, tree, room)

    cached = partial(cached_package, key)
    return cached_or_built(cached, packaged, paths.PACKAGE_CACHE / key, TOOLS, whole, found)


def cached_package(key: str) -> ServerKernel | None:
    """The package kept under `key`, if its record, its image and the package itself are whole."""
    kernel = kept_in(paths.PACKAGE_CACHE / key, ServerKernel)
    return kernel if kernel and is_whole(kernel.package, kernel.package_sha256) else None


def _package(
    series: Series, source: Source, key: str, config: ServerConfig, tree: Path, room: Path
) -> ServerKernel:
    objects = _objects(config, room)
    suffix = "" if config.kind == RATE else f"-{config.kind}"
    local = f"-lockscale-{series.sha256[:8]}-{key[:8]}{suffix}"
    make = make_in(tree, objects, f"LOCALVERSION={local}")
    started_s = time.monotonic()
    _compile(make, f"build kernel {series.name}{suffix} for the server", key, config, objects, room)
    name = _pack(make, local, version_in(room), objects, room / f"package-{key}.log")
    kernel = ServerKernel(
        **linked(series, source, key, room, objects, local),
        spin_lock=config.spin_lock,
        kind=config.kind,
        package_name=name,
        package_sha256=sha256_of(objects / f"{name}.deb"),
        modules_sha256=_code_of_modules(objects),
        server_release=config.server_release,
        mode=config.mode,
    )
    build_seconds = time.monotonic() - started_s
    kernel.folder.mkdir(parents=True, exist_ok=True)
    with full_disk_is_one_sentence(kernel.folder):
        shutil.move(objects / kernel.package.name, kernel.package)
    keep(kernel, objects, build_seconds)
    return kernel


def _objects(config: ServerConfig, room: Path) -> Path:
    """The objects that all arms for one kernel of one server share, as long as its modules stay loaded."""
    shared = f"{config.server_release} {config.mode} {config.kind}"
    suffix = f"-server-{hashlib.sha256(shared.encode()).hexdigest()[:8]}"
    if not (room / f"objects{suffix}").exists():
        need_free_space(room, OBJECTS_MIB[config.mode], "building a server's kernel")
    return objects_in(room, suffix)


def _compile(make: list[str], what: str, key: str, config: ServerConfig, objects: Path, room: Path) -> None:
    """Image and modules. An option that the series adds takes its default."""
    lines = LINES_OF_A_FURTHER_ARM if (objects / "vmlinux").exists() else LINES[config.mode]
    (objects / ".config").write_text(config.text)
    run_step([*make, "olddefconfig"], "configure the server's kernel", 20, objects / "config.log")
    run_step([*make, "bzImage", "modules"], what, lines, room / f"build-{key}.log", FIXED)


def _pack(make: list[str], local: str, version: str, objects: Path, log: Path) -> str:
    """Leave the package in `objects`; its name without .deb."""
    image = f"linux-image-{version}{local}"
    shutil.rmtree(objects / "debian", ignore_errors=True)
    build = f"+$(srctree)/scripts/package/builddeb {image}"
    run_step([*make, "run-command", f"KBUILD_RUN_COMMAND={build}"], "collect the package", 100, log, FIXED)
    content = objects / "debian" / image
    write_text(content / "DEBIAN" / "control", control(image, version))
    # Whatever the user's umask, the server's programs can read what the package installs.
    run_step([need("chmod"), "-R", "u=rwX,go=rX", str(content)], "open the package's files", 1, log)
    name = f"{image}_{version}-1_{ARCHITECTURE}"
    deb = objects / f"{name}.deb"
    argv = [need("dpkg-deb"), "--root-owner-group", "-Zgzip", "--build", str(content), str(deb)]
    run_step(argv, "pack the package", 2, log, {"SOURCE_DATE_EPOCH": "1"})
    return name


def control(image: str, version: str) -> str:
    """The package's DEBIAN/control, as `make bindeb-pkg` writes it for linux-image."""
    return (
        f"Package: {image}\nVersion: {version}-1\nArchitecture: {ARCHITECTURE}\n"
        "Section: kernel\nPriority: optional\nMaintainer: lockscale <lockscale@localhost>\n"
        f"Description: Linux {version} with one patch series, built by lockscale for one server\n"
        " Image and modules for a measurement. It is started once and never made the default.\n"
    )


def _code_of_modules(objects: Path) -> str:
    """sha256 over the modules' objects before each gets the kernel's release in its version string."""
    whole = hashlib.sha256()
    for name in sorted((objects / "modules.order").read_text().split()):
        whole.update(f"{name} {sha256_of(objects / name)}\n".encode())
    return whole.hexdigest()
