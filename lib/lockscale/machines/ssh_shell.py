# SPDX-License-Identifier: MIT
"""A script as root on the server, whatever the user's login shell is and prints.

The command line is always the same; the script follows on standard input, so its length has no limit
and no server logs it.
"""

import secrets
import shlex
import time
from typing import NoReturn, Self

import paramiko

from lockscale.machines.ssh_connection import Connection
from lockscale.machines.ssh_host import LoginRefused, Lost, Unreachable

_ENTER = (
    'LC_ALL=C; export LC_ALL; as=; [ "$(id -u)" = 0 ] || as="sudo -n"; '
    """exec $as /bin/sh -c 'eval "$(head -c "$1")"' sh "$1" """.rstrip()
)
_LOOK_S = 1.0
_CHUNK = 1 << 16
_LINE_MOST = 4096
_BROKEN = (paramiko.SSHException, EOFError, OSError)


class RootShell:
    """A running script: a context manager whose streams are read by line or by number of bytes.

    Every wait raises Lost with the connection, and Unreachable `timeout_s` after the start. LoginRefused
    where sudo asks for a password.
    """

    def __init__(
        self, connection: Connection, script: str, arguments: list[str], data: bytes, timeout_s: float
    ) -> None:
        self.connection = connection
        self.deadline_s = time.monotonic() + timeout_s
        self._read = b""
        mark = secrets.token_hex(16)
        # What the user's shell printed at the login may end without an end of its line.
        text = f"echo; echo {mark}\n{shlex.join(['set', '--', *arguments])}\n{script}".encode()
        try:
            self.channel = connection.transport.open_session(timeout=timeout_s)
            self.channel.settimeout(timeout_s)
            self.channel.exec_command(shlex.join(["/bin/sh", "-c", _ENTER, "sh", str(len(text))]))
        except _BROKEN as error:
            raise Lost("the connection broke") from error
        try:
            self._send(text + data)
            self.channel.settimeout(_LOOK_S)
            while self.line() != mark:  # what the user's shell prints at a login is before it
                pass
        except BaseException:
            self.channel.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()

    def line(self) -> str:
        """The next line, without its end."""
        while b"\n" not in self._read:
            self._more()
        line, _, self._read = self._read.partition(b"\n")
        return line.decode(errors="replace")

    def exactly(self, count: int) -> bytes:
        """The next `count` bytes."""
        parts = [self._read]
        have = len(self._read)
        while have < count:
            self._read = b""
            self._more()
            parts.append(self._read)
            have += len(self._read)
        whole = b"".join(parts)
        self._read = whole[count:]
        return whole[:count]

    def say(self, line: str) -> None:
        """Send the script a line, and wait until it has ended."""
        self._send(f"{line}\n".encode())
        try:
            while True:
                self._more()
        except Lost:
            self.connection.check()

    def _send(self, data: bytes) -> None:
        try:
            self.channel.sendall(data)
        except _BROKEN:
            self._ended()

    def _more(self) -> None:
        while True:
            try:
                got = self.channel.recv(_CHUNK)
            except TimeoutError:
                self.connection.check()
                if time.monotonic() > self.deadline_s:
                    raise Unreachable(f"{self.connection.host.host} does not answer any more") from None
                continue
            if not got:
                self._ended()
            self._read += got
            return

    def _ended(self) -> NoReturn:
        """The script is gone before it was done: say why, if it is not the connection."""
        self.channel.status_event.wait(_LOOK_S)
        said = self._errors()
        if self.channel.exit_status > 0:
            _refuse_sudo(self.connection.host.host, said)
        raise Lost("the script on the server ended early")

    def _errors(self) -> str:
        if not self.channel.recv_stderr_ready():
            return ""
        return str(self.channel.recv_stderr(_LINE_MOST).decode(errors="replace"))


def _refuse_sudo(name: str, said: str) -> None:
    """Raise what sudo means. Its own words are not passed on: they name the user and the server."""
    if "sudo" not in said:
        return
    allow = "allow it by `visudo` with a line `LOGIN ALL=(root) NOPASSWD: ALL`, or log in as root"
    if "not found" in said:
        raise LoginRefused(f"{name} has no sudo, and the user is not root: install it, or log in as root")
    if "password" in said:
        raise LoginRefused(f"sudo on {name} asks for a password, and none is stored or sent: {allow}")
    if "tty" in said or "terminal" in said:
        raise LoginRefused(f"sudo on {name} wants a terminal: remove requiretty from its sudoers file")
    raise LoginRefused(f"sudo on {name} refuses this user: {allow}")
