# SPDX-License-Identifier: MIT
"""A file system of which anything has to be mended gives no numbers, nor does one of which the kernel reports
a fault, and the message says what it is."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from lockscale.errors import RunFailed
from lockscale.machines.machine import Completed, Machine, Step
from lockscale.measure.file_system import MADE, FileSystem, unmount_and_check

PASSES = "".join(f"Pass {n}: Checking something\n" for n in range(1, 6))
VERSION = "e2fsck 1.47.0 (5-Feb-2023)\n"


@dataclass
class Checked(Machine):
    """A machine on which every check says the same."""

    status: int
    stdout: str
    stderr: str = VERSION
    log: str = ""

    def run_all(self, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
        said = {"umount": (0, "", ""), "dmesg": (0, self.log, "")}
        return [
            Completed(("step",), *said.get(step[0], (self.status, self.stdout, self.stderr)))
            for step in steps
            if isinstance(step, Sequence)
        ]


def unmounted(machine: Machine, fs: str = "ext4", *, kernel_log: bool = True) -> None:
    made = FileSystem(fs, "/dev/vda", "mkfs", (), {}, "/dev/vda on /run")
    unmount_and_check(machine, made, kernel_log=kernel_log)


def test_one_with_nothing_to_mend_is_clean():
    unmounted(Checked(0, PASSES))
    unmounted(Checked(0, "", "Phase 1 - find and verify superblock...\n"), "xfs")


@pytest.mark.parametrize(
    ("machine", "fs", "said"),
    [
        (Checked(0, PASSES + "Free blocks count wrong (77, counted=78).\nFix? no\n"), "ext4", "Free"),
        (Checked(4, PASSES + "Inode 11 ref count is 77, should be 2.  Fix? no\n"), "ext4", "Inode 11 "),
        (Checked(8, "", VERSION + "e2fsck: Bad magic number in super-block\n"), "ext4", "e2fsck: Bad magic"),
        (Checked(1, "", "Phase 2 - using log\n        - zero log...\nsb_icount 9\n"), "xfs", "sb_icount 9"),
    ],
)
def test_what_is_to_mend_is_told_and_not_how_far_the_check_was(machine: Machine, fs: str, said: str):
    with pytest.raises(RunFailed, match=f"/dev/vda found the file system damaged: {said}"):
        unmounted(machine, fs)


WARNS = "WARNING: CPU: 2 PID: 345 at fs/ext4/orphan.c:120 ext4_orphan_add+0x1/0x2"
BROKEN = "EXT4-fs error (device vda): ext4_lookup:1787: inode #2: comm ls: bad"


@pytest.mark.parametrize("fault", [WARNS, BROKEN, "I/O error, dev vda, sector 8 op 0x1:(WRITE) flags 0x800"])
def test_a_file_system_of_which_the_kernel_reports_a_fault_gives_no_numbers(fault: str):
    """Though the load ended, and the check finds it clean."""
    log = f"[    1.0] Linux version 6.12\n[    2.0] {MADE.text}[    9.0] {fault}\n"
    with pytest.raises(RunFailed, match=r"the kernel reported '.*' while .* /dev/vda was in use"):
        unmounted(Checked(0, PASSES, log=log))
    unmounted(Checked(0, PASSES, log=log), kernel_log=False)


@pytest.mark.parametrize(
    "said",
    [
        f"{WARNS}\n[    8.0] {MADE.text}",
        f"{MADE.text}[    9.0] I/O error, dev sr0, sector 0 op 0x0:(READ) flags 0x0",
        f"{MADE.text}[  150.0] INFO: task fsload:321 blocked for more than 122 seconds.",
        f"{MADE.text}[    9.0] EXT4-fs (vda): mounted filesystem r/w with ordered data mode.",
    ],
)
def test_what_is_older_or_of_another_disk_or_only_slow_is_no_fault_of_it(said: str):
    unmounted(Checked(0, PASSES, log=f"[    1.0] {said}\n"))


def test_a_log_that_has_lost_its_beginning_counts_as_a_whole():
    with pytest.raises(RunFailed, match="WARNING: at fs/ext4/orphan"):
        unmounted(Checked(0, PASSES, log=f"[    9.0] {WARNS}\n"))
