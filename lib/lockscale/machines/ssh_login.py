# SPDX-License-Identifier: MIT
"""Host keys that are checked, and a login by key: of the agent, or of a file. No password, ever."""

import base64
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko
from cryptography.exceptions import UnsupportedAlgorithm

from lockscale.machines.ssh_host import HostKeyRefused, LoginRefused
from lockscale.machines.ssh_known_hosts import KnownKeys
from lockscale.machines.ssh_settings import user_folder

AUTHENTICATION_S = 30
DEFAULT_KEYS = ("id_rsa", "id_ecdsa", "id_ed25519")
_BY_RSA = ("rsa-sha2-512", "rsa-sha2-256")


@dataclass(frozen=True)
class HostKeyCheck:
    """paramiko's policy for hosts that it does not know, and it is told of none: so for every host."""

    name: str
    by_hand: str
    known: KnownKeys

    def missing_host_key(self, client: Any, hostname: str, key: Any) -> None:
        """Raises HostKeyRefused unless a known_hosts line holds this very key."""
        blob, shown = key.asbytes(), f"({key.get_name()} {key.fingerprint})"
        if blob in self.known.revoked:
            raise HostKeyRefused(f"the host key of {self.name} {shown} is revoked in known_hosts")
        if any(blob == known for _, known in self.known.keys):
            return
        if self.known.keys:
            raise HostKeyRefused(
                f"the host key of {self.name} has changed {shown}: another server may be answering; where "
                f"you know the reason, `{self.by_hand}` names the old line of known_hosts to remove"
            )
        raise HostKeyRefused(
            f"the host key of {self.name} {shown} is not in known_hosts: compare it with the server's own "
            f"(`ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub` there), then run `{self.by_hand}` once to add it"
        )

    def transport(self, sock: Any, disabled_algorithms: Any = None) -> Any:
        """A transport that asks the server for a key of a type that known_hosts has."""
        made = paramiko.Transport(sock, disabled_algorithms=disabled_algorithms)
        options = made.get_security_options()
        types = [kind for one, _ in self.known.keys for kind in (_BY_RSA if one == "ssh-rsa" else (one,))]
        first = list(dict.fromkeys(kind for kind in types if kind in options.key_types))
        options.key_types = [*first, *(kind for kind in options.key_types if kind not in first)]
        return made


@dataclass(frozen=True)
class KeyLogin:
    """paramiko's auth_strategy. `only`: of the agent's keys just those that `files` name, too."""

    name: str
    user: str
    files: Sequence[Path]
    only: bool

    def authenticate(self, transport: Any) -> None:
        """Raises LoginRefused when no key opens the door."""
        transport.auth_timeout = AUTHENTICATION_S
        notes: list[str] = []
        agent = paramiko.Agent() if _has_agent() else None
        try:
            held = agent.get_keys() if agent else ()
            if not any(self._opens(transport, key, notes) for key in self._keys(held, notes)):
                raise LoginRefused(self._sentence(notes))
        finally:
            if agent:
                agent.close()

    def _keys(self, held: Sequence[Any], notes: list[str]) -> Iterator[Any]:
        public = {blob for file in self.files if (blob := _public(file))}
        offered = [key for key in held if not self.only or key.asbytes() in public]
        yield from offered
        has = {key.asbytes() for key in offered}
        for file in self.files:
            key = _load(file, notes) if _public(file) not in has else None
            if key is not None and key.asbytes() not in has:
                yield key

    def _opens(self, transport: Any, key: Any, notes: list[str]) -> bool:
        if not transport.is_active():
            notes.append("it closed the connection after the keys so far: set `IdentitiesOnly yes` for it")
            return False
        try:
            more = transport.auth_publickey(self.user, key)
        except paramiko.BadAuthenticationType:
            notes.append("it takes no keys")
            return False
        except (paramiko.SSHException, EOFError, OSError):
            notes.append("")
            return False
        if more:
            notes.append("it asks for more than a key")
        return not more

    def _sentence(self, notes: Sequence[str]) -> str:
        reasons = list(dict.fromkeys(note for note in notes if note))
        if not notes:
            reasons = ["there is no key to offer, in an agent or in a file"]
        because = f" ({'; '.join(reasons)})" if reasons else ""
        return (
            f"{self.name} accepts none of this user's keys{because}: put the public key into the server's "
            "authorized_keys, and name the user and the key in the target file or in ~/.ssh/config"
        )


def _has_agent() -> bool:
    """An agent answers. paramiko asks, too, and leaves a socket open where none does."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(os.environ.get("SSH_AUTH_SOCK", ""))
        except OSError:
            return False
    return True


def identity_files(asked: Path | None, settings: Mapping[str, Any]) -> list[Path]:
    """The key files to try: the one that is asked for, those of ssh_config, or else the usual ones."""
    named = settings.get("identityfile") or [str(user_folder() / name) for name in DEFAULT_KEYS]
    files = [asked] if asked else [Path(name) for name in named]
    return [file.expanduser() for file in files if file.expanduser().is_file()]


def _public(file: Path) -> bytes | None:
    """The public key beside a private one, by which an agent's key is known to be the same."""
    try:
        return base64.b64decode(file.with_name(f"{file.name}.pub").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None


def _load(file: Path, notes: list[str]) -> Any:
    """The key, or None and a note that does not name the file."""
    try:
        return paramiko.PKey.from_path(file)
    except (TypeError, paramiko.PasswordRequiredException):
        notes.append("a key needs a passphrase: hand it to the agent by ssh-add")
    except PermissionError:
        notes.append("a key file may not be read by this user")
    except (OSError, ValueError, UnsupportedAlgorithm, paramiko.SSHException, paramiko.UnknownKeyType):
        notes.append("a key file holds no key that is understood")
    return None
