# SPDX-License-Identifier: MIT
"""ext4, by e2fsprogs."""

import re
from collections.abc import Sequence

from lockscale.filesystems.fs_type import FsType, Made


class Ext4(FsType):
    """See fs_type.py."""

    name, package = "ext4", "e2fsprogs"
    dry_run = ("mkfs.ext4", "-n", "-q", "-F")
    trace_header = "include/trace/events/ext4.h"
    versions = (("mkfs.ext4", "-V"), ("e2fsck", "-V"))
    # Not -L, -n, -t, nor any that reads a file; with offset the file system begins where no mount looks.
    option, elsewhere = re.compile(r"-[bCEGgIiJmNOTUeor].*|-[DKj]"), ("device", "offset")
    flags = ("-D", "-K", "-j")
    progress = re.compile(r"e2fsck \d|Pass \d")

    def mkfs(self, options: Sequence[str], label: str, device: str, size: str) -> list[str]:
        return ["mkfs.ext4", "-q", "-F", "-L", label, *options, device, *([size] if size else [])]

    def describe(self, device: str) -> list[str]:
        return ["dumpe2fs", "-h", device]

    def read(self, said: str) -> Made:
        found = dict(re.findall(r"^([^:\n]+):\s*(.*)$", said, re.MULTILINE))
        inodes_per_group = int(found["Inodes per group"])
        facts = {
            "block_groups": int(found["Inode count"]) // inodes_per_group,
            "inodes_per_group": inodes_per_group,
            "journal_size": found.get("Total journal size", found.get("Journal size")),
        }
        return Made(tuple(found["Filesystem features"].split()), facts)

    def check(self, device: str) -> list[str]:
        return ["e2fsck", "-f", "-n", device]

    def fault(self, status: int, printed: str) -> str:
        """Totals of free blocks and inodes that are wrong too: e2fsck tells of them, and ends with 0."""
        wrong = re.search(r"^Free (?:blocks|inodes) count wrong \(.*", printed, re.MULTILINE)
        return super().fault(status, printed) or (wrong[0] if wrong else "")
