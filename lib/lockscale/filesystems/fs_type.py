# SPDX-License-Identifier: MIT
"""What an experiment asks of a file system: to be made, described, tuned, counted, checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Made:
    """What mkfs made, as the file system's own tools print it afterwards."""

    features: tuple[str, ...]
    block_groups: int
    inodes_per_group: int
    journal_size: str | None


class FsType(Protocol):
    """One file system. Commands are argv, run as root on the machine under test."""

    @property
    def name(self) -> str:
        """As `mount -t` and the kernel's list of block signatures call it."""

    @property
    def trace_system(self) -> str:
        """The folder of its trace events in tracefs."""

    @property
    def versions(self) -> Sequence[Sequence[str]]:
        """Commands whose first line on standard error is the version of a tool that decides a result."""

    def mkfs(self, options: Sequence[str], label: str, device: str, size: str) -> list[str]:
        """The command that makes it on `device`; size: as mkfs takes it, empty for the whole disk."""

    def refuse_options(self, options: Sequence[str], size: str) -> None:
        """Raises BadInput for an mkfs option that names another disk or file, or a size that is none."""

    def describe(self, device: str) -> list[str]:
        """The command that prints what read() reads."""

    def read(self, said: str) -> Made:
        """What describe() printed."""

    def knobs(self, device: str) -> str:
        """The folder of its settings in sysfs, for a device such as /dev/vda; mounted."""

    def check(self, device: str) -> list[str]:
        """The command that changes nothing and ends with 0 where there is nothing to mend; unmounted."""
