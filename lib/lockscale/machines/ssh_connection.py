# SPDX-License-Identifier: MIT
"""A connection to a server, through jump hosts where ~/.ssh/config says so; or one sentence why not."""

import contextlib
import errno
import logging
import shlex
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import fabric
import paramiko

from lockscale.errors import BadInput
from lockscale.machines.ssh_host import LoginRefused, Lost, SshHost, Unreachable
from lockscale.machines.ssh_known_hosts import entry_name, known_keys
from lockscale.machines.ssh_login import HostKeyCheck, KeyLogin, identity_files
from lockscale.machines.ssh_settings import UNREADABLE, known_hosts_files, read_settings

CONNECT_S = 15
PULSE_S, SILENCE_S = 15.0, 60.0
_MOST_HOPS = 8

# They log users, key files and the server's address, and a root logger may go to a notebook.
for _name in ("paramiko", "fabric", "invoke"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


class Connection:
    """One open connection; Lost when the server falls silent, although nothing closed it."""

    def __init__(self, host: SshHost) -> None:
        self.host = host
        self._proxy: subprocess.Popen[bytes] | None = None
        self._wire: socket.socket | None = None
        self._stop = threading.Event()
        _must_be_there(host)
        settings = read_settings(host)
        self._route = [self._hop(host, settings, host.host)]
        try:
            self._lay_route(settings)
            self._open()
        except BaseException:
            self.close()
            raise
        self._answered_s = time.monotonic()
        self._pulse = threading.Thread(target=self._beat, daemon=True)
        self._pulse.start()

    @property
    def transport(self) -> Any:
        return self._route[0].transport

    def check(self) -> None:
        """Raise Lost when the connection is closed, or the server silent for a minute."""
        if not self.transport.is_active():
            raise Lost("the connection is closed")
        if time.monotonic() - self._answered_s > SILENCE_S:
            raise Lost(f"the server is silent for {SILENCE_S:.0f} s")

    def close(self) -> None:
        """Close every hop; nothing that runs on the server ends by it."""
        self._stop.set()
        for hop in self._route:
            hop.client.close()
        if self._proxy is not None:
            self._proxy.terminate()
            self._proxy.wait()
        if self._wire is not None:
            self._wire.close()

    def _beat(self) -> None:
        """Ask for a sign of life now and then: TCP alone notices a dead server after a quarter of an hour."""
        while not self._stop.wait(PULSE_S):
            self.transport.global_request("keepalive@openssh.com", wait=True)
            self._answered_s = time.monotonic()

    def _hop(self, host: SshHost, settings: Any, name: str) -> Any:
        """fabric's connection to one hop, told what to check; it is not opened."""
        config = fabric.Config(lazy=True, ssh_config=settings)
        try:
            hop = fabric.Connection(
                host.host, host.user, host.port, config, gateway=False, forward_agent=False,
                connect_timeout=CONNECT_S,
            )  # fmt: skip
        except ValueError:
            raise BadInput(UNREADABLE) from None
        found = hop.ssh_config
        files = [host.known_hosts.expanduser()] if host.known_hosts else known_hosts_files(found)
        known = known_keys(files, entry_name(hop.host, hop.port, found.get("hostkeyalias")))
        check = HostKeyCheck(name, self.host.by_hand(), known)
        hop.client.set_missing_host_key_policy(check)
        only = str(found.get("identitiesonly", "no")).lower() == "yes"
        keys = identity_files(host.identity_file, found)
        hop.connect_kwargs = {
            "auth_strategy": KeyLogin(name, hop.user, keys, only),
            "transport_factory": check.transport,
            "banner_timeout": CONNECT_S,
            "channel_timeout": CONNECT_S,
        }
        return hop

    def _lay_route(self, settings: Any) -> None:
        """Put the jump hosts behind the server in the route, the farthest from it last."""
        name = f"the jump host of {self.host.host}"
        while jumps := _jumps(self._route[-1]):
            for jump in reversed(jumps):
                if len(self._route) > _MOST_HOPS:
                    raise BadInput(f"ProxyJump leads to {self.host.host} in a circle, or too far about")
                hop = self._hop(jump, settings, name)
                self._route[-1].gateway = hop
                self._route.append(hop)

    def _open(self) -> None:
        """Open the hops, the farthest first."""
        command = self._route[-1].ssh_config.get("proxycommand")
        for number, hop in reversed(list(enumerate(self._route))):
            name = f"the jump host of {self.host.host}" if number else self.host.host
            with _sentences(name):
                if command and hop is self._route[-1]:
                    hop.connect_kwargs["sock"] = self._start_proxy(command)
                hop.open()

    def _start_proxy(self, command: str) -> socket.socket:
        """ProxyCommand on a socket: paramiko's own pipe spins for ever once the command has ended."""
        self._wire, theirs = socket.socketpair()
        with theirs:
            self._proxy = subprocess.Popen(
                shlex.split(command), stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL
            )
        return self._wire


def _must_be_there(host: SshHost) -> None:
    for file, what in ((host.identity_file, "key"), (host.known_hosts, "known_hosts")):
        if file is not None and not file.expanduser().is_file():
            raise BadInput(f"the {what} file that the target names for {host.host} is not there")


def _jumps(hop: Any) -> list[SshHost]:
    """The hosts of ProxyJump in the order in which they are passed; a host is no jump host of itself."""
    said = hop.ssh_config.get("proxyjump") or "none"
    if said.lower() == "none":
        return []
    jumps = []
    for one in said.split(","):
        user, _, place = one.strip().rpartition("@")
        name, colon, port = place.rpartition(":")
        if not (colon and port.isdigit() and (name.count(":") == 0 or name.endswith("]"))):
            name, port = place, ""
        jumps.append(SshHost(name.strip("[]"), user or None, int(port) if port else None))
    return [] if hop.original_host in (jump.host for jump in jumps) else jumps


@contextlib.contextmanager
def _sentences(name: str) -> Iterator[None]:
    """paramiko's and the system's errors as one sentence each, without what only they know."""
    try:
        yield
    except (BadInput, Unreachable):
        raise
    except socket.gaierror:
        raise Unreachable(
            f"{name} has no address: is the name right, and does ~/.ssh/config or DNS know it?"
        ) from None
    except TimeoutError:
        raise Unreachable(
            f"{name} does not answer within {CONNECT_S} s: is it up, and does a firewall let ssh through?"
        ) from None
    except paramiko.ChannelException:
        raise Unreachable(f"{name} cannot be reached from its jump host") from None
    except paramiko.ssh_exception.IncompatiblePeer:
        raise LoginRefused(f"{name} offers no key exchange, host key or cipher that is still safe") from None
    except (paramiko.SSHException, EOFError):
        raise Unreachable(
            f"what answers for {name} ends the talk before a login: is an ssh server on that port?"
        ) from None
    except OSError as error:
        raise Unreachable(f"{name} {_why(error)}") from None


def _why(error: OSError) -> str:
    several = getattr(error, "errors", None)  # NoValidConnectionsError: one for each address
    numbers = {one.errno for one in several.values()} if several else {error.errno}
    if errno.ECONNREFUSED in numbers:
        return "refuses the connection: does sshd run there, and is the port right?"
    if numbers & {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL}:
        return "has no route to it: is it up, and is this machine on its network?"
    if errno.ENOENT in numbers:
        return "has a ProxyCommand that is not on this machine"
    return f"cannot be reached ({error.strerror or 'the connection broke'})"
