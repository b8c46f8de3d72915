# SPDX-License-Identifier: MIT
"""Files to and from a server through ssh as root: written beside, compared by sha256, renamed."""

import contextlib
import os
import posixpath
import secrets
from collections.abc import Callable
from pathlib import Path

from lockscale.errors import BadInput, RunFailed, printable
from lockscale.files import full_disk_is_one_sentence, sha256_of
from lockscale.machines.ssh_host import Lost
from lockscale.machines.ssh_shell import Connection
from lockscale.progress import progress

CHUNK = 1 << 18
SHOWN_FROM = 16 << 20
COPY_S = 3600.0
_MODE = 0o777

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
# $1 file. Says its size in bytes, then the file, then its sha256; or `none`.
_GET = """\
[ -f "$1" ] && [ -r "$1" ] && exec < "$1" && size=$(stat -c %s "$1") || { echo none; exit; }
echo "$size"
head -c "$size"
sha256sum < "$1"
"""


def put(connection: Connection, local: Path, remote: str) -> None:
    """As SshMachine.put; Lost with the connection."""
    if not local.is_file():
        raise BadInput(f"{local} is not a file: nothing is copied")
    folder, name = posixpath.split(_absolute(remote))
    server, status = connection.host.host, local.stat()
    beside = f"{folder}/.{name}.{secrets.token_hex(4)}.part"
    arguments = [remote, beside, sha256_of(local), f"{status.st_mode & _MODE:o}", str(status.st_size)]
    with connection.shell(_PUT, arguments, COPY_S) as shell, local.open("rb") as source:
        with contextlib.suppress(Lost):  # it may have said why it reads no more
            _copy(source.read, shell.send, status.st_size, f"to {server}: {local.name}")
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


def get(connection: Connection, remote: str, local: Path) -> None:
    """As SshMachine.get; Lost with the connection."""
    server = connection.host.host
    beside = local.with_name(f".{local.name}.{os.getpid()}.part")
    with connection.shell(_GET, [_absolute(remote)], COPY_S) as shell:
        size = shell.line()
        if not size.isdigit():
            raise BadInput(f"{printable(remote)} on {server} is not a readable file")
        with full_disk_is_one_sentence(local.parent):
            local.parent.mkdir(parents=True, exist_ok=True)
            try:
                with beside.open("wb") as copy:
                    _copy(shell.some, copy.write, int(size), f"from {server}: {local.name}")
                    copy.flush()
                    os.fsync(copy.fileno())
                if sha256_of(beside) != shell.line().split()[0]:
                    raise RunFailed(
                        f"{printable(remote)} changed on {server} while it was fetched: fetch it again"
                    )
                beside.replace(local)
            finally:
                beside.unlink(missing_ok=True)


def _copy(read: Callable[[int], bytes], write: Callable[[bytes], object], size: int, what: str) -> None:
    """Copy `size` bytes, or as many as there are."""
    done = 0
    with progress(what, size) if size >= SHOWN_FROM else contextlib.nullcontext() as shown:
        while done < size and (chunk := read(min(CHUNK, size - done))):
            write(chunk)
            done += len(chunk)
            if shown:
                shown.update(done)


def _absolute(remote: str) -> str:
    if not remote.startswith("/") or remote.endswith("/"):
        raise BadInput(f"{printable(remote)!r} is not the absolute path of a file on the server")
    return remote
