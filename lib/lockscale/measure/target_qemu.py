# SPDX-License-Identifier: MIT
"""Target kind qemu: a guest on this machine, booted anew for each step, with a scratch disk made anew."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from lockscale import paths
from lockscale.errors import BadInput, FullDisk, RunFailed
from lockscale.files import need_free_space
from lockscale.kernels.build import Kernel
from lockscale.machines.disk_guard import NamedDisk
from lockscale.machines.guest_disks import Scratch
from lockscale.machines.kvm_trial import choose_accel
from lockscale.machines.machine import assert_runs
from lockscale.machines.qemu import Attached, Guest, QemuMachine, qemu_line
from lockscale.machines.qemu_backport import version_of
from lockscale.measure.build_arms import build_arms
from lockscale.measure.file_system import MOUNT_POINT
from lockscale.measure.run_folder import Run
from lockscale.measure.target import Booted, HeldTarget, processors
from lockscale.programs import need
from lockscale.scratch import scratch_folder
from lockscale.study.file import QemuTarget, Study, Target, guest_target
from lockscale.study.target_file import with_disk
from lockscale.tools import fsload

LEAST_MIB = 16  # a disk with less is full
EXAMPLE_CPUS = 4


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


def named_disk(disk: Scratch) -> NamedDisk:
    """The disk as the check of what may be formatted wants it."""
    return NamedDisk(disk.by_id, disk.serial, disk.size_mib << 20, disposable=True)


@contextmanager
def booted_guest(
    target: Target, kernel: Kernel, cpus: int, *, kernel_arguments: tuple[str, ...] = (), slower: float = 1
) -> Iterator[tuple[QemuMachine, NamedDisk]]:
    """`kernel` in a guest with the target's scratch disk; uname and build-id are asserted from inside.

    slower: how much longer than the target file says it may take to boot.
    """
    paths.CACHE.mkdir(parents=True, exist_ok=True)
    with scratch_folder("disk", paths.CACHE) as folder:
        disk = scratch_in(folder, target)
        plain = guest_of(target, kernel, cpus, disk=disk)
        guest = replace(
            plain, kernel_arguments=kernel_arguments, boot_timeout_s=slower * plain.boot_timeout_s
        )
        with fresh_disk(disk) as named, QemuMachine(guest) as machine:
            assert_runs(machine, kernel)
            yield machine, named


@contextmanager
def fresh_disk(disk: Scratch) -> Iterator[NamedDisk]:
    """The disk made anew, for as long as the guest lives.

    Raises FullDisk where what went wrong in it is that this machine's disk took no more of the image.
    """
    disk.make()
    try:
        yield named_disk(disk)
    except RunFailed as error:
        try:
            need_free_space(disk.image.parent, LEAST_MIB, "the guest's scratch disk")
        except BadInput as full:
            raise FullDisk(f"the guest failed: {full}") from error
        raise
    finally:
        disk.image.unlink(missing_ok=True)


def guest_facts() -> dict[str, str]:
    """machine_facts() of a guest in real time, whose CPUs are threads on this machine's processors."""
    return {"QEMU": str(version_of(Path(need("qemu-system-x86_64")))), **processors()}


class HeldQemu(HeldTarget):
    """The guests of one run: how they are accelerated, their kernels, their one scratch disk."""

    origin = "qemu"
    kernels: dict[str, Kernel]

    def __init__(self, run: Run, study: Study, target: QemuTarget, kind: str) -> None:
        self.target, self.kernels = with_disk(target, study.disk_mib), build_arms(study, kind)
        self.disk = scratch_in(run.folder, self.target)
        self.accel = self._guest(self.arms[0], 2, study.parameters.accel).accel
        self.label = f"{target.name} ({self.accel})"

    def _guest(self, arm: str, cpus: int, accel: str) -> Guest:
        return guest_of(self.target, self.kernels[arm], cpus, accel, self.disk)

    def machine_facts(self) -> dict[str, str]:
        return guest_facts()

    def describe(self) -> dict[str, Any]:
        line = qemu_line(self._guest(self.arms[0], EXAMPLE_CPUS, self.accel))
        return {**super().describe(), "accel": self.accel, "qemu_line": line}

    @contextmanager
    def boot(self, arm: str, cpus: int) -> Iterator[Booted]:
        guest = self._guest(arm, cpus, self.accel)
        with fresh_disk(self.disk) as disk, QemuMachine(guest) as machine:
            kernel = self.kernels[arm]
            build_id = assert_runs(machine, kernel)
            program = str(fsload.build(paths.CACHE / "bin"))  # the guest sees this machine's files
            yield Booted(machine, kernel.release, build_id, MOUNT_POINT, program, disk)
