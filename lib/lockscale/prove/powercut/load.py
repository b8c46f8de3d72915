# SPDX-License-Identifier: MIT
"""The load before the cut: files changed and fsynced in a guest whose disk is logged."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lockscale import paths
from lockscale.errors import RunFailed
from lockscale.files import need_free_space
from lockscale.filesystems import Options
from lockscale.machines.disk_guard import NamedDisk
from lockscale.machines.guest_disks import escaped
from lockscale.machines.machine import Machine, must, must_all
from lockscale.measure.file_system import MOUNT_POINT, make
from lockscale.prove.powercut.cuts import FLUSH, Cut, WriteLog, choose_cuts
from lockscale.prove.powercut.promises import OVERWRITE, records
from lockscale.tools import c_program
from lockscale.tools.kernel_reports import reports

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
        image, log = escaped(self.image), escaped(self.log)
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
            f"-drive file={escaped(image)},if=none,id=cut{n},format=raw,cache=unsafe,snapshot=on "
            f"-device virtio-blk-pci,drive=cut{n},serial=CUT{n}"
            for n, image in enumerate(self.images)
        )


# The records are written to the disk beside a mounted file system, which the kernel else refuses.
KERNEL_ARGUMENTS = ("bdev_allow_write_mounted=1",)
# A small journal wraps within the load, so that its tail moves and is flushed for. Many small groups
# and a low limit for stream allocation: files of at most 32 KiB meet the goals of single inodes too.
SMALL = Options(filesystem="ext4", mkfs=["-J", "size=4", "-g", "2048"], knobs={"mb_stream_req": 3})


@dataclass(frozen=True)
class Plan:
    """How an arm is loaded and cut; `seed` fixes the load's choices and, of one log, the cuts."""

    cuts: int
    seed: int = 1
    processes: int = 4
    load_s: float = 8


def fsynced() -> str:
    """The path of the program that loads and reads back (lib/fsynced), compiled when it has to be."""
    return str(c_program.build("fsynced", paths.FSYNCED, paths.CACHE / "bin"))


def write_load(machine: Machine, options: Options, disk: NamedDisk, plan: Plan) -> None:
    """Make the file system, leaving room for the records behind it, and load it."""
    wanted = SMALL.added_to(options)
    device = make(machine, wanted, disk, f"{FILE_SYSTEM_MIB}M").device
    cache = must(machine, ["cat", f"/sys/block/{device.removeprefix('/dev/')}/queue/write_cache"]).strip()
    if cache != "write back":
        raise RunFailed(f"the disk's write cache is '{cache}': the kernel would send no flushes")
    load = [fsynced(), "load", MOUNT_POINT, device, str(RECORDS_AT)]
    load += [str(plan.processes), str(plan.seed), str(plan.load_s)]
    *_, dmesg = must_all(machine, [["sync"], load, ["dmesg"]], timeout_s=120 + 10 * plan.load_s)
    if wrong := reports(dmesg.stdout):
        raise RunFailed(f"the kernel reported under the load: {wrong[0]}")


def make_cuts(log: WriteLog, plan: Plan) -> list[Cut]:
    """Cuts of a load; RunFailed when it promised too little to test anything."""
    acked = [(at, state) for at, _, is_ack, state in records(log, RECORDS_AT) if is_ack]
    overwrites = [at for at, state in acked if state.operation == OVERWRITE]
    if len(overwrites) < plan.cuts:
        raise RunFailed(
            f"the load overwrote {len(overwrites)} files: too few for {plan.cuts} cuts: give fewer --cuts"
        )
    return choose_cuts([at for at, _ in acked], overwrites, plan.cuts, plan.seed)


def flushes(log: WriteLog) -> int:
    """How many flushes the kernel sent."""
    return sum(bool(entry.flags & FLUSH) for entry in log.entries)
