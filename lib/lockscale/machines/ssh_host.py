# SPDX-License-Identifier: MIT
"""Which server is meant, and the ways in which it is not to be had.

Every sentence names a server as the user typed it: never what ~/.ssh/config or DNS make of it, nor a
user, a key or an agent's socket.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from lockscale.errors import BadInput, RunFailed, printable

_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:%-]{0,252}")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+\\-]{0,63}")
_LAST_PORT = 65535


class Unreachable(RunFailed):
    """It does not answer now; later it may."""


class HostKeyRefused(BadInput):
    """It may be another server: nothing was sent to it."""


class LoginRefused(BadInput):
    """It answers and does not let this user in, or not as root."""


class Lost(Exception):
    """The connection ended in the middle. What runs on the server runs on."""


@dataclass(frozen=True)
class SshHost:
    """A server: an alias of ~/.ssh/config or an address, and what is to differ from that file.

    Raises BadInput for a name that could be read as an option or as more than a name.
    """

    host: str
    user: str | None = field(default=None, repr=False)
    port: int | None = None
    identity_file: Path | None = field(default=None, repr=False)
    known_hosts: Path | None = field(default=None, repr=False)
    ssh_config: Path | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not _HOST.fullmatch(self.host):
            raise BadInput(
                f"{printable(self.host)!r} is not a host: give an alias of ~/.ssh/config or a name, and the "
                "user and the port beside it"
            )
        if self.user is not None and not _USER.fullmatch(self.user):
            raise BadInput(f"the user of {self.host} has to be a login name")
        if self.port is not None and not 0 < self.port <= _LAST_PORT:
            raise BadInput(f"the port of {self.host} has to be one from 1 to {_LAST_PORT}")

    def by_hand(self) -> str:
        """The command by which a person meets this server, to see and accept its host key."""
        port = f"-p {self.port} " if self.port else ""
        file = "-o UserKnownHostsFile=THE_TARGETS_KNOWN_HOSTS " if self.known_hosts else ""
        return f"ssh {port}{file}{self.host}"
