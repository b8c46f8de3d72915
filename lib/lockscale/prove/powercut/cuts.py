# SPDX-License-Identifier: MIT
"""Power cuts from a write log: what the disk may hold if the power went at one place of it.

Written before the last flush before the cut: on the disk. Written after it: in the disk's volatile
cache, of which a cut keeps nothing, all, or any part, block by block (a block is what a disk writes
whole). FUA writes are on the disk. One log of one load gives as many cuts as are asked for, each of
them just what a cut of that machine at that moment may leave.
"""

import mmap
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lockscale.errors import BadInput, RunFailed

FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
MAGIC, VERSION = 0x6A736677736872, 1
_SUPER, _ENTRY = struct.Struct("<QQQI"), struct.Struct("<QQQQ")


@dataclass(frozen=True)
class WriteRequest:
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
            raise RunFailed(f"{path} has a hole after {len(self.entries)} of {count} entries")

    def data(self, entry: WriteRequest) -> bytes:
        """What was written; nothing for a flush or a discard."""
        if entry.flags & DISCARD:
            return b""
        return self._bytes[entry.data_at : entry.data_at + entry.size]

    def _check_super(self) -> tuple[int, int]:
        """Size of a sector, and how many entries there were at the last flush."""
        magic, version, count, sector = _SUPER.unpack_from(self._bytes)
        if (magic, version) != (MAGIC, VERSION) or sector < 512:
            raise BadInput(
                f"{self.path} is not a usable write log: record it with QEMU's blklogwrites, up to a flush"
            )
        return sector, count

    def _read_entries(self) -> list[WriteRequest]:
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
            found.append(WriteRequest(sector * self.sector, size, flags, data_at))
        return found


BLOCK = 4096
Keep = Literal["nothing", "some", "all"]


@dataclass(frozen=True)
class Cut:
    """The power goes before entry ``at`` of the log; ``keep``: what the cache had written by itself.

    ``seed``: its number, and of "some" which blocks.
    """

    at: int
    keep: Keep
    seed: int

    def __str__(self) -> str:
        return f"{self.seed} (before log entry {self.at}, {self.keep} of the cache kept)"


def choose_cuts(acks: Sequence[int], overwrites: Sequence[int], count: int, seed: int) -> list[Cut]:
    """Half right behind an ack with nothing kept, the sharpest test of a promise; half anywhere.

    ``acks``: places of the acks in the log, in order; all cuts lie behind the first and none farther
    than right behind the last. Every other ack is one of ``overwrites``: only the flush of an fsync,
    no commit, makes those durable.
    """
    rng = random.Random(seed)
    cuts = []
    for number in range(count):
        if number % 2 == 0:
            behind = overwrites if number % 4 == 0 and overwrites else acks
            cuts.append(Cut(rng.choice(behind) + 1, "nothing", number))
        else:
            keep: Keep = rng.choice(["nothing", "some", "some", "all"])
            cuts.append(Cut(rng.randint(acks[0] + 1, acks[-1] + 1), keep, number))
    return sorted(cuts, key=lambda cut: cut.at)


class Disk:
    """Blocks by number; what is not there is zero."""

    def __init__(self, blocks: dict[int, bytes] | None = None) -> None:
        self.blocks = dict(blocks or {})

    def apply(self, log: WriteLog, entry: WriteRequest, keep: random.Random | None = None) -> None:
        """Carry out one request; with ``keep`` each of its blocks by the toss of a coin."""
        data = log.data(entry)
        end = entry.offset + entry.size
        for number in range(entry.offset // BLOCK, -(-end // BLOCK)):
            if keep is not None and keep.random() < 0.5:
                continue
            low, high = max(entry.offset, number * BLOCK), min(end, (number + 1) * BLOCK)
            part = (
                bytes(high - low) if entry.flags & DISCARD else data[low - entry.offset : high - entry.offset]
            )
            self._write(number, low - number * BLOCK, part)

    def _write(self, number: int, at: int, part: bytes) -> None:
        if len(part) < BLOCK:
            was = self.blocks.get(number, bytes(BLOCK))
            part = was[:at] + part + was[at + len(part) :]
        self.blocks[number] = part

    def save(self, path: Path, size: int) -> None:
        """As a sparse image."""
        with path.open("wb") as stream:
            stream.truncate(size)
            for number, content in sorted(self.blocks.items()):
                if content.strip(b"\0"):
                    stream.seek(number * BLOCK)
                    stream.write(content)


def disks(log: WriteLog, cuts: Sequence[Cut]) -> Iterator[tuple[Cut, Disk]]:
    """The disk after each cut; cuts in the order of the log, which is read once."""
    durable, done = Disk(), 0
    for cut in cuts:
        flushed = _last_flush(log, done, cut.at)
        for entry in log.entries[done:flushed]:
            durable.apply(log, entry)
        done = flushed
        left = Disk(durable.blocks)
        rng = random.Random(cut.seed)
        for entry in log.entries[done : cut.at]:
            if entry.flags & FUA or cut.keep == "all":
                left.apply(log, entry)
            elif cut.keep == "some":
                left.apply(log, entry, rng)
        yield cut, left


def _last_flush(log: WriteLog, start: int, end: int) -> int:
    """The place of the last flush in the log from ``start`` to ``end``; ``start`` if there is none."""
    return next((at for at in range(end - 1, start - 1, -1) if log.entries[at].flags & FLUSH), start)
