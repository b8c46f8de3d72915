# SPDX-License-Identifier: MIT
"""A scratch disk for one guest: a sparse image file with a serial, gone with the guest."""

from dataclasses import dataclass
from pathlib import Path

from lockscale.files import need_free_space


@dataclass(frozen=True)
class Disks:
    """Several disks of one guest."""

    disks: "tuple[Scratch, ...]"

    def qemu_options(self) -> str:
        return " ".join(disk.qemu_options() for disk in self.disks)


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
        need_free_space(self.image.parent, self.size_mib, "the guest's scratch disk")
        self.image.unlink(missing_ok=True)
        with self.image.open("wb") as stream:
            stream.truncate(self.size_mib << 20)

    def qemu_options(self) -> str:
        """Attached with cache=unsafe: no flush reaches the host, so the host's disk is not measured."""
        escaped = str(self.image).replace(",", ",,")
        return (
            f"-drive file={escaped},if=none,id=disk-{self.serial},format=raw,cache=unsafe "
            f"-device virtio-blk-pci,drive=disk-{self.serial},serial={self.serial}"
        )
