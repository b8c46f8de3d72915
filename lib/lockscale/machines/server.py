# SPDX-License-Identifier: MIT
"""What a real server offers beyond running commands: files, a boot it can tell apart, a way back in."""

from pathlib import Path
from typing import Protocol

from lockscale.machines.machine import Machine


class RemoteServer(Machine, Protocol):
    """A machine that outlives our connection to it. Commands run as root."""

    def put(self, local: Path, remote: str) -> None:
        """Copy a file there, whole or not at all."""
        ...

    def boot_id(self) -> str:
        """/proc/sys/kernel/random/boot_id: another one after each boot."""
        ...

    def reconnect(self, timeout_s: float, *, after: str | None = None) -> None:
        """Wait until commands run again, on another boot than `after`; RunFailed after `timeout_s`."""
        ...
