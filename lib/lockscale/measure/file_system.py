# SPDX-License-Identifier: MIT
"""The file system under test: made as the study says, asserted as found, checked afterwards."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from lockscale.errors import RunFailed, printable
from lockscale.filesystems import FsType, Made, Options, fs_type
from lockscale.machines.disk_guard import NamedDisk
from lockscale.machines.format import formatting, formatting_in_memory
from lockscale.machines.guest_disks import InMemory
from lockscale.machines.machine import Machine, Write, must, must_all
from lockscale.tools.kernel_reports import reports

MOUNT_POINT = "/run/lockscale"
MADE = Write("/dev/kmsg", "lockscale: a file system is made\n")
"""The line in the kernel's log after which what it reports is of this file system's time."""
SLOW = ("INFO: task ", "INFO: rcu")


@dataclass(frozen=True)
class FileSystem:
    """What was made, as its own tools and /proc/mounts say, not as it was asked for."""

    fs_type: str
    device: str
    mkfs_line: str
    features: tuple[str, ...]
    facts: dict[str, int | str | None]
    mount_line: str


def make(machine: Machine, wanted: Options, disk: NamedDisk | InMemory, size: str = "") -> FileSystem:
    """mkfs on the one disk that may be formatted, then mount; features are asserted as found.

    `size` as mkfs takes it leaves the rest of the disk free; by default nothing is left. Knobs
    are set once it is mounted; one that this kernel lacks is a failure.
    """
    fs = fs_type(wanted.filesystem)
    device, mkfs_line = _formatted(machine, fs, wanted, disk, size)
    header, *_, mounts = must_all(
        machine,
        [
            fs.describe(device),
            MADE,
            ["mkdir", "-p", MOUNT_POINT],
            mount_command(fs.name, device, wanted.mount),
            *(Write(f"{fs.knobs(device)}/{name}", str(value)) for name, value in wanted.knobs.items()),
            ["cat", "/proc/mounts"],
        ],
    )
    mounted = next(x for x in mounts.stdout.splitlines() if x.split()[1] == MOUNT_POINT)
    made = fs.read(header.stdout)
    _refuse_other_features(made, wanted.mkfs_asserts, mkfs_line)
    return FileSystem(fs_type=fs.name, device=device, mkfs_line=mkfs_line, mount_line=mounted, **asdict(made))


def _formatted(
    machine: Machine, fs: FsType, wanted: Options, disk: NamedDisk | InMemory, size: str
) -> tuple[str, str]:
    """The device, and the line of the mkfs that was run on it; of one in memory its name, and no line."""
    if not fs.on_disk:
        fs.refuse_options(wanted.mkfs, size)
        return fs.name, ""
    if isinstance(disk, InMemory):
        memory = formatting_in_memory(disk, wanted.mkfs, size, fs=fs)
        return memory.device, memory.carry_out(machine)
    planned = formatting(machine, disk, wanted.mkfs, size, fs=fs)
    return planned.device, planned.carry_out(machine)


def mount_command(fs: str, device: str, mount: Sequence[str]) -> list[str]:
    """argv that mounts `device` where every load runs, with the options `mount`."""
    options = ["-o", ",".join(mount)] if mount else []
    return ["mount", "-t", fs, *options, device, MOUNT_POINT]


def _refuse_other_features(made: Made, asserts: Sequence[str], mkfs_line: str) -> None:
    for wanted in asserts:
        if (wanted.lstrip("^") in made.features) == wanted.startswith("^"):
            tool = mkfs_line.partition(" ")[0]
            raise RunFailed(f"{tool} did not apply {wanted}: the features are {' '.join(made.features)}")


def unmount_and_check(machine: Machine, file_system: FileSystem, *, kernel_log: bool = True) -> None:
    """Unmount and check: an arm that leaves anything to mend, or whose kernel reports a fault, gives no
    numbers. kernel_log: false where somebody else reads the log, as of a debug kernel."""
    must(machine, ["umount", MOUNT_POINT], timeout_s=120)
    fs = fs_type(file_system.fs_type)
    done = machine.run(check := fs.check(file_system.device), timeout_s=300)
    if fault := fs.fault(done.status, f"{done.stdout}\n{done.stderr}"):
        raise RunFailed(f"{shlex.join(check)} found the file system damaged: {printable(fault, 300)}")
    if kernel_log and (wrong := reported(must(machine, ["dmesg"]), file_system.device)):
        raise RunFailed(
            f"the kernel reported {printable(wrong, 300)!r} while the file system on {file_system.device} "
            "was in use: its numbers are not kept; look at dmesg there, and measure again"
        )


def reported(log: str, device: str) -> str:
    """The first fault in the kernel's log since the file system was made; empty where there is none.

    An I/O error of another disk is none of it, and a task or RCU that was only slow is no fault.
    """
    name = device.rpartition("/")[2]
    for report in reports(log.rpartition(MADE.text.strip())[2]):
        of_another = "I/O error" in report and name not in report
        if not (of_another or report.startswith(SLOW)):
            return report
    return ""
