# SPDX-License-Identifier: MIT
"""The disks of a guest, gone with it: a sparse image file with a serial, or one in its own memory (null_blk).

That one has no serial and no name that stays, so what is checked before mkfs is what it is: null_blk's
only device, memory backed, of the asked size, on no list of mounts or swaps.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path

from lockscale.errors import RunFailed
from lockscale.files import need_free_space
from lockscale.machines.machine import Machine, must

WRITTEN_MIB = 4096
"""At most of a larger disk: the image is sparse, and no study's load writes as much."""


@dataclass(frozen=True)
class Disks:
    """Several disks of one guest."""

    disks: "tuple[Scratch, ...]"

    def qemu_options(self) -> str:
        return " ".join(disk.qemu_options() for disk in self.disks)


def escaped(path: Path) -> str:
    """A path as QEMU's options take one, quoted for the shell that virtme-ng hands its words to."""
    return shlex.quote(str(path).replace(",", ",,"))


@dataclass(frozen=True)
class Scratch:
    """An image file that the guest sees as /dev/disk/by-id/virtio-<serial>."""

    image: Path
    size_mib: int
    serial: str

    @property
    def by_id(self) -> Path:
        return Path("/dev/disk/by-id") / f"virtio-{self.serial}"

    def make(self) -> None:
        """Make the image anew: no signature of an earlier guest is left on it."""
        need_free_space(self.image.parent, min(self.size_mib, WRITTEN_MIB), "the guest's scratch disk")
        self.image.unlink(missing_ok=True)
        with self.image.open("wb") as stream:
            stream.truncate(self.size_mib << 20)

    def qemu_options(self) -> str:
        """Attached with cache=unsafe: no flush reaches the host, so the host's disk is not measured.

        werror=report: where the host's disk is full, QEMU would else stop the guest, which looks like a hang.
        """
        return (
            f"-drive file={escaped(self.image)},if=none,id=disk-{self.serial},format=raw,cache=unsafe "
            f"-device virtio-blk-pci,drive=disk-{self.serial},serial={self.serial},werror=report"
        )


DEVICE = "/dev/nullb0"
CHECK = f"""
set -e
[ -b {DEVICE} ]
[ "$(readlink -f /sys/class/block/nullb0)" = /sys/devices/virtual/block/nullb0 ]
[ "$(cat /sys/module/null_blk/parameters/memory_backed)" = Y ]
[ "$(cat /sys/class/block/nullb0/size)" = "$1" ]
if grep -q '^{DEVICE} ' /proc/mounts /proc/swaps; then exit 1; fi
[ -z "$(ls /sys/class/block/nullb0/holders)" ]
"""


@dataclass(frozen=True)
class InMemory:
    """The disk as a target file describes it."""

    size_mib: int
    completion_ns: int
    queues: int

    def qemu_options(self) -> str:
        """None: QEMU knows nothing of it."""
        return ""

    @property
    def size_gib(self) -> int:
        """Sizes of null_blk are whole GiB."""
        return -(-self.size_mib // 1024)

    @property
    def kernel_arguments(self) -> tuple[str, ...]:
        """For the guest's kernel."""
        said = {
            "nr_devices": 1,
            "gb": self.size_gib,
            "memory_backed": 1,
            "irqmode": 2,  # a timer: its latency is of virtual time
            "completion_nsec": self.completion_ns,
            "submit_queues": self.queues,
        }
        return tuple(f"null_blk.{name}={value}" for name, value in said.items())


@dataclass(frozen=True)
class MemoryFormatting:
    """What will be done to it, as format.Formatting of a disk that outlives its machine."""

    device: str
    command: tuple[str, ...]
    sectors: int

    def carry_out(self, machine: Machine) -> str:
        """mkfs, if it is that disk. The mkfs line."""
        if machine.run(["sh", "-c", CHECK, "sh", str(self.sectors)]).status:
            raise RunFailed(f"{self.device} is not formatted: it is not the guest's own disk in memory")
        must(machine, self.command, timeout_s=600)
        return shlex.join(self.command)
