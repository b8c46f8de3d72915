# SPDX-License-Identifier: MIT
"""A file system of which anything has to be mended gives no numbers, and the message says what it is."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from lockscale.errors import RunFailed
from lockscale.machines.machine import Completed, Machine, Step
from lockscale.measure.file_system import FileSystem, unmount_and_check

PASSES = "".join(f"Pass {n}: Checking something\n" for n in range(1, 6))
VERSION = "e2fsck 1.47.0 (5-Feb-2023)\n"


@dataclass
class Checked(Machine):
    """A machine on which every check says the same."""

    status: int
    stdout: str
    stderr: str = VERSION

    def run_all(self, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
        return [
            Completed(("step",), 0, "", "")
            if "umount" in step
            else Completed(("step",), self.status, self.stdout, self.stderr)
            for step in steps
            if isinstance(step, Sequence)
        ]


def unmounted(machine: Machine, fs: str = "ext4") -> None:
    unmount_and_check(machine, FileSystem(fs, "/dev/vda", "mkfs", (), {}, "/dev/vda on /run"))


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
