# SPDX-License-Identifier: MIT
"""A built kernel as a guest of a target."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lockscale import paths
from lockscale.kernels.build import Kernel
from lockscale.machines.accel import choose_accel
from lockscale.machines.assertions import assert_runs
from lockscale.machines.disk import NamedDisk
from lockscale.machines.qemu import Attached, Guest, QemuMachine
from lockscale.machines.scratch import Scratch
from lockscale.study.file import Target, guest_target


def guest_of(
    target: Target, kernel: Kernel, cpus: int, accel: str = "auto", disk: Attached | None = None
) -> Guest:
    """`kernel` on `cpus` virtual processors; accel "auto" is KVM where a trial boot of it went well.

    Raises BadInput where the target boots no guests.
    """
    said = guest_target(target)
    guest = Guest(kernel.image, cpus, said.memory_mib, "tcg", said.boot_timeout_s, disk)
    return replace(guest, accel=choose_accel(guest) if accel == "auto" else accel)


def scratch_in(folder: Path, target: Target) -> Scratch:
    """The scratch disk that the target file describes, as an image in `folder`."""
    disk = guest_target(target).disk
    return Scratch(folder / "scratch.img", disk.size_mib, disk.serial)


def named(disk: Scratch) -> NamedDisk:
    """The disk as the check of what may be formatted wants it."""
    return NamedDisk(disk.by_id, disk.serial, disk.size_mib << 20, disposable=True)


@contextmanager
def booted(
    target: Target,
    kernel: Kernel,
    cpus: int,
    *,
    accel: str = "auto",
    kernel_arguments: tuple[str, ...] = (),
    slower: float = 1,
) -> Iterator[tuple[QemuMachine, NamedDisk]]:
    """`kernel` in a guest with the target's scratch disk; uname and build-id are asserted from inside.

    slower: how much longer than the target file says it may take to boot.
    """
    paths.CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="guest-", dir=paths.CACHE) as folder:
        disk = scratch_in(Path(folder), target)
        plain = guest_of(target, kernel, cpus, accel, disk)
        guest = replace(
            plain, kernel_arguments=kernel_arguments, boot_timeout_s=slower * plain.boot_timeout_s
        )
        with made(disk) as named, QemuMachine(guest) as machine:
            assert_runs(machine, kernel)
            yield machine, named


@contextmanager
def made(disk: Scratch) -> Iterator[NamedDisk]:
    """The disk made anew, for as long as the guest lives."""
    disk.make()
    try:
        yield named(disk)
    finally:
        disk.image.unlink(missing_ok=True)
