# SPDX-License-Identifier: MIT
"""Files to and from a server by sftp as root: written beside, compared by sha256, renamed."""

import contextlib
import hashlib
import os
import posixpath
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import paramiko

from lockscale.errors import BadInput, RunFailed, printable
from lockscale.files import FULL, full_disk_is_one_sentence, sha256_of
from lockscale.machines import ssh_scripts
from lockscale.machines.machine import Machine, must
from lockscale.machines.ssh_connection import SILENCE_S, Connection
from lockscale.machines.ssh_host import Lost
from lockscale.machines.ssh_shell import RootShell
from lockscale.progress import progress

CHUNK = 1 << 18
SHOWN_FROM = 16 << 20
HASH_S = 600
_MODE = 0o777
_DAMAGED = 65
# $1 copy, $2 its name, $3 sha256: renamed once it is on the disk and the same, removed otherwise.
_FINISH = f"""
sync "$1" && [ "$(sha256sum < "$1")" = "$3  -" ] || {{ rm -f "$1"; exit {_DAMAGED}; }}
mv -T "$1" "$2" || {{ rm -f "$1"; exit 1; }}"""


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def write(self, data: bytes, /) -> Any: ...


def put(machine: Machine, connection: Connection, local: Path, remote: str) -> None:
    """As SshMachine.put; Lost with the connection."""
    if not local.is_file():
        raise BadInput(f"{local} is not a file: nothing is copied")
    folder, name = posixpath.split(_absolute(remote))
    beside = f"{folder}/.{name}.{secrets.token_hex(4)}.part"
    server = connection.host.host
    refused: BadInput | RunFailed
    try:
        digest = _upload(connection, local, beside, folder)
        done = machine.run(["sh", "-c", _FINISH, "sh", beside, remote, digest], timeout_s=HASH_S)
        if done.status == 0:
            return
        refused = BadInput(f"{printable(remote)} on {server} cannot be replaced: is it a folder?")
        if done.status == _DAMAGED:
            refused = RunFailed(f"{local.name} arrived damaged on {server}: it is not used")
    except OSError:  # sftp has one number for "disk full" and for whatever else fails
        machine.run(["rm", "-f", beside])
        refused = BadInput(f"{printable(folder)} on {server} cannot be written")
    except BaseException:
        machine.run(["rm", "-f", beside])
        raise
    if _free_bytes(machine, folder) < local.stat().st_size:
        refused = BadInput(f"the disk under {printable(folder)} on {server} is full")
    raise refused


def get(machine: Machine, connection: Connection, remote: str, local: Path) -> None:
    """As SshMachine.get; Lost with the connection."""
    name = connection.host.host
    there = machine.run(["sha256sum", _absolute(remote)], timeout_s=HASH_S)
    if there.status:
        raise BadInput(f"{printable(remote)} on {name} is not a file that can be read")
    beside = local.with_name(f".{local.name}.{os.getpid()}.part")
    with full_disk_is_one_sentence(local.parent):
        local.parent.mkdir(parents=True, exist_ok=True)
        try:
            _download(connection, remote, beside)
            if sha256_of(beside) != _sha256(there.stdout):
                raise RunFailed(f"{printable(remote)} changed on {name} while it was fetched: fetch it again")
            beside.replace(local)
        finally:
            beside.unlink(missing_ok=True)


def _upload(connection: Connection, local: Path, beside: str, folder: str) -> str:
    """Write `beside` on the server, and return the sha256 of what was sent.

    What is written in a pipeline may fail unheard: the digest tells.
    """
    try:
        with _sftp(connection) as sftp, local.open("rb") as source:
            with sftp.open(beside, "wb") as copy:
                copy.set_pipelined(True)
                size = local.stat().st_size
                digest = _copy(source, copy, size, f"to {connection.host.host}: {local.name}")
            sftp.chmod(beside, local.stat().st_mode & _MODE)
            return digest
    except FileNotFoundError:
        raise BadInput(f"{printable(folder)} on {connection.host.host} is not a folder") from None


def _download(connection: Connection, remote: str, beside: Path) -> None:
    try:
        with _sftp(connection) as sftp, sftp.open(remote, "rb") as source, beside.open("wb") as copy:
            size = int(source.stat().st_size)
            # Not prefetched: paramiko asks ahead in a thread, which dies aloud with its connection.
            _copy(source, copy, size, f"from {connection.host.host}: {beside.name}")
            copy.flush()
            os.fsync(copy.fileno())
    except OSError as error:
        if error.errno in FULL:
            raise
        raise BadInput(f"{printable(remote)} on {connection.host.host} cannot be fetched") from None


def _copy(source: _Stream, copy: _Stream, size: int, what: str) -> str:
    """Copy to the end of `source`, and return the sha256 of it."""
    digest, done = hashlib.sha256(), 0
    with progress(what, size) if size >= SHOWN_FROM else contextlib.nullcontext() as shown:
        while chunk := source.read(CHUNK):
            copy.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            if shown:
                shown.update(done)
    return digest.hexdigest()


@contextlib.contextmanager
def _sftp(connection: Connection) -> Iterator[Any]:
    """sftp as root; an error that comes of the connection is Lost."""
    try:
        with RootShell(connection, ssh_scripts.SFTP, [], b"", SILENCE_S) as shell:
            if shell.line() != "found":
                raise BadInput(f"{connection.host.host} has no sftp-server: install openssh-sftp-server")
            shell.channel.settimeout(SILENCE_S)
            with paramiko.SFTPClient(shell.channel) as sftp:
                yield sftp
    except (paramiko.SSHException, EOFError, TimeoutError) as error:
        raise Lost("the connection broke") from error
    except OSError as error:
        if not connection.transport.is_active() or "closed" in str(error):
            raise Lost("the connection broke") from error
        raise


def _absolute(remote: str) -> str:
    if not remote.startswith("/") or remote.endswith("/"):
        raise BadInput(f"{printable(remote)!r} is not the whole path of a file on the server")
    return remote


def _sha256(said: str) -> str:
    """The digest of sha256sum's line; a backslash before it says that the name is escaped."""
    return said.split()[0].lstrip("\\")


def _free_bytes(machine: Machine, folder: str) -> int:
    blocks, block_bytes = must(machine, ["stat", "-f", "-c", "%f %S", folder]).split()
    return int(blocks) * int(block_bytes)
