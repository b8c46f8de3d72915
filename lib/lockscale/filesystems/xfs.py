# SPDX-License-Identifier: MIT
"""XFS, by xfsprogs."""

import re
from collections.abc import Sequence

from lockscale.filesystems.fs_type import Made, refuse_beyond

# Not -L, -N, -p, -c, nor a log, a realtime section or data in another device or a file.
OPTION = re.compile(r"-[bdilmnrs].*|-K")
ELSEWHERE = {"name", "file", "logdev", "rtdev", "options"}
FEATURES = re.compile(r"^versionnum \[\S+\] = (\S+)$", re.MULTILINE)
FACT = re.compile(r"\b(agcount|agsize|bsize|blocks|isize)=(\d+)")


class Xfs:
    """See fs_type.py."""

    name = trace_system = "xfs"
    on_disk = True
    package = "xfsprogs"
    dry_run = ("mkfs.xfs", "-N", "-f")
    trace_header = "fs/xfs/xfs_trace.h"
    versions = (("mkfs.xfs", "-V"), ("xfs_repair", "-V"))

    def mkfs(self, options: Sequence[str], label: str, device: str, size: str) -> list[str]:
        part = ["-d", f"size={size}"] if size else []
        return ["mkfs.xfs", "-q", "-f", "-L", label, *options, *part, device]

    def refuse_options(self, options: Sequence[str], size: str) -> None:
        refuse_beyond(options, size, OPTION, ELSEWHERE)

    def describe(self, device: str) -> list[str]:
        return ["xfs_db", "-r", "-c", "info", "-c", "version", device]

    def read(self, said: str) -> Made:
        # one paragraph each of the metadata, the data, the log: the same word means another number there
        sections = dict(re.findall(r"^(meta-data|data|log)\b(.*?)(?=^\w|\Z)", said, re.MULTILINE | re.DOTALL))
        found = {name: dict(FACT.findall(text)) for name, text in sections.items()}
        block_bytes = int(found["data"]["bsize"])
        features = FEATURES.search(said)
        return Made(
            features=tuple(features[1].lower().split(",")) if features else (),
            facts={
                "allocation_groups": int(found["meta-data"]["agcount"]),
                "allocation_group_bytes": int(found["meta-data"]["agsize"]) * block_bytes,
                "inode_bytes": int(found["meta-data"]["isize"]),
                "log_bytes": int(found["log"]["blocks"]) * int(found["log"]["bsize"]),
            },
        )

    def knobs(self, device: str) -> str:
        return f"/sys/fs/xfs/{device.removeprefix('/dev/')}"

    def check(self, device: str) -> list[str]:
        return ["xfs_repair", "-n", device]


XFS = Xfs()
