# SPDX-License-Identifier: MIT
"""A built kernel's files in the cache, with a record that vouches for each by its hash.

The record is written last, and whatever does not match it is as if it had never been built: half a file after
a power cut, a bit that flipped, or a record of another version of lockscale.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from lockscale.files import sha256_of, write_bytes, write_json
from lockscale.progress import tell

RECORD = "kernel.json"
HASHES = "sha256_of_files"


def keep_files(folder: Path, files: Mapping[str, Path], record: Mapping[str, Any]) -> None:
    """Copy each of `files` into `folder` under its name, then write the record of them."""
    for name, path in files.items():
        write_bytes(folder / name, path.read_bytes())
    hashes = {name: sha256_of(folder / name) for name in files}
    write_json(folder / RECORD, {**record, HASHES: hashes})


def kept_record(folder: Path) -> dict[str, Any] | None:
    """What keep_files() recorded there; None where nothing is kept or it is not whole, which is told."""
    path = folder / RECORD
    try:
        record: dict[str, Any] = json.loads(path.read_bytes())
        hashes = record.pop(HASHES).items()
        if all(is_whole(folder / name, str(sha256)) for name, sha256 in hashes):
            return record
        tell(f"the kept kernel in {folder} is damaged, so it is built again")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        tell(f"the record {path} is damaged or from another version, so its kernel is built again")
    return None


def is_recorded(folder: Path) -> bool:
    """Whether keep_files() recorded anything there, whole or not."""
    return (folder / RECORD).exists()


def is_whole(path: Path, sha256: str) -> bool:
    """Whether the file is there with this content; read once a process for each state of it."""
    try:
        now = path.stat()
    except OSError:
        return False
    return _hash_of(path, now.st_mtime_ns, now.st_size) == sha256


@cache
def _hash_of(path: Path, _mtime_ns: int, _size: int) -> str:
    return sha256_of(path)
