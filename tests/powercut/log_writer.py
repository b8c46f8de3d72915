# SPDX-License-Identifier: MIT
"""A write log made by hand, from the format's documentation: for tests without an emulator."""

import struct
from collections.abc import Iterable
from pathlib import Path

SECTOR = 512
Request = tuple[str, int, bytes]
"""("write" | "fua" | "flush" | "discard", byte offset, data)."""


def write_log(path: Path, requests: Iterable[Request]) -> Path:
    """Write the log of `requests`; a discard's length is that of its data."""
    flags = {"write": 0, "flush": 1, "fua": 2, "discard": 4}
    body, count = b"", 0
    for kind, offset, data in requests:
        head = struct.pack("<QQQQ", offset // SECTOR, len(data) // SECTOR, flags[kind], 0)
        body += head.ljust(SECTOR, b"\0") + (b"" if kind == "discard" else data)
        count += 1
    super_block = struct.pack("<QQQI", 0x6A736677736872, 1, count, SECTOR).ljust(SECTOR, b"\0")
    path.write_bytes(super_block + body + bytes(4 * SECTOR))
    return path
