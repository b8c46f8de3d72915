# SPDX-License-Identifier: MIT
"""What one cut left: it mounts, keeps what was promised, and e2fsck has nothing to mend."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lockscale.machines.machine import Completed, Machine
from lockscale.measure.file_system import MOUNT_POINT, mount_command
from lockscale.prove.kernel_reports import reports
from lockscale.prove.powercut.cuts import Cut, WriteLog
from lockscale.prove.powercut.load import RECORDS_AT, SMALL, fsynced
from lockscale.prove.powercut.promises import broken, promises, read_files

CLEANED = re.compile(r"(\d+) (?:orphan inode|truncate)s? ")


def orphans(dmesg: str) -> int:
    """How many inodes a mount deleted or truncated because a power cut left them half gone."""
    return sum(int(number) for number in CLEANED.findall(dmesg))


def replayed(dmesg: str) -> bool:
    """Whether a mount replayed the journal."""
    return "recovery complete" in dmesg


@dataclass(frozen=True)
class CheckedCut:
    """What was found after one cut; ``faults`` empty: replayed, clean, and every promise kept."""

    cut: Cut
    promised_files: int
    orphans: int
    replayed: bool
    faults: tuple[str, ...]


def check_cut(machine: Machine, device: str, mount: Sequence[str], log: WriteLog, cut: Cut) -> CheckedCut:
    """Mount (journal replay, orphans), compare with what was promised, unmount, e2fsck."""
    steps = [
        ["mkdir", "-p", MOUNT_POINT],
        ["dmesg", "--clear"],
        mount_command(SMALL.filesystem, device, mount),
        [fsynced(), "read", MOUNT_POINT],
        ["umount", MOUNT_POINT],
        ["e2fsck", "-f", "-n", device],
        ["dmesg"],
    ]
    *done, dmesg = machine.run_all(steps, timeout_s=300)
    return judge(log, cut, done, dmesg.stdout)


def judge(log: WriteLog, cut: Cut, done: Sequence[Completed], dmesg: str) -> CheckedCut:
    """The steps' outcomes and the kernel's words against the promises in the log."""
    said = promises(log, RECORDS_AT, cut.at)
    faults = [_failed(step) for step in done if step.status]
    mount, read = done[2], done[3]
    if not (mount.status or read.status):
        faults += broken(said, read_files(read.stdout))
    faults += [report.title for report in reports(dmesg)]
    return CheckedCut(cut, len(said), orphans(dmesg), replayed(dmesg), tuple(faults))


def _failed(step: Completed) -> str:
    said = next((x for x in (*step.stderr.splitlines(), *step.stdout.splitlines()) if x.strip()), "")
    return f"`{' '.join(step.argv)}` exited with status {step.status}: {said}"
