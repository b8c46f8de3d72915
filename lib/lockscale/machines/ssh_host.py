# SPDX-License-Identifier: MIT
"""Which server is meant, how OpenSSH is asked for it, and the ways in which it is not to be had.

OpenSSH reads ~/.ssh/config, known_hosts and the agent. Before the user's own settings come those that no
file may change: a host key that is not known is refused and nobody is asked anything, of jump hosts too.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from lockscale.errors import BadInput, RunFailed, printable
from lockscale.programs import need

CONNECT_S = 15
ALIVE_S, ALIVE_COUNT = 15, 4  # a server that is silent for a minute is lost
SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:%-]{0,252}")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+\\-]{0,63}")
_LAST_PORT = 65535
_STRICT = """\
BatchMode yes
StrictHostKeyChecking yes
VerifyHostKeyDNS no
UpdateHostKeys no
PasswordAuthentication no
KbdInteractiveAuthentication no
AddKeysToAgent no
ForwardAgent no
ForwardX11 no
ClearAllForwardings yes
PermitLocalCommand no
RemoteCommand none
RequestTTY no
EscapeChar none
ControlMaster no
ControlPersist no
"""


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
                f"{printable(self.host)!r} is not a host: give an alias from ~/.ssh/config or a name, and "
                f"user and port in their own keys"
            )
        if self.user is not None and not _USER.fullmatch(self.user):
            raise BadInput(f"the user of {self.host} has to be a login name")
        if self.port is not None and not 0 < self.port <= _LAST_PORT:
            raise BadInput(f"the port of {self.host} has to be a number from 1 to {_LAST_PORT}")

    def by_hand(self) -> str:
        """The command by which a person meets this server, to see and accept its host key."""
        port = f"-p {self.port} " if self.port else ""
        file = "-o UserKnownHostsFile=THE_TARGETS_KNOWN_HOSTS " if self.known_hosts else ""
        return f"ssh {port}{file}{self.host}"

    def command(self, folder: Path, control: Path | None = None) -> list[str]:
        """argv of ssh, but for what it is to run there; its settings are written into `folder`.

        control: the socket under which further commands share the connection. Raises BadInput for a file
        that is named and not there.
        """
        for file, what in (
            (self.identity_file, "key file that the target names"),
            (self.known_hosts, "known_hosts file that the target names"),
            (self.ssh_config, "ssh_config file that is named"),
        ):
            if file is not None and not file.expanduser().is_file():
                raise BadInput(f"the {what} for {self.host} does not exist")
        config = folder / "ssh_config"
        config.write_text(self._settings(), errors="surrogateescape")
        argv = [need("ssh"), "-F", str(config), "-v", "-T"]  # -v: why it fails is in what it logs
        argv += ["-p", str(self.port)] if self.port else []
        argv += ["-l", self.user] if self.user else []
        # What is for this host alone, and for no jump host before it.
        options = {"ControlPath": str(control) if control else "none"}
        if control:
            options["ControlMaster"] = "yes"
        if self.identity_file:
            options["IdentityFile"] = _quoted(self.identity_file.expanduser().absolute())
        if self.known_hosts:
            options["UserKnownHostsFile"] = _quoted(self.known_hosts.expanduser().absolute())
            options["GlobalKnownHostsFile"] = "/dev/null"
        for option, value in options.items():
            argv += ["-o", f"{option}={value}"]
        return [*argv, "--", self.host]

    def _settings(self) -> str:
        """An ssh_config in which the first word on each setting is ours."""
        timeouts = (
            f"ConnectTimeout {CONNECT_S}\nServerAliveInterval {ALIVE_S}\nServerAliveCountMax {ALIVE_COUNT}\n"
        )
        files = [self.ssh_config] if self.ssh_config else [Path.home() / ".ssh" / "config", SYSTEM_CONFIG]
        read = [f"Include {_quoted(file.expanduser().absolute(), '')}\n" for file in files]
        return _STRICT + timeouts + "".join(read)


def _quoted(path: Path, percent: str = "%") -> str:
    """A path as ssh_config(5) takes one; `percent` goes before each %, which begins a token."""
    text = str(path)
    if any(word in text for word in ('"', "\n", "\\", "${")):
        raise BadInput(f"{printable(text)} has characters that an ssh_config cannot contain: move the file")
    return f'"{text.replace("%", f"{percent}%")}"'
