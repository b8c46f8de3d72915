# SPDX-License-Identifier: MIT
"""btrfs, by btrfs-progs, on one disk."""

import re
from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.filesystems.fs_type import FsType, Made

FLAGS = re.compile(r"^(?:in)?compat\w*_flags\t+\S+\n\t+\( (.*?) \)$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"^(nodesize|sectorsize|num_devices)\t+(\d+)$", re.MULTILINE)


class Btrfs(FsType):
    """See fs_type.py."""

    name, package = "btrfs", "btrfs-progs"
    trace_header = "include/trace/events/btrfs.h"
    versions = (("mkfs.btrfs", "--version"), ("btrfs", "--version"))
    # Not -L, nor -r, which copies a folder in, nor -b, which is the size.
    option = re.compile(r"-[dmnsOR].*|-[MK]|--(?:data|metadata|nodesize|sectorsize|checksum|csum)")
    flags = ("-M", "-K")
    progress = re.compile(r"\[\d/\d\]|Opening |Checking |UUID")

    def mkfs(self, options: Sequence[str], label: str, device: str, size: str) -> list[str]:
        return ["mkfs.btrfs", "-q", "-f", "-L", label, *options, *(["-b", size] if size else []), device]

    def describe(self, device: str) -> list[str]:
        return ["btrfs", "inspect-internal", "dump-super", device]

    def read(self, said: str) -> Made:
        features = [flag.strip().lower() for flags in FLAGS.findall(said) for flag in flags.split("|")]
        numbers = {name: int(number) for name, number in NUMBER.findall(said)}
        facts = {"node_bytes": numbers["nodesize"], "sector_bytes": numbers["sectorsize"]}
        return Made(tuple(features), facts)

    def knobs(self, device: str) -> str:
        raise BadInput(f"btrfs has its settings in sysfs by UUID, not by {device}: leave knobs out")

    def check(self, device: str) -> list[str]:
        return ["btrfs", "check", "--readonly", device]
