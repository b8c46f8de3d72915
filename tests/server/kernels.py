# SPDX-License-Identifier: MIT
"""What the test server boots: the configuration of a small kernel, and initial ram disks that break it."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lockscale import paths
from lockscale.kernels.base import Kind
from lockscale.kernels.build import Kernel, build_folder
from lockscale.kernels.config import configure
from lockscale.kernels.source import find_source, version_in
from lockscale.machines.machine import must
from lockscale.machines.server_kernels import INSTALL_S, installed_kernels, remove_kernel
from lockscale.machines.ssh import SshMachine
from lockscale.programs import need
from server.boot_sector import run

FRAGMENT = Path(__file__).with_name("server.config")
FIRST_PROCESS = Path(__file__).with_name("first_process.c")


def small_config(folder: Path) -> Path:
    """A configuration as somebody would keep it for a machine of their own: built in minutes, not an hour."""
    kind = Kind("server", (paths.KERNEL_PATCHES / "guest.config", FRAGMENT))
    with build_folder(find_source()) as (tree, room):
        objects = room / "objects-small"
        configure(tree, objects, kind, version_in(room))
        made = folder / "kernel.config"
        shutil.copy(objects / ".config", made)
        shutil.rmtree(objects)
    return made


@contextmanager
def breaking(machine: SshMachine, release: str, folder: Path, *, ends: bool) -> Iterator[None]:
    """An installed kernel never reaches user space meanwhile."""
    initrd = f"/boot/initrd.img-{release}"
    must(machine, ["cp", initrd, f"{initrd}.kept"])
    machine.put(broken_initrd(folder, ends=ends), initrd)
    try:
        yield
    finally:
        must(machine, ["mv", f"{initrd}.kept", initrd])


def install_image(machine: SshMachine, kernel: Kernel) -> None:
    """A kernel without modules and without an initrd, as somebody puts one there by hand."""
    machine.put(kernel.folder / "config", f"/boot/config-{kernel.release}")
    machine.put(kernel.image, f"/boot/vmlinuz-{kernel.release}")
    must(machine, ["update-grub"], timeout_s=INSTALL_S)


def remove_ours(machine: SshMachine) -> None:
    """Every kernel of ours taken off the server."""
    for ours in installed_kernels(machine):
        remove_kernel(machine, ours.release)


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
