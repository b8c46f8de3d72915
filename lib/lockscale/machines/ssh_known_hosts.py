# SPDX-License-Identifier: MIT
"""The host keys that a person accepted: known_hosts, format of sshd(8), section SSH_KNOWN_HOSTS."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

SSH_PORT = 22
_HASHED = "|1|"


@dataclass(frozen=True)
class KnownKeys:
    """What is known of one host: (type, key) in the files' order, and the keys that are revoked."""

    keys: tuple[tuple[str, bytes], ...] = ()
    revoked: frozenset[bytes] = frozenset()


def entry_name(host: str, port: int, alias: str | None = None) -> str:
    """The name under which known_hosts holds a host; `alias` is ssh_config's HostKeyAlias."""
    if alias:
        return alias.lower()
    return host.lower() if port == SSH_PORT else f"[{host.lower()}]:{port}"


def known_keys(files: Sequence[Path], name: str) -> KnownKeys:
    """The keys of `name`; a line that is not understood counts for nothing.

    Certificate authorities are left out: this client takes no host certificates.
    """
    keys: list[tuple[str, bytes]] = []
    revoked: set[bytes] = set()
    for line in (line for file in files for line in file.read_text(errors="replace").splitlines()):
        words = line.split()
        marker = words.pop(0) if words and words[0].startswith("@") else ""
        if len(words) < 3 or words[0].startswith("#") or not _matches(words[0], name):
            continue
        try:
            key = base64.b64decode(words[2], validate=True)
        except binascii.Error:
            continue
        if marker == "@revoked":
            revoked.add(key)
        elif not marker:
            keys.append((words[1], key))
    return KnownKeys(tuple(keys), frozenset(revoked))


def _matches(patterns: str, name: str) -> bool:
    """One hashed name, or names with * and ?, of which one after ! excludes."""
    if patterns.startswith(_HASHED):
        return _hashed_matches(patterns, name)
    said = patterns.lower().split(",")
    if any(_like(one[1:], name) for one in said if one.startswith("!")):
        return False
    return any(_like(one, name) for one in said)


def _like(pattern: str, name: str) -> bool:
    """As fnmatch, where a bracket stands for itself: it encloses a host that has a port."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))


def _hashed_matches(text: str, name: str) -> bool:
    try:
        salt, digest = (base64.b64decode(part) for part in text.removeprefix(_HASHED).split("|"))
    except (ValueError, binascii.Error):
        return False
    return hmac.compare_digest(hmac.digest(salt, name.encode(), hashlib.sha1), digest)
