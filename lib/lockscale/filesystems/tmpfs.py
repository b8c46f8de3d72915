# SPDX-License-Identifier: MIT
"""tmpfs: what is left of a load's time is the VFS. It is in memory, so no disk is made or checked."""

from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.filesystems.fs_type import FsType


class Tmpfs(FsType):
    """See fs_type.py."""

    name, on_disk = "tmpfs", False

    def mkfs(self, options: Sequence[str], label: str, device: str, size: str) -> list[str]:
        raise BadInput("tmpfs is made by mount alone: there is nothing to format")

    def refuse_options(self, options: Sequence[str], size: str) -> None:
        if options or size:
            raise BadInput("tmpfs has no mkfs: leave mkfs empty, and give size=... as a mount option")

    def knobs(self, device: str) -> str:
        raise BadInput("tmpfs has no settings in sysfs: leave knobs out")
