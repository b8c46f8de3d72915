# SPDX-License-Identifier: MIT
"""The kernels that the test server boots: small ones, and initial ram disks that break them."""

import subprocess
from pathlib import Path

from lockscale import paths
from lockscale.kernels.base import Kind, base
from lockscale.tools import need
from server.boot_sector import run

KIND = "server"
FIRST_PROCESS = Path(__file__).with_name("first_process.c")


def make_kind_known() -> str:
    """The kind of build that the test server can run, beside those of base.toml."""
    configs = (paths.KERNEL_PATCHES / "guest.config", Path(__file__).with_name("server.config"))
    base().kinds[KIND] = Kind(KIND, configs)
    return KIND


def broken_initrd(folder: Path, *, ends: bool) -> Path:
    """An initial ram disk whose first process hangs, or ends: the kernel panics then."""
    root = folder / ("ends" if ends else "hangs")
    root.mkdir()
    macro = ["-DENDS"] if ends else []
    flags = ["-O2", "-static", "-nostdlib", "-ffreestanding", *macro]
    run(need("gcc"), *flags, "-o", root / "init", FIRST_PROCESS)
    argv = [need("cpio"), "--quiet", "--create", "--format=newc"]
    made = subprocess.run(argv, input=b".\ninit\n", cwd=root, capture_output=True, check=True)
    image = root.with_suffix(".img")
    image.write_bytes(made.stdout)
    return image
