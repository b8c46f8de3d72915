# SPDX-License-Identifier: MIT
"""XFS, by xfsprogs."""

import re
from collections.abc import Sequence

from lockscale.filesystems.fs_type import FsType, Made

FEATURES = re.compile(r"^versionnum \[\S+\] = (\S+)$", re.MULTILINE)
FACT = re.compile(r"\b(agcount|agsize|bsize|blocks|isize)=(\d+)")


class Xfs(FsType):
    """See fs_type.py."""

    name, package = "xfs", "xfsprogs"
    dry_run = ("mkfs.xfs", "-N", "-f")
    trace_header = "fs/xfs/xfs_trace.h"
    versions = (("mkfs.xfs", "-V"), ("xfs_repair", "-V"))
    # Not -L, -N, -p, -c, nor a log, a realtime section or data in another device or a file.
    option, flags = re.compile(r"-[bdilmnrs].*|-K"), ("-K",)
    elsewhere = ("name", "file", "logdev", "rtdev", "options")
    progress = re.compile(r"Phase \d|- |No modify flag")

    def mkfs(self, options: Sequence[str], label: str, device: str, size: str) -> list[str]:
        part = ["-d", f"size={size}"] if size else []
        return ["mkfs.xfs", "-q", "-f", "-L", label, *options, *part, device]

    def describe(self, device: str) -> list[str]:
        return ["xfs_db", "-r", "-c", "info", "-c", "version", device]

    def read(self, said: str) -> Made:
        # one paragraph each of the metadata, the data, the log: the same word means another number there
        sections = dict(re.findall(r"^(meta-data|data|log)\b(.*?)(?=^\w|\Z)", said, re.MULTILINE | re.DOTALL))
        found = {name: {k: int(v) for k, v in FACT.findall(text)} for name, text in sections.items()}
        metadata, log, features = found["meta-data"], found["log"], FEATURES.search(said)
        facts = {
            "allocation_groups": metadata["agcount"],
            "allocation_group_bytes": metadata["agsize"] * found["data"]["bsize"],
            "inode_bytes": metadata["isize"],
            "log_bytes": log["blocks"] * log["bsize"],
        }
        return Made(tuple(features[1].lower().split(",")) if features else (), facts)

    def check(self, device: str) -> list[str]:
        return ["xfs_repair", "-n", device]
