# SPDX-License-Identifier: MIT
"""The disk guard: what may be formatted, which is the disk that the target file names when nothing owns it.

REASONS is the table; a disk is formatted when none of its rules gives a reason against it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lockscale.errors import BadInput, printable
from lockscale.filesystems import FIRST, FS_TYPES, FsType
from lockscale.machines.disk_look import BlockDevice, Look, look
from lockscale.machines.machine import Machine

OUR_LABEL = "lockscale"  # the mark that mkfs leaves, so that the next run knows its own disk
BY_ID = re.compile(r"/dev/disk/by-id/(?!\.{1,2}$)[^/\x00-\x20]+")
SYSTEM = ("/", "/boot", "/boot/efi", "/etc", "/home", "/opt", "/root", "/srv", "/usr", "/var")
HOW_TO_TYPE = "the last four characters of its serial, a dash, and its size in whole GB followed by GB"
NVME_PATH = re.compile(r"nvme\d+c\d+n\d+")  # one way to a disk that the kernel joins with the others
KINDS = {
    "LVM2_member": "LVM physical volume",
    "linux_raid_member": "RAID member",
    "crypto_LUKS": "encrypted volume",
    "zfs_member": "ZFS pool member",
    "ceph_bluestore": "Ceph store",
}


@dataclass(frozen=True)
class NamedDisk:
    """A disk as the target file names it.

    `disposable`: an image that this project made, which takes no token; never a disk of a real server.
    """

    by_id: Path
    serial: str
    size_bytes: int
    disposable: bool = False

    @property
    def record(self) -> str:
        """The line that the machine keeps of it once its token was typed."""
        return f"{self.serial} {self.size_bytes}"

    @property
    def token(self) -> str:
        """What a person types, reading it off the disk or lsblk: never kept in a file."""
        return f"{self.serial[-4:]}-{self.size_bytes // 10**9}GB"

    def wrong(self, token: str | None) -> str:
        """Why a token that was typed is not this disk's; nothing for one that is, or for none."""
        return f"the token is wrong: type {HOW_TO_TYPE}" if token not in (None, self.token) else ""

    def refuse_token(self, token: str | None) -> None:
        """Raises BadInput for a wrong token, which the target file tells before its machine is asked."""
        if why := self.wrong(token):
            raise _refused(self, [why])


@dataclass(frozen=True)
class _Case:
    """One question: may this disk, looked at like this, be formatted by whoever typed this token?"""

    disk: NamedDisk
    look: Look
    found: BlockDevice
    token: str | None


def device_to_format(machine: Machine, disk: NamedDisk) -> str:
    """The kernel's name of `disk`, after every check; a sentence with each reason if one fails."""
    return judged(machine, disk).device


def judged(machine: Machine, disk: NamedDisk, token: str | None = None, fs: FsType = FIRST) -> Look:
    """What the machine says of a disk that `fs` may be made on. Nothing is written.

    Raises BadInput with every reason against it.
    """
    if not BY_ID.fullmatch(str(disk.by_id)):
        raise _refused(
            disk, ["it is not a name in /dev/disk/by-id, and only those always mean the same disk"]
        )
    seen = look(machine, str(disk.by_id), disk.record, fs)
    if reasons := reasons_against(disk, seen, token):
        raise _refused(disk, reasons)
    return seen


def _refused(disk: NamedDisk, reasons: list[str]) -> BadInput:
    said = "; ".join(printable(reason, 400) for reason in reasons)
    return BadInput(f"{printable(disk.by_id, 200)} is not formatted: {said}")


def reasons_against(disk: NamedDisk, seen: Look, token: str | None = None) -> list[str]:
    """Every reason why the disk must not be formatted, in the table's order; none if it may be."""
    if not seen.device or (not seen.is_block and not seen.is_link):
        return ["it does not exist"]
    if not seen.is_link:
        return ["it is not a link that udev made"]
    if not seen.is_block or seen.itself is None:
        return [f"it leads to {seen.device}, which does not exist or is not a block device"]
    case = _Case(disk, seen, seen.itself, token)
    return [reason for rule in REASONS.values() for reason in rule(case)]


def _other_kind(case: _Case) -> Iterator[str]:
    if case.found.type != "disk":
        kind = {"part": "partition"}.get(case.found.type, case.found.type)
        yield f"it is a {kind}, not a whole disk"


def _other_serial(case: _Case) -> Iterator[str]:
    wanted = case.disk.serial
    kernel = {" ".join(words) for words in case.look.lines("serial")}
    if not wanted.strip():
        yield "the target file gives no serial"
    if case.found.serial != wanted:
        yield f"its serial is {case.found.serial!r}, the target file says {wanted!r}"
    elif kernel and kernel != {" ".join(wanted.split())}:
        yield f"udev says its serial is {wanted!r}, the kernel says {', '.join(sorted(kernel))}"


def _serial_twice(case: _Case) -> Iterator[str]:
    same = [x.kname for x in case.look.disks if x.serial == case.found.serial and x != case.found]
    others = [name for name in same if not NVME_PATH.fullmatch(name)]
    if case.found.serial and others:
        yield f"{', '.join(others)} has the same serial"


def _other_size(case: _Case) -> Iterator[str]:
    if case.found.size_bytes != case.disk.size_bytes:
        yield f"it has {case.found.size_bytes} bytes, the target file says {case.disk.size_bytes}"


def _read_only(case: _Case) -> Iterator[str]:
    if case.found.read_only:
        yield "it is read-only"


def _removable(case: _Case) -> Iterator[str]:
    if case.found.removable:
        yield "it is removable: next time another one may be in the slot"


def _system(case: _Case) -> Iterator[str]:
    """The running system is on it, below whatever layers of md, LVM or LUKS."""
    on = [f"{words[0]} on {words[-1]}" for words in case.look.lines("mounts") if words[-1] in SYSTEM]
    if on:
        yield f"the running system is on it: {', '.join(on)}"


def _mounted(case: _Case) -> Iterator[str]:
    """By any process in any name space."""
    for words in case.look.lines("mounts"):
        if words[-1] not in SYSTEM:
            yield f"{words[0]} is mounted on {words[-1]}"


def _swap(case: _Case) -> Iterator[str]:
    swaps = {words[0] for words in case.look.lines("swaps")[1:]}
    for block in case.found.tree():
        if f"/dev/{block.kname}" in swaps:
            yield f"{block.kname} is swap"


def _partitions(case: _Case) -> Iterator[str]:
    parts = [x.kname for x in case.found.children if x.type == "part"]
    if parts:
        yield f"it has partitions: {', '.join(parts)}"


def _held(case: _Case) -> Iterator[str]:
    """By LVM, md, device mapper, multipath or bcache, of itself or of a partition."""
    above = {x.kname: x.type for x in case.found.tree() if x is not case.found and x.type != "part"}
    holders = {words[0]: "kernel" for words in case.look.lines("holders")}
    for name, kind in sorted({**holders, **above}.items()):
        yield f"it is held by {name} ({kind})"


def _looped(case: _Case) -> Iterator[str]:
    """Of a loop device on it, whose file system O_EXCL does not tell, neither does any mount of the disk."""
    for (loop,) in case.look.lines("loops"):
        yield f"{loop} is a loop device on it"


def _open(case: _Case) -> Iterator[str]:
    """A running VM has it open without holding it, so that O_EXCL does not tell."""
    for pid, *name in case.look.lines("openers"):
        yield f"process {pid} ({' '.join(name)}) has it open"


def _unreadable(case: _Case) -> Iterator[str]:
    for part in ("mounts", "holders", "loops", "openers"):  # which always have an answer
        if case.look.said[part][0]:
            yield f"its {part} cannot be determined"
    status, said = case.look.said["reads"]
    if status or case.look.signatures is None:
        yield f"it cannot be read: {said.splitlines()[-1] if said else 'wipefs fails'}"


def _signature(case: _Case) -> Iterator[str]:
    for one in case.look.signatures or []:
        if one.type not in FS_TYPES or one.label != OUR_LABEL:
            article = "an" if one.type[0] in "aeioxLAEIO" else "a"
            what = "partition table" if one.usage == "partition-table" else "signature"
            called = f" ({KINDS[one.type]})" if one.type in KINDS else ""
            yield f"it carries {article} {one.type} {what}{called}"


def _refused_by_mkfs(case: _Case) -> Iterator[str]:
    status, said = case.look.said["takes"]
    if status:
        yield f"mkfs refuses it: {said}"


def _token(case: _Case) -> Iterator[str]:
    """A blank disk may hold data without a signature: a person answers for it, once."""
    typed_before = case.look.said["typed"][1].strip() not in ("", "0")
    known = case.disk.disposable or typed_before or case.look.signatures != ()
    if wrong := case.disk.wrong(case.token):
        yield wrong
    elif case.token is None and not known:
        yield f"lockscale never used it before: give --token, {HOW_TO_TYPE}"


REASONS: dict[str, Callable[[_Case], Iterator[str]]] = {
    "not a whole disk": _other_kind,
    "wrong serial": _other_serial,
    "two disks with the same serial": _serial_twice,
    "wrong size": _other_size,
    "read-only": _read_only,
    "removable": _removable,
    "the system's disk": _system,
    "mounted": _mounted,
    "swap": _swap,
    "has partitions": _partitions,
    "held by another device": _held,
    "behind a loop device": _looped,
    "open": _open,
    "unreadable": _unreadable,
    "carries a signature": _signature,
    "mkfs refuses it": _refused_by_mkfs,
    "token": _token,
}
