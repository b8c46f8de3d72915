# SPDX-License-Identifier: MIT
"""A server reached by ssh, as a machine: commands as root that outlive the connection, and files."""

import contextlib
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from lockscale.errors import BadInput, RunFailed
from lockscale.machines.machine import Completed, Step
from lockscale.machines.ssh_host import HostKeyRefused, LoginRefused, Lost, SshHost, Unreachable
from lockscale.progress import progress, told_if_long

if TYPE_CHECKING:
    from lockscale.machines.ssh_connection import Connection
    from lockscale.machines.ssh_job import Session

__all__ = ["SshHost", "SshMachine"]

ROOM = "/run/lockscale-jobs"  # of root alone, in memory, and gone after a boot
LOST_S = 300.0  # how long a lost connection is tried again while a job waits
RETRY_S = 1.0
T = TypeVar("T")


class SshMachine:
    """A server, from `with` to leaving it. Nothing is installed on it and nothing is left there.

    Every command runs as root, by `sudo -n` where the user is not root. A command whose connection is
    lost runs on; it is found again, and never started twice. Calls come from one thread at a time.
    """

    emulated = False

    def __init__(self, host: SshHost, room: str = ROOM) -> None:
        self.host = host
        self.room = room
        self._connection: Connection | None = None
        self._session: Session | None = None
        self._jobs = 0

    def __enter__(self) -> Self:
        try:
            with told_if_long(f"connect to {self.host.host}"):
                self._connect()
            self._open_session()
        except BaseException:
            self._hang_up()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Lost, RunFailed, BadInput):
            self._close_session()
        self._hang_up()

    def run(self, argv: Sequence[str], *, timeout_s: float = 60) -> Completed:
        return self.run_all([argv], timeout_s=timeout_s)[0]

    def run_all(self, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
        from lockscale.machines.ssh_job import Job

        self._jobs += 1
        job = Job(self._open, self._jobs, tuple(steps), timeout_s)
        try:
            return self._again_when_lost(job.attend)
        except (KeyboardInterrupt, SystemExit):
            with contextlib.suppress(Lost, RunFailed, BadInput):
                self._again_when_lost(job.cancel, 0)
            raise

    def put(self, local: Path, remote: str) -> None:
        """Copy a file to the server, whole or not at all, with its mode; both sides' sha256 agree.

        BadInput when the server's disk is full, or `remote` cannot be written.
        """
        from lockscale.machines.ssh_transfer import put

        self._again_when_lost(lambda connection: put(self, connection, local, remote))

    def get(self, remote: str, local: Path) -> None:
        """Copy a file from the server, whole or not at all; both sides' sha256 agree.

        BadInput when this machine's disk is full, or `remote` is no file.
        """
        from lockscale.machines.ssh_transfer import get

        self._again_when_lost(lambda connection: get(self, connection, remote, local))

    def boot_id(self) -> str:
        """The kernel's own name of this boot (/proc/sys/kernel/random/boot_id), read when it connected."""
        return self._open.boot_id

    def reconnect(self, timeout_s: float, *, after: str | None = None) -> None:
        """Connect anew, as after a reboot, trying until it works; the session before it is over.

        after: the boot_id that the server is to have left behind, as a server that is told to reboot
        still answers for a while. RunFailed after `timeout_s`, with the last reason; a host key that is
        not known ends it at once.
        """
        self._hang_up()
        self._session = None

        def once() -> None:
            self._connect()
            self._open_session()
            if self.boot_id() == after:
                with contextlib.suppress(Lost, RunFailed):  # it is just going down
                    self._close_session()
                self._session = None
                raise Unreachable(f"{self.host.host} still runs and has not rebooted")

        self._try_for(timeout_s, once)

    def end_others(self) -> int:
        """End the jobs of controllers that died, and say how many there were.

        Only for who holds the target: a controller that is alive would lose its job, too.
        """
        from lockscale.machines import ssh_scripts

        return int(self._again_when_lost(lambda _: self._ask(ssh_scripts.END_OTHERS)))

    def describe(self) -> dict[str, Any]:
        """What provenance may say of the server: what it is, and nothing by which it is found.

        machine: HMAC-SHA256 of /etc/machine-id, first 16 hexadecimal digits: machine-id(5) asks not to
        publish the id itself. What is unknown is None.
        """
        paths = {
            "vendor": "/sys/class/dmi/id/sys_vendor",
            "product": "/sys/class/dmi/id/product_name",
            "machine": "/etc/machine-id",
            "system": "/etc/os-release",
        }
        answers = self.run_all([["cat", path] for path in paths.values()])
        said = {name: done.stdout.strip() or None for name, done in zip(paths, answers, strict=True)}
        if said["machine"]:
            said["machine"] = hmac.digest(said["machine"].encode(), b"lockscale", hashlib.sha256).hex()[:16]
        lines = dict(line.partition("=")[::2] for line in (said["system"] or "").splitlines())
        return {"transport": "ssh", **said, "system": lines.get("PRETTY_NAME", "").strip('"') or None}

    @property
    def _open(self) -> "Session":
        if self._session is None:
            raise RunFailed(f"there is no session on {self.host.host}: it was not reached again")
        return self._session

    def _connect(self) -> None:
        from lockscale.machines.ssh_connection import Connection  # paramiko takes a second to import

        self._hang_up()
        self._connection = Connection(self.host)

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open_session(self) -> None:
        from lockscale.machines import ssh_scripts
        from lockscale.machines.ssh_job import Session

        name = secrets.token_hex(8)
        try:
            word, _, rest = self._ask(ssh_scripts.OPEN, name).partition(" ")
        except Lost:
            raise Unreachable(f"{self.host.host} closes the connection after the login") from None
        if word == "missing":
            raise BadInput(f"{rest} is missing on {self.host.host}: install its util-linux and coreutils")
        if word != "open":
            raise BadInput(f"{self.room} on {self.host.host} cannot be written: is its disk full?")
        self._session, self._jobs = Session(name, self.room, rest), 0

    def _close_session(self) -> None:
        from lockscale.machines import ssh_scripts

        session, self._session = self._session, None
        if session is not None:
            self._ask(f"{ssh_scripts.CLOSE}echo closed\n", session.name)

    def _ask(self, script: str, session: str | None = None) -> str:
        """The last word of a short script that is told the room and a session, this one's by default."""
        from lockscale.machines.ssh_shell import RootShell

        if self._connection is None:
            raise Lost("there is no connection")
        arguments = [self.room, session or self._open.name]
        with RootShell(self._connection, script, arguments, b"", 60) as shell:
            return shell.line()

    def _again_when_lost(self, do: Callable[["Connection"], T], lost_s: float | None = None) -> T:
        """`do`, and once more with a new connection whenever one is lost in the middle."""
        while True:
            try:
                if self._connection is None:
                    self._try_for(LOST_S if lost_s is None else lost_s, self._connect)
                assert self._connection is not None
                return do(self._connection)
            except Lost:
                self._hang_up()

    def _try_for(self, timeout_s: float, do: Callable[[], None]) -> None:
        started_s = time.monotonic()
        with progress(f"waiting for {self.host.host}", timeout_s) as shown:
            while True:
                try:
                    return do()
                except HostKeyRefused:
                    raise
                except (Unreachable, LoginRefused) as reason:
                    waited_s = time.monotonic() - started_s
                    if waited_s > timeout_s:
                        raise RunFailed(
                            f"{self.host.host} did not come back within {timeout_s:.0f} s: {reason}"
                        ) from None
                shown.update(waited_s)
                time.sleep(RETRY_S)
