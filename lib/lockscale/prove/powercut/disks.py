# SPDX-License-Identifier: MIT
"""The disks of a power cut: one whose every write is logged, and those that the cuts left."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lockscale.files import need_free_space
from lockscale.machines.disk import NamedDisk

SIZE_MIB = 256
FILE_SYSTEM_MIB = 240  # the records of what was promised lie behind it
RECORDS_AT = 248 << 20
LOG_MIB = 4096  # sparse; a load of some seconds fills a tenth of it
LARGEST_BATCH = 16  # disks in a checking guest: PCI slots


@dataclass(frozen=True)
class LoggedDisk:
    """A disk with a volatile write cache, whose every request QEMU's blklogwrites driver logs."""

    image: Path
    log: Path
    serial: str

    @property
    def named(self) -> NamedDisk:
        """As the check of what may be formatted wants it: an image can be mixed up like any disk."""
        by_id = Path(f"/dev/disk/by-id/virtio-{self.serial}")
        return NamedDisk(by_id, self.serial, SIZE_MIB << 20, disposable=True)

    def make(self) -> None:
        """Both files made anew, sparse."""
        need_free_space(self.image.parent, SIZE_MIB * (LARGEST_BATCH + 1), "the disks of the power cuts")
        for path, mib in ((self.image, SIZE_MIB), (self.log, LOG_MIB)):
            path.unlink(missing_ok=True)
            with path.open("wb") as stream:
                stream.truncate(mib << 20)

    def remove(self) -> None:
        self.image.unlink(missing_ok=True)
        self.log.unlink(missing_ok=True)

    def qemu_options(self) -> str:
        """no-flush: the host need not flush, the log says when the guest did.

        No write-zeroes: QEMU 7.2 logs a write of zeros in two steps, and another request may come between
        them. No merging: merged requests can have more parts than one write of the log takes.
        """
        image, log = _escaped(self.image), _escaped(self.log)
        return (
            f"-blockdev driver=file,node-name=file0,filename={image},cache.no-flush=on "
            f"-blockdev driver=file,node-name=log0,filename={log},cache.no-flush=on "
            "-blockdev driver=blklogwrites,node-name=lockscale0,file=file0,log=log0,log-sector-size=512 "
            f"-device virtio-blk-pci,drive=lockscale0,serial={self.serial},write-cache=on,"
            "write-zeroes=off,discard=off,request-merging=off"
        )


@dataclass(frozen=True)
class CutDisks:
    """The disks that some cuts left, for one checking guest, which writes to none of the images."""

    images: Sequence[Path]

    def device(self, number: int) -> str:
        return f"/dev/disk/by-id/virtio-CUT{number}"

    def qemu_options(self) -> str:
        return " ".join(
            f"-drive file={_escaped(image)},if=none,id=cut{n},format=raw,cache=unsafe,snapshot=on "
            f"-device virtio-blk-pci,drive=cut{n},serial=CUT{n}"
            for n, image in enumerate(self.images)
        )


def _escaped(path: Path) -> str:
    return str(path).replace(",", ",,")
