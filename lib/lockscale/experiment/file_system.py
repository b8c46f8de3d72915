# SPDX-License-Identifier: MIT
"""The ext4 file system under test: made as the study says, asserted as found, checked afterwards."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lockscale.errors import RunFailed
from lockscale.kernels.arms import Options
from lockscale.targets.disk import NamedDisk
from lockscale.targets.format import formatting, formatting_in_memory
from lockscale.targets.machine import Machine, Write, must, must_all
from lockscale.targets.memory_disk import InMemory

MOUNT_POINT = "/run/lockscale"


@dataclass(frozen=True)
class FileSystem:
    """What was made, as dumpe2fs and /proc/mounts say, not as it was asked for."""

    device: str
    mkfs_line: str
    features: tuple[str, ...]
    block_groups: int
    inodes_per_group: int
    journal_size: str | None
    mount_line: str


def make(machine: Machine, wanted: Options, disk: NamedDisk | InMemory, size: str = "") -> FileSystem:
    """mkfs on the one disk that may be formatted, then mount; features asserted with dumpe2fs.

    `size` as mkfs.ext4 takes it leaves the rest of the disk free; by default nothing is left. Knobs
    are set once it is mounted; one that this kernel lacks is a failure.
    """
    device, mkfs_line = _formatted(machine, wanted, disk, size)
    knobs = f"/sys/fs/ext4/{device.removeprefix('/dev/')}"
    header, *_, mounts = must_all(
        machine,
        [
            ["dumpe2fs", "-h", device],
            ["mkdir", "-p", MOUNT_POINT],
            mount_command(device, wanted.mount),
            *(Write(f"{knobs}/{name}", str(value)) for name, value in wanted.knobs.items()),
            ["cat", "/proc/mounts"],
        ],
    )
    mounted = next(x for x in mounts.stdout.splitlines() if x.split()[1] == MOUNT_POINT)
    return _as_found(header.stdout, wanted.mkfs_asserts, device, mkfs_line, mounted)


def _formatted(machine: Machine, wanted: Options, disk: NamedDisk | InMemory, size: str) -> tuple[str, str]:
    """The device, and the line of the mkfs that was run on it."""
    if isinstance(disk, InMemory):
        memory = formatting_in_memory(disk, wanted.mkfs, size)
        return memory.device, memory.carry_out(machine)
    planned = formatting(machine, disk, wanted.mkfs, size)
    return planned.device, planned.carry_out(machine)


def mount_command(device: str, mount: Sequence[str]) -> list[str]:
    """argv that mounts `device` where every load runs, with the options `mount`."""
    options = ["-o", ",".join(mount)] if mount else []
    return ["mount", "-t", "ext4", *options, device, MOUNT_POINT]


def _as_found(header: str, asserts: Sequence[str], device: str, mkfs_line: str, mounted: str) -> FileSystem:
    said = dict(re.findall(r"^([^:\n]+):\s*(.*)$", header, re.MULTILINE))
    features = tuple(said["Filesystem features"].split())
    for wanted in asserts:
        if (wanted.lstrip("^") in features) == wanted.startswith("^"):
            raise RunFailed(f"mkfs.ext4 did not do {wanted}: the features are {' '.join(features)}")
    inodes_per_group = int(said["Inodes per group"])
    return FileSystem(
        device=device,
        mkfs_line=mkfs_line,
        features=features,
        block_groups=int(said["Inode count"]) // inodes_per_group,
        inodes_per_group=inodes_per_group,
        journal_size=said.get("Total journal size", said.get("Journal size")),
        mount_line=mounted,
    )


def unmount_and_check(machine: Machine, file_system: FileSystem) -> None:
    """Unmount and `e2fsck -fn`: an arm that leaves anything to mend gives no numbers."""
    must(machine, ["umount", MOUNT_POINT], timeout_s=120)
    done = machine.run(["e2fsck", "-f", "-n", file_system.device], timeout_s=300)
    if done.status:
        said = [x for x in done.stdout.splitlines() if x.strip()]
        raise RunFailed(f"e2fsck found the file system damaged: {said[1] if len(said) > 1 else said}")
