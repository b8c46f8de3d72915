# SPDX-License-Identifier: MIT
"""tmpfs: what is left of a load's time is the VFS. It is in memory, so no disk is made or checked."""

from collections.abc import Sequence

from lockscale.errors import BadInput
from lockscale.filesystems.fs_type import Made


class Tmpfs:
    """See fs_type.py."""

    name = trace_system = "tmpfs"
    on_disk = False
    package = ""
    dry_run = ("true",)
    trace_header = ""
    versions: tuple[tuple[str, ...], ...] = ()

    def mkfs(self, options: Sequence[str], label: str, device: str, size: str) -> list[str]:
        raise BadInput("tmpfs is made by mount alone: there is nothing to format")

    def refuse_options(self, options: Sequence[str], size: str) -> None:
        if options or size:
            raise BadInput("tmpfs has no mkfs: leave mkfs empty, and give size=... as a mount option")

    def describe(self, device: str) -> list[str]:
        return ["true"]

    def read(self, said: str) -> Made:
        return Made()

    def knobs(self, device: str) -> str:
        raise BadInput("tmpfs has no settings in sysfs: leave knobs out")

    def check(self, device: str) -> list[str]:
        return ["true"]


TMPFS = Tmpfs()
