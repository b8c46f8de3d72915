# SPDX-License-Identifier: MIT
"""A script as root on a server, run by OpenSSH, whatever the user's login shell is and prints.

The command line is always the same; the script follows on standard input, so its length has no limit
and no server logs it. ssh runs in a session of its own: without a terminal it can ask nobody anything,
and it gets no interrupt. It ends with this process, as its standard input does.
"""

import contextlib
import os
import secrets
import select
import shlex
import signal
import subprocess
import tempfile
import time
from typing import NoReturn, Self

from lockscale.errors import BadInput
from lockscale.machines.ssh_host import (
    IN_A_CIRCLE,
    MOST_JUMPS,
    LoginRefused,
    Lost,
    SshHost,
    Unreachable,
    refusal_of,
    refusal_of_sudo,
)
from lockscale.programs import need
from lockscale.scratch import ScratchFolder

_ENTER = (
    'LC_ALL=C; export LC_ALL; as=; [ "$(id -u)" = 0 ] || as="sudo -n"; '
    """exec $as /bin/sh -c 'eval "$(head -c "$1")"' sh "$1" """.rstrip()
)
LOGIN_S = 60.0
STUCK_S = 300.0  # ssh answers for a server whose disk hangs
_LOOK_S = 0.2
_END_S = 5.0
_CHUNK = 1 << 18
_SSH_FAILED = 255  # ssh(1), EXIT STATUS
_SOCKETS = "/tmp"  # a socket's path has to be short: unix(7)
_LOG_MOST = 1 << 20
_SECRET = ("DISPLAY", "SSH_ASKPASS")  # by which ssh would ask a person


class RootShell:
    """A running script: a context manager whose output is read by line or by number of bytes.

    connects: `ssh` makes the connection, and why it cannot is raised. Every wait for output raises
    Lost with the connection, and Unreachable `timeout_s` after the start; send() raises it where nothing was
    read for STUCK_S. LoginRefused where sudo asks for a password.
    """

    def __init__(
        self, host: SshHost, ssh: list[str], script: str, arguments: list[str], timeout_s: float,
        data: bytes = b"", *, connects: bool = False,
    ) -> None:  # fmt: skip
        self.host, self._connects = host, connects
        self.deadline_s = time.monotonic() + timeout_s
        self.is_in = False  # the script has begun
        self._read = b""
        mark = secrets.token_hex(16)
        # What the user's shell printed at the login may end without an end of its line.
        text = f"echo; echo {mark}\n{shlex.join(['set', '--', *arguments])}\n{script}".encode(
            errors="surrogateescape"
        )
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        environment = {key: value for key, value in os.environ.items() if key not in _SECRET}
        self._process = subprocess.Popen(
            [*ssh, shlex.join(["/bin/sh", "-c", _ENTER, "sh", str(len(text))])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
            env={**environment, "LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"}, start_new_session=True,
            bufsize=0,
        )  # fmt: skip
        assert self._process.stdin
        os.set_blocking(self._process.stdin.fileno(), False)
        try:
            self.send(text + data)
            while self.line() != mark:
                pass
            self.is_in = True
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End ssh and whatever it started here; what runs on the server runs on."""
        assert self._process.stdin and self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        with contextlib.suppress(ProcessLookupError):  # a jump host's ssh is in its group
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process.stdout.close()
        self._log.close()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def line(self) -> str:
        """The next line, without its end."""
        while b"\n" not in self._read:
            self._read += self._more()
        line, _, self._read = self._read.partition(b"\n")
        return line.decode(errors="replace")

    def some(self, most: int) -> bytes:
        """At least one and at most `most` of the next bytes."""
        have = self._read or self._more()
        self._read = have[most:]
        return have[:most]

    def exactly(self, count: int) -> bytes:
        """The next `count` bytes."""
        parts: list[bytes] = []
        while count:
            parts.append(self.some(count))
            count -= len(parts[-1])
        return b"".join(parts)

    def send(self, data: bytes) -> None:
        """Write to the script's standard input. Unreachable where nothing of it is read for STUCK_S."""
        assert self._process.stdin
        pipe, left = self._process.stdin.fileno(), memoryview(data)
        while left:
            if not select.select([], [pipe], [], STUCK_S)[1]:
                raise Unreachable(f"{self.host.host} no longer answers")
            try:
                left = left[os.write(pipe, left) :]
            except BlockingIOError:
                continue
            except OSError:
                break
        if left:  # here, as how the pipe broke does not belong into what is told
            self._ended()

    def end_input(self) -> None:
        """The script reads the end of its standard input."""
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()
            return
        self._ended()

    def wait(self) -> None:
        """Until the script has ended by itself."""
        with contextlib.suppress(Lost):
            while True:
                self._more()

    def _more(self) -> bytes:
        assert self._process.stdout
        while True:
            ready, _, _ = select.select([self._process.stdout], [], [], _LOOK_S if not self.is_in else 60)
            if ready:
                return os.read(self._process.stdout.fileno(), _CHUNK) or self._ended()
            if not self.is_in and self._log_text().count(IN_A_CIRCLE) > MOST_JUMPS:
                raise BadInput(f"the ProxyJump hosts to {self.host.host} form a loop, or are too many")
            if time.monotonic() > self.deadline_s:
                raise Unreachable(f"{self.host.host} no longer answers")

    def _ended(self) -> NoReturn:
        """The script is gone before it was done: say why."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        if not self.is_in:
            self._refuse()
        raise Lost("the connection broke")

    def _refuse(self) -> None:
        """Raise what ssh or sudo logged; nothing where a connection that was open broke."""
        log, name = self._log_text(), self.host.host
        said = "\n".join(line for line in log.splitlines() if not line.startswith("debug"))
        if self._connects and self._process.returncode == _SSH_FAILED:
            raise refusal_of(self.host, log)
        if self._process.returncode != _SSH_FAILED and (refused := refusal_of_sudo(name, said)):
            raise refused
        if self._connects:
            raise Unreachable(f"{name} closes the connection after the login")
        if "refused by peer" in said:
            raise LoginRefused(f"{name} allows one session per connection: raise MaxSessions of its sshd")

    def _log_text(self) -> str:
        """What ssh and the script wrote to standard error; read where ssh does not write on."""
        return os.pread(self._log.fileno(), _LOG_MOST, 0).decode(errors="replace")


class Connection:
    """One open connection to a server, over which scripts run as root; its own script runs as long as it.

    What `script` prints first is read by line(). It reads the end of its input when this process ends.
    """

    def __init__(self, host: SshHost, script: str, arguments: list[str]) -> None:
        self.host = host
        self._folder = ScratchFolder("ssh", _SOCKETS)
        self._socket = self._folder.path / "socket"
        try:
            ssh = host.command(self._folder.path, self._socket)
            self._first = RootShell(host, ssh, script, arguments, LOGIN_S, connects=True)
        except BaseException:
            self._folder.remove()
            raise

    def line(self) -> str:
        """The next line of the connection's own script, which is over where there is none."""
        try:
            return self._first.line()
        except Lost:
            raise Unreachable(f"{self.host.host} closes the connection after the login") from None

    def shell(self, script: str, arguments: list[str], timeout_s: float, data: bytes = b"") -> RootShell:
        """A further script over this connection, and over no other: without it ssh ends at once."""
        ssh = [need("ssh"), "-F", "none", "-T", "-S", str(self._socket), "-o", "ProxyCommand=false"]
        ssh += ["-o", "BatchMode=yes", "-o", "EscapeChar=none", "--", "shared"]
        return RootShell(self.host, ssh, script, arguments, timeout_s, data)

    @property
    def is_alive(self) -> bool:
        return self._first.is_alive

    def say(self, words: bytes) -> None:
        """Tell the connection's own script something."""
        self._first.send(words)

    def leave(self, words: bytes) -> None:
        """Tell it the last, and wait until it has ended."""
        self.say(words)
        self._first.wait()

    def close(self) -> None:
        """Close it; nothing that runs on the server ends by it but its own script."""
        self._first.close()
        self._folder.remove()
