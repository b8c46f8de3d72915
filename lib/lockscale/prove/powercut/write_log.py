# SPDX-License-Identifier: MIT
"""A disk's write log: every write, flush and discard in one order (QEMU's blklogwrites driver).

The format is that of Linux's dm-log-writes (Documentation/admin-guide/device-mapper/log-writes.rst;
drivers/md/dm-log-writes.c): a super block, then entries of one header sector and their data. QEMU logs
a request after the disk below has done it and before the guest is told, so what a guest knows to be
done stands in the log before whatever it did next.
"""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from lockscale.errors import BadInput, RunFailed

FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
MAGIC, VERSION = 0x6A736677736872, 1
_SUPER, _ENTRY = struct.Struct("<QQQI"), struct.Struct("<QQQQ")


@dataclass(frozen=True)
class Entry:
    """One request. ``offset``, ``size`` in bytes on the disk; ``data_at`` where its data lies in the log."""

    offset: int
    size: int
    flags: int
    data_at: int


class WriteLog:
    """The log file, read in place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as stream:
            self._bytes = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        self.sector, count = self._check_super()
        self.entries = self._read_entries()
        if len(self.entries) < count:
            raise RunFailed(f"{path} has a hole behind {len(self.entries)} of {count} entries")

    def data(self, entry: Entry) -> bytes:
        """What was written; nothing for a flush or a discard."""
        if entry.flags & DISCARD:
            return b""
        return self._bytes[entry.data_at : entry.data_at + entry.size]

    def _check_super(self) -> tuple[int, int]:
        """Size of a sector, and how many entries there were at the last flush."""
        magic, version, count, sector = _SUPER.unpack_from(self._bytes)
        if (magic, version) != (MAGIC, VERSION) or sector < 512:
            raise BadInput(
                f"{self.path} is no write log: it needs one flush at least, and QEMU's blklogwrites"
            )
        return sector, count

    def _read_entries(self) -> list[Entry]:
        """Up to the first empty header: QEMU counts entries at a flush only, and a kernel may send none."""
        found, at = [], self.sector
        while at + self.sector <= len(self._bytes):
            sector, count, flags, _ = _ENTRY.unpack_from(self._bytes, at)
            if not (count or flags) or flags >= 2 * MARK:
                break
            size = 0 if flags & FLUSH and not count else count * self.sector
            data_at = at + self.sector
            at = data_at + (0 if flags & DISCARD else size)
            if at > len(self._bytes):
                break  # the emulator was killed in the middle of it: nobody was told that it is done
            found.append(Entry(sector * self.sector, size, flags, data_at))
        return found
