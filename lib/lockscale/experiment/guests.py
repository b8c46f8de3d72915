# SPDX-License-Identifier: MIT
"""A built kernel as a guest of a target."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lockscale.kernels.build import Kernel
from lockscale.study import Target
from lockscale.targets.accel import choose_accel
from lockscale.targets.disk import NamedDisk
from lockscale.targets.qemu import Attached, Guest
from lockscale.targets.scratch import Scratch


def guest_of(
    target: Target, kernel: Kernel, cpus: int, accel: str = "auto", disk: Attached | None = None
) -> Guest:
    """`kernel` on `cpus` virtual processors; accel "auto" is KVM where a trial boot of it went well."""
    guest = Guest(kernel.image, cpus, target.memory_mib, "tcg", target.boot_timeout_s, disk)
    return replace(guest, accel=choose_accel(guest) if accel == "auto" else accel)


def scratch_in(folder: Path, target: Target) -> Scratch:
    """The scratch disk that the target file describes, as an image in `folder`."""
    return Scratch(folder / "scratch.img", target.disk.size_mib, target.disk.serial)


def named(disk: Scratch) -> NamedDisk:
    """The disk as the check of what may be formatted wants it."""
    return NamedDisk(disk.by_id, disk.serial, disk.size_mib << 20)


@contextmanager
def made(disk: Scratch) -> Iterator[NamedDisk]:
    """The disk made anew, for as long as the guest lives."""
    disk.make()
    try:
        yield named(disk)
    finally:
        disk.image.unlink(missing_ok=True)
