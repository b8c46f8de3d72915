# SPDX-License-Identifier: MIT
"""Which server is meant, how OpenSSH is asked for it, and the ways in which it is not to be had.

OpenSSH reads ~/.ssh/config, known_hosts and the agent. Before the user's own settings come those that no
file may change: a host key that is not known is refused and nobody is asked anything, of jump hosts too.

What OpenSSH logs when it gives up becomes one sentence that names a server as the user typed it. The log of
`ssh -v` names users, key files, addresses and the real names behind aliases: of all that only a host key's
fingerprint is passed on. Its wording is that of OpenSSH 8.4 (Debian 11) to 10.0 (Debian 13).
"""

import re
from collections.abc import Iterator
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
NoHostAuthenticationForLocalhost no
VerifyHostKeyDNS no
UpdateHostKeys no
PasswordAuthentication no
KbdInteractiveAuthentication no
AddKeysToAgent no
GSSAPIDelegateCredentials no
ForwardAgent no
ForwardX11 no
ClearAllForwardings yes
Tunnel no
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


UNREADABLE = "an ssh_config file cannot be read: `ssh -G HOST` says where"
MOST_JUMPS = 8
IN_A_CIRCLE = "Setting implicit ProxyCommand from ProxyJump"
_KEY_SENT = re.compile(r"Server host key: (\S+) (\S+)")

Refusal = BadInput | RunFailed


def refusal_of(host: SshHost, log: str) -> Refusal:
    """Why `ssh -v` to `host` ended before its command ran."""
    lines = log.replace("\r", "").splitlines()
    debug = "\n".join(line for line in lines if line.startswith("debug"))
    said = "\n".join(line for line in lines if not line.startswith("debug"))
    name = f"the jump host of {host.host}" if _at_jump_host(said, debug) else host.host
    by_hand = host.by_hand()
    sent = _KEY_SENT.findall(debug)
    reasons = "; ".join(_why_no_key_opens(said, debug))
    words = {
        "name": name,
        "by_hand": by_hand,
        "key": f"({' '.join(sent[-1])})" if sent else "(of unknown type)",
        "reasons": f" ({reasons})" if reasons else "",
        "cause": "the connection broke",
    }
    for kind, sentences in _REFUSALS:
        for pattern, sentence in sentences.items():
            if found := re.search(pattern, said, re.MULTILINE | re.IGNORECASE):
                return kind(sentence.format_map(words | {k: v for k, v in found.groupdict().items() if v}))
    if "Authenticated to" in debug:
        return Unreachable(f"{name} closes the connection after the login")
    return Unreachable(f"{name} cannot be reached: `{by_hand}` says why")


def refusal_of_sudo(name: str, said: str) -> LoginRefused | None:
    """What sudo means, if it is sudo that refuses. Its own words name the user and the server."""
    if "sudo" not in said:
        return None
    allow = "allow it in `visudo` with a line `LOGIN ALL=(root) NOPASSWD: ALL`, or log in as root"
    if "not found" in said:
        return LoginRefused(f"{name} has no sudo, and the user is not root: install it, or log in as root")
    if "password" in said:
        return LoginRefused(
            f"sudo on {name} asks for a password, which lockscale neither stores nor sends: {allow}"
        )
    if "tty" in said or "terminal" in said:
        return LoginRefused(f"sudo on {name} wants a terminal: remove requiretty from its sudoers file")
    return LoginRefused(f"sudo on {name} refuses this user: {allow}")


def _at_jump_host(said: str, debug: str) -> bool:
    """A jump host's own ssh failed: the last one then reads nothing from its pipe."""
    return IN_A_CIRCLE in debug and bool(
        re.search(r"kex_exchange_identification: Connection closed|closed by UNKNOWN port 65535", said)
    )


def _why_no_key_opens(said: str, debug: str) -> Iterator[str]:
    if "Too many authentication failures" in said:
        yield "it closed the connection after too many keys: set `IdentitiesOnly yes` for it"
    if re.search(r"bad permissions|UNPROTECTED PRIVATE KEY", said):
        yield "a key file is readable by others: chmod 600"
    elif re.search(r'^Load key ".*": Permission denied', said, re.MULTILINE):
        yield "a key file is not readable by this user"
    elif re.search(r'^Load key ".*"', said, re.MULTILINE):
        yield "a key file has no key in a known format"
    if "Server accepts key" in debug:  # and it could not be used
        yield "a key needs a passphrase: add it to the agent with ssh-add"
    if "Authenticated using" in debug:
        yield "it requires more than a key"
    if "Offering public key" not in debug:
        yield "there is no key to offer, neither in an agent nor in a file"


# What ssh says -> what is wrong, the first that fits. {key}: type and fingerprint of the host key sent last.
_REFUSALS: tuple[tuple[type[Refusal], dict[str, str]], ...] = (
    (
        Unreachable,
        {r"^\S*sh: .*(not found|No such file)": "{name} has a ProxyCommand that is not on this machine"},
    ),
    (
        BadInput,
        {r" line \d+: (?!Unsupported option)|^Bad owner or permissions|terminating, \d+ bad": UNREADABLE},
    ),
    (
        HostKeyRefused,
        {
            r"REVOKED HOST KEY": "the host key of {name} {key} is revoked in known_hosts",
            r"IDENTIFICATION HAS CHANGED": "the host key of {name} has changed {key}: another server may be "
            "answering; if you know why, `{by_hand}` names the old line of known_hosts to remove",
            r"Host key verification failed": "the host key of {name} {key} is not in known_hosts: compare it "
            "with the server's own (`ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub` there), then run "
            "`{by_hand}` once to add it",
        },
    ),
    (
        Unreachable,
        {
            r"Could not resolve hostname": "{name} does not resolve: is the name right, and is it in "
            "~/.ssh/config or DNS?",
            r"^ssh: connect to host .*: Connection refused": "{name} refuses the connection: is sshd "
            "running there, and is the port right?",
            r"^ssh: connect to host .*: (No route to host|Network is unreachable|Cannot assign)": "{name} "
            "cannot be reached, there is no route to it: is it up, and is this machine on its network?",
            r"^ssh: connect to host .*timed out": f"{{name}} does not answer within {CONNECT_S} s: is it up, "
            "and does a firewall let ssh through?",
            r"^ssh: connect to host (?:.*: (?P<cause>.+)$)?": "{name} cannot be reached ({cause})",
        },
    ),
    (
        LoginRefused,
        {
            r"^Unable to negotiate|no matching .* found": "{name} offers no key exchange, host key or "
            "cipher that is considered safe",
            r"^\S+: Permission denied \(|Too many authentication failures": "{name} accepts none of this "
            "user's keys{reasons}: put the public key into the server's authorized_keys, and name the user "
            "and the key in the target file or ~/.ssh/config",
        },
    ),
    (
        Unreachable,
        {
            r"stdio forwarding failed|open failed": "{name} cannot be reached from its jump host",
            r"kex_exchange_identification|banner|^Connection (closed|reset)|Bad packet length": "{name} "
            "closes the connection before login: is there an ssh server on that port?",
        },
    ),
)
