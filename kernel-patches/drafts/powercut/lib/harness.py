# SPDX-License-Identifier: MIT
"""One arm under power cuts: a load in one guest, its write log cut many times, checked in another.

DRAFT: written against targets/qemu.py as it is, not yet run in a guest. It asks of the target:
``Guest.disk`` takes anything with ``qemu_options()``; ``QemuMachine.cut()`` kills the guest.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lockscale.powercut.cuts import Cut, choose_cuts, disks
from lockscale.powercut.promises import OVERWRITE, broken, promises, read_files, records
from lockscale.powercut.write_log import FLUSH, WriteLog

from lockscale.errors import RunFailed
from lockscale.targets.machine import Machine, must, must_all

SIZE_MIB, FILE_SYSTEM_MIB, RECORDS_AT = 256, 240, 248 << 20
LOG_MIB = 4096  # sparse
DISKS_A_GUEST = 16  # PCI slots
MOUNT_POINT = "/run/lockscale"
# A small journal wraps within the load, so that its tail moves and is flushed for.
MKFS = ["mkfs.ext4", "-q", "-F", "-b", "4096", "-J", "size=8", "-E", "lazy_itable_init=0,lazy_journal_init=0"]


@dataclass(frozen=True)
class LoggedDisk:
    """A disk with a volatile write cache whose every request QEMU logs."""

    image: Path
    log: Path
    serial: str

    def make(self) -> None:
        for path, mib in ((self.image, SIZE_MIB), (self.log, LOG_MIB)):
            path.unlink(missing_ok=True)
            with path.open("wb") as stream:
                stream.truncate(mib << 20)

    def qemu_options(self) -> str:
        """no-flush: the host need not flush, the log says when the guest did."""
        image, log = (str(path).replace(",", ",,") for path in (self.image, self.log))
        return (
            f"-blockdev driver=file,node-name=file0,filename={image},cache.no-flush=on "
            f"-blockdev driver=file,node-name=log0,filename={log},cache.no-flush=on "
            "-blockdev driver=blklogwrites,node-name=lockscale0,file=file0,log=log0,log-sector-size=512 "
            f"-device virtio-blk-pci,drive=lockscale0,serial={self.serial},write-cache=on"
        )


@dataclass(frozen=True)
class CutDisks:
    """The disks that some cuts left, each a disk of one checking guest."""

    images: Sequence[Path]

    def qemu_options(self) -> str:
        return " ".join(
            f"-drive file={str(image).replace(',', ',,')},if=none,id=cut{n},format=raw,cache=unsafe "
            f"-device virtio-blk-pci,drive=cut{n},serial=CUT{n}"
            for n, image in enumerate(self.images)
        )


def write_load(machine: Machine, fsynced: Path, device: str, mkfs: Sequence[str], mount: Sequence[str],
               *, processes: int, seed: int, seconds: float) -> None:  # fmt: skip
    """Make the file system, leave room for the records behind it, and load it; then cut the guest."""
    cache = must(machine, ["cat", f"/sys/block/{Path(device).name}/queue/write_cache"]).strip()
    if cache != "write back":
        raise RunFailed(f"the disk's write cache is '{cache}': the kernel would send no flush to lose")
    options = ["-o", ",".join(mount)] if mount else []
    load = [str(fsynced), "load", MOUNT_POINT, device, str(RECORDS_AT)]
    must_all(
        machine,
        [
            [*MKFS, *mkfs, device, f"{FILE_SYSTEM_MIB}M"],
            ["mkdir", "-p", MOUNT_POINT],
            ["mount", "-t", "ext4", *options, device, MOUNT_POINT],
            ["sync"],
            [*load, str(processes), str(seed), str(seconds)],
        ],
        timeout_s=120 + 10 * seconds,
    )


def make_cuts(log: WriteLog, count: int, seed: int) -> list[Cut]:
    """Cuts of a load; RunFailed when it promised too little to test anything."""
    acked = [(at, state) for at, _, is_ack, state in records(log, RECORDS_AT) if is_ack]
    overwrites = [at for at, state in acked if state.operation == OVERWRITE]
    if len(overwrites) < count:
        raise RunFailed(
            f"the load overwrote {len(overwrites)} files: too few for {count} cuts, load for longer"
        )
    return choose_cuts(log, [at for at, _ in acked], overwrites, count, seed)


def flushes(log: WriteLog) -> int:
    """How many flushes the kernel sent."""
    return sum(bool(entry.flags & FLUSH) for entry in log.entries)


def save_cuts(log: WriteLog, cuts: Sequence[Cut], folder: Path) -> list[Path]:
    """An image a cut, in the order of the cuts."""
    saved = []
    for number, (_, disk) in enumerate(disks(log, cuts)):
        saved.append(folder / f"cut-{number}.img")
        disk.save(saved[-1], SIZE_MIB << 20)
    return saved


@dataclass(frozen=True)
class Checked:
    """What was found after one cut; ``faults`` empty: all promises kept, replayed, clean."""

    cut: Cut
    promised_files: int
    orphans: int
    replayed: bool
    faults: tuple[str, ...]


def check_cut(machine: Machine, fsynced: Path, device: str, log: WriteLog, cut: Cut) -> Checked:
    """Mount (journal replay, orphans), compare with what was promised, unmount, e2fsck."""
    steps = [
        ["dmesg", "--clear"],
        ["mount", "-t", "ext4", device, MOUNT_POINT],
        [str(fsynced), "read", MOUNT_POINT],
        ["umount", MOUNT_POINT],
        ["dmesg"],
        ["e2fsck", "-f", "-n", device],
    ]
    _, mount, read, umount, dmesg, e2fsck = machine.run_all(steps, timeout_s=300)
    said = promises(log, RECORDS_AT, cut.at)
    faults = [
        f"`{' '.join(s.argv)}` ended with {s.status}" for s in (mount, read, umount, e2fsck) if s.status
    ]
    if not (mount.status or read.status):
        faults += broken(said, read_files(read.stdout))
    faults += re.findall(r"EXT4-fs (?:error|warning).*|JBD2: .*", dmesg.stdout)
    return Checked(
        cut=cut,
        promised_files=len(said),
        orphans=sum(int(n) for n in re.findall(r"(\d+) (?:orphan inode|truncate)s? ", dmesg.stdout)),
        replayed="recovery complete" in dmesg.stdout,
        faults=tuple(faults),
    )


def prove_coverage(checked: Sequence[Checked]) -> None:
    """RunFailed when the cuts met nothing that could have gone wrong: then their silence says nothing."""
    if not any(one.replayed for one in checked):
        raise RunFailed("no cut needed a journal replay: these cuts test nothing")
    if not any(one.orphans for one in checked):
        raise RunFailed("no cut left an orphan: these cuts do not test orphan handling")
