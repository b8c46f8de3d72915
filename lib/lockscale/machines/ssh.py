# SPDX-License-Identifier: MIT
"""A server reached by ssh, as a machine: commands as root that outlive the connection, and files to it.

A file is written beside its place, compared by sha256, and renamed.
"""

import contextlib
import hashlib
import hmac
import posixpath
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from lockscale.errors import BadInput, RunFailed, printable
from lockscale.files import sha256_of
from lockscale.machines import ssh_job
from lockscale.machines.machine import Completed, Machine, Step
from lockscale.machines.ssh_host import HostKeyRefused, LoginRefused, Lost, SshHost, Unreachable
from lockscale.machines.ssh_job import Job, JobFolder
from lockscale.machines.ssh_shell import Connection
from lockscale.progress import progress, told_if_long

JOBS = "/run/lockscale-jobs"  # of root alone, in memory, gone after a boot; under test is /run/lockscale
LOST_S = 300.0  # how long a lost connection is tried again while a job waits
RETRY_S = 1.0
MOST_LOSSES = 20  # in one command or copy
CHUNK = 1 << 18
SHOWN_FROM = 16 << 20
COPY_S = 3600.0
_MODE = 0o755  # of programs that root runs there
T = TypeVar("T")

# $1 file, $2 its copy beside it, $3 sha256, $4 mode, $5 bytes; the file is on stdin. Says one word.
_PUT = """\
say() { rm -f "$copy"; echo "$1"; exit; }
copy=$2
cd "${1%/*}/" 2> /dev/null || say folder
{ cat > "$copy" && chmod "$4" "$copy" && sync "$copy"; } 2> /dev/null || {
    set -- $(stat -f -c '%f %S' .) "$5"
    [ $(($1 * $2)) -lt "$3" ] && say full || say unwritable
}
[ "$(wc -c < "$copy")" -eq "$5" ] || say cut
[ "$(sha256sum < "$copy")" = "$3  -" ] || say damaged
mv -T "$copy" "$1" 2> /dev/null || say taken
echo done
"""


class SshMachine(Machine):
    """A server, from `with` to leaving it. Nothing is installed on it and nothing is left there.

    jobs_folder: where on the server what commands print waits to be fetched.

    Every command runs as root, by `sudo -n` where the user is not root. A command whose connection is
    lost runs on; it is found again, and never started twice. Calls come from one thread at a time.
    """

    def __init__(self, host: SshHost, jobs_folder: str = JOBS) -> None:
        self.host = host
        self.jobs_folder = jobs_folder
        self._name = secrets.token_hex(8)
        self._connection: Connection | None = None
        self._boot_id: str | None = None
        self._jobs = 0

    def __enter__(self) -> Self:
        with told_if_long(f"connect to {self.host.host}"):
            self._boot_id = self._connect()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Lost, RunFailed, BadInput):
            if self._connection is not None:
                self._connection.leave(b"leave\n")
        self._hang_up()

    def run_all(self, steps: Sequence[Step], *, timeout_s: float = 60) -> list[Completed]:
        self._jobs += 1
        folder = JobFolder(self._name, self.jobs_folder, self.boot_id())
        job = Job(folder, self._jobs, tuple(steps), timeout_s)
        try:
            return self._again_when_lost(job.attend)
        except (KeyboardInterrupt, SystemExit):
            with contextlib.suppress(Lost, RunFailed, BadInput):
                self._again_when_lost(job.cancel, 0)
            raise

    def put(self, local: Path, remote: str) -> None:
        """Copy a file to the server, whole or not at all; both sides' sha256 agree. It has its mode, but no
        other user may write to it.

        BadInput when the server's disk is full, or `remote` cannot be written.
        """
        self._again_when_lost(lambda connection: _put(connection, local, remote))

    def boot_id(self) -> str:
        """The kernel's own name of this boot (/proc/sys/kernel/random/boot_id), read when it connected."""
        if self._boot_id is None:
            raise RunFailed(f"there is no session on {self.host.host}: reconnecting failed")
        return self._boot_id

    def reconnect(self, timeout_s: float, *, after: str | None = None) -> None:
        """Connect anew, as after a reboot, trying until it works; jobs of before are not found again.

        after: the boot_id that the server is to have left behind, as a server that is told to reboot
        still answers for a while. RunFailed after `timeout_s`, with the last reason; a host key that is
        not known ends it at once.
        """
        self._hang_up()
        self._boot_id = None

        def once() -> None:
            boot_id = self._connect()
            if boot_id == after:
                self._hang_up()
                raise Unreachable(f"{self.host.host} still runs and has not rebooted")
            self._boot_id = boot_id

        self._try_for(timeout_s, once)

    def end_others(self) -> int:
        """End the jobs of controllers that died, and say how many there were.

        Only for who holds the target: a controller that is alive would lose its job, too.
        """

        def ask(connection: Connection) -> int:
            with connection.shell(ssh_job.END_OTHERS, [ssh_job.UNIT, self._name], ssh_job.GRACE_S) as shell:
                return int(shell.line())

        return self._again_when_lost(ask)

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

    def _connect(self) -> str:
        """Connect, with a folder for this session's jobs on the server; its boot_id."""
        self._hang_up()
        connection = Connection(self.host, ssh_job.SESSION, [self.jobs_folder, self._name])
        try:
            word, _, rest = connection.line().partition(" ")
            if word == "missing":
                raise BadInput(
                    f"{rest} is missing on {self.host.host}: a target has to be a Debian with systemd"
                )
            if word != "open":
                raise BadInput(f"{self.jobs_folder} on {self.host.host} cannot be written: is its disk full?")
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return rest

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _again_when_lost(self, do: Callable[[Connection], T], lost_s: float | None = None) -> T:
        """`do`, and once more with a new connection whenever one is lost in the middle."""
        for _ in range(MOST_LOSSES):
            try:
                if self._connection is None:
                    self._try_for(LOST_S if lost_s is None else lost_s, self._connect)
                assert self._connection is not None
                return do(self._connection)
            except Lost:
                self._hang_up()
        raise Unreachable(f"the connection to {self.host.host} broke {MOST_LOSSES} times: check the network")

    def _try_for(self, timeout_s: float, do: Callable[[], object]) -> None:
        started_s = time.monotonic()
        with progress(f"waiting for {self.host.host}", timeout_s) as shown:
            while True:
                try:
                    do()
                    return
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


def _put(connection: Connection, local: Path, remote: str) -> None:
    """As SshMachine.put; Lost with the connection."""
    if not local.is_file():
        raise BadInput(f"{local} is not a file: nothing is copied")
    if not remote.startswith("/") or remote.endswith("/"):
        raise BadInput(f"{printable(remote)!r} is not the absolute path of a file on the server")
    folder, name = posixpath.split(remote)
    server, status = connection.host.host, local.stat()
    beside = f"{folder}/.{name}.{secrets.token_hex(4)}.part"
    arguments = [remote, beside, sha256_of(local), f"{status.st_mode & _MODE:o}", str(status.st_size)]
    with connection.shell(_PUT, arguments, COPY_S) as shell:
        with contextlib.suppress(Lost):  # it may have said why it reads no more
            _send(local, status.st_size, shell.send, f"to {server}: {local.name}")
            shell.end_input()
        word = shell.line()
    if word == "cut":
        raise Lost("the file arrived incomplete")
    if word != "done":
        raise {
            "folder": BadInput(f"{printable(folder)} on {server} is not a folder"),
            "full": BadInput(f"the disk under {printable(folder)} on {server} is full"),
            "taken": BadInput(f"{printable(remote)} on {server} cannot be replaced: is it a folder?"),
            "damaged": RunFailed(f"{local.name} arrived damaged on {server}: it is not used"),
        }.get(word, BadInput(f"{printable(folder)} on {server} cannot be written"))


def _send(local: Path, size: int, write: Callable[[bytes], object], what: str) -> None:
    """The file's first `size` bytes, or as many as there are."""
    done = 0
    with (
        local.open("rb") as source,
        progress(what, size) if size >= SHOWN_FROM else contextlib.nullcontext() as shown,
    ):
        while done < size and (chunk := source.read(min(CHUNK, size - done))):
            write(chunk)
            done += len(chunk)
            if shown:
                shown.update(done)
