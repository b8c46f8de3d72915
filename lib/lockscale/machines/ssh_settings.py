# SPDX-License-Identifier: MIT
"""~/.ssh/config and /etc/ssh/ssh_config, as paramiko reads them, with `Include` and known_hosts."""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import paramiko

from lockscale.errors import BadInput
from lockscale.machines.ssh_host import SshHost

SYSTEM = Path("/etc/ssh")
UNREADABLE = "an ssh_config file cannot be read: `ssh -G HOST` says where"
_DEEPEST = 8
_HEADER = re.compile(r"\s*(host|match)\b", re.IGNORECASE)
_INCLUDE = re.compile(r"\s*include\s*[\s=]\s*(.+)", re.IGNORECASE)


def user_folder() -> Path:
    """~/.ssh."""
    return Path.home() / ".ssh"


def read_settings(host: SshHost) -> Any:
    """What its ssh_config says, or, where it names none, the user's and then the system's file.

    The port and the user that are asked for come first, as with ssh's own options: tokens and Match
    see them too. BadInput for a file that is asked for and not there, and for one that is no ssh_config.
    """
    path = host.ssh_config
    if path is not None and not path.is_file():
        raise BadInput(f"the ssh_config file that is named for {host.host} is not there")
    files = [path] if path else [user_folder() / "config", SYSTEM / "ssh_config"]
    settings = paramiko.SSHConfig()
    try:
        settings.parse([f"Host {host.host}", *_asked(host)])
        for file in files:
            settings.parse(_lines(file, file.parent, 0))
    except (paramiko.ConfigParseError, OSError, ValueError):
        raise BadInput(UNREADABLE) from None
    return settings


def _asked(host: SshHost) -> list[str]:
    return [f"{key} {value}" for key, value in (("Port", host.port), ("User", host.user)) if value]


def _lines(file: Path, folder: Path, depth: int) -> Iterator[str]:
    """The file's lines, each Include replaced; after it the block that it stood in is opened again."""
    if depth > _DEEPEST or not file.is_file():
        return
    header = "Host *"
    for line in file.read_text(errors="replace").splitlines():
        include = _INCLUDE.fullmatch(line)
        if include is None:
            header = line if _HEADER.match(line) else header
            yield line
            continue
        for pattern in shlex.split(include[1]):
            wanted = folder / Path(pattern).expanduser()
            for more in sorted(Path("/").glob(str(wanted.absolute()).lstrip("/"))):
                yield from _lines(more, folder, depth + 1)
        yield header


def known_hosts_files(settings: Mapping[str, Any]) -> list[Path]:
    """The files in which ssh looks for a host's key; those that are absent are left out."""
    standing = f"{user_folder() / 'known_hosts'} {user_folder() / 'known_hosts2'}"
    mine = shlex.split(settings.get("userknownhostsfile", standing))
    common = shlex.split(settings.get("globalknownhostsfile", str(SYSTEM / "ssh_known_hosts")))
    named = [Path(name).expanduser() for name in (*mine, *common)]
    return [file for file in named if file.is_file()]
