# SPDX-License-Identifier: MIT
"""Checksums of the test server's disks, from their images."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from server.machine import Server

BLOCK = 1 << 16


def checksums(server: Server) -> dict[str, str]:
    """Of every image but the system's, which runs."""
    return {serial: _sha256(path) for serial, path in server.images().items()}


def _sha256(path: Path) -> str:
    """Of all of its blocks that are not zero and where they are; holes need not be read for that."""
    said = hashlib.sha256()
    with path.open("rb") as stream:
        for at in _blocks_with_data(stream):
            stream.seek(at)
            if (block := stream.read(BLOCK)).strip(b"\0"):
                said.update(f"{at} ".encode() + block)
    return said.hexdigest()


def _blocks_with_data(stream: BinaryIO) -> Iterator[int]:
    at, end = 0, os.fstat(stream.fileno()).st_size
    while at < end:
        try:
            data = os.lseek(stream.fileno(), at, os.SEEK_DATA)
        except OSError:  # nothing but a hole is left
            return
        upto = os.lseek(stream.fileno(), data, os.SEEK_HOLE)
        yield from range(max(at, data - data % BLOCK), upto, BLOCK)
        at = upto + -upto % BLOCK
