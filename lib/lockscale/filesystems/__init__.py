# SPDX-License-Identifier: MIT
"""The file systems that a study can be about. A study names one; nothing else outside this room names any."""

from lockscale.errors import BadInput
from lockscale.filesystems.btrfs import Btrfs
from lockscale.filesystems.ext4 import Ext4
from lockscale.filesystems.fs_type import FsType, Made, Options, tools_of
from lockscale.filesystems.tmpfs import Tmpfs
from lockscale.filesystems.xfs import Xfs

__all__ = ["FIRST", "FS_TYPES", "FsType", "Made", "Options", "fs_type", "on_disk", "tools_of"]

FS_TYPES: dict[str, FsType] = {one.name: one for one in (Btrfs(), Ext4(), Tmpfs(), Xfs())}
FIRST = FS_TYPES["ext4"]
"""What is made on a disk before any study asks for another, so that it carries this project's label."""


def on_disk(fs: FsType) -> FsType:
    """`fs`, or, of one in memory, what the disk that it leaves alone is looked at for."""
    return fs if fs.on_disk else FIRST


def fs_type(name: str) -> FsType:
    """The file system of that name, as mount knows it. Raises BadInput for one that there is not."""
    if name not in FS_TYPES:
        raise BadInput(f"there is no file system {name!r}: use one of {', '.join(sorted(FS_TYPES))}")
    return FS_TYPES[name]
