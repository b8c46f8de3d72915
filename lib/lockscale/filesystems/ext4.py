# SPDX-License-Identifier: MIT
"""ext4, by e2fsprogs."""

import re
from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.filesystems.fs_type import Made
from lockscale.printable import printable

# Not -L, -n, -t, nor any that reads a file.
OPTION = re.compile(r"-[bCEGgIiJmNOTUeor].*|-[DKj]")
SIZE = re.compile(r"[0-9]+[KMGTkmgts]?")


class Ext4:
    """See fs_type.py."""

    name = "ext4"
    trace_system = "ext4"
    versions = (("mkfs.ext4", "-V"), ("e2fsck", "-V"))

    def mkfs(self, options: Sequence[str], label: str, device: str, size: str) -> list[str]:
        return ["mkfs.ext4", "-q", "-F", "-L", label, *options, device, *([size] if size else [])]

    def refuse_options(self, options: Sequence[str], size: str) -> None:
        for option in options:
            dashed = option.startswith("-") and not OPTION.fullmatch(option)
            if dashed or "/" in option or "device=" in option:
                raise BadInput(f"the mkfs option {printable(option)!r} reaches beyond the disk: leave it out")
        if size and not SIZE.fullmatch(size):
            raise BadInput(
                f"{printable(size)!r} is no size of a file system: give a number with K, M, G or T"
            )

    def describe(self, device: str) -> list[str]:
        return ["dumpe2fs", "-h", device]

    def read(self, said: str) -> Made:
        found = dict(re.findall(r"^([^:\n]+):\s*(.*)$", said, re.MULTILINE))
        inodes_per_group = int(found["Inodes per group"])
        return Made(
            features=tuple(found["Filesystem features"].split()),
            block_groups=int(found["Inode count"]) // inodes_per_group,
            inodes_per_group=inodes_per_group,
            journal_size=found.get("Total journal size", found.get("Journal size")),
        )

    def knobs(self, device: str) -> str:
        return f"/sys/fs/ext4/{device.removeprefix('/dev/')}"

    def check(self, device: str) -> list[str]:
        return ["e2fsck", "-f", "-n", device]


EXT4 = Ext4()
