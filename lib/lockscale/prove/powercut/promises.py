# SPDX-License-Identifier: MIT
"""What a load promised before a cut, and whether the files that are left keep it.

The load (fsynced) writes a record before each operation (intent) and after its fsync (ack), both on the
raw device, so they stand in the write log among the file system's own writes. Acked and not in the
middle of another operation: the file is exactly so. In the middle: each block is of the one state or
of the other, as POSIX lets a write be.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.prove.powercut.cuts import WriteLog

BLOCK, BLOCKS = 4096, 8
MAGIC = 0x31304B43414B534C
CREATE, OVERWRITE, APPEND, TRUNCATE, REPLACE, UNLINK = range(1, 7)
_RECORD = struct.Struct(f"<Q8I{BLOCKS}I")
Name = tuple[int, int]
"""(process, file)."""


@dataclass(frozen=True)
class State:
    """A file as promised: its blocks' versions, or None when it is not there."""

    operation: int
    versions: tuple[int, ...] | None


@dataclass(frozen=True)
class Promise:
    """The last acked state, and what was under way, if anything was."""

    acked: State
    under_way: State | None = None


NOTHING = State(UNLINK, None)
Found = tuple[int, tuple[str, ...]]
"""(size in bytes, each block's version, "zero" or "bad") of one file, as the reader prints it."""


def read_record(data: bytes) -> tuple[Name, bool, State] | None:
    """The file, whether acked, and the state in a record; None for other data."""
    if len(data) < _RECORD.size:
        return None
    magic, process, file, operation, acked, _version, present, blocks, _, *versions = _RECORD.unpack_from(
        data
    )
    if magic != MAGIC:
        return None
    return (process, file), bool(acked), State(operation, tuple(versions[:blocks]) if present else None)


def records(log: WriteLog, start: int) -> Iterator[tuple[int, Name, bool, State]]:
    """Every record at byte ``start`` of the disk or beyond, with its place in the log."""
    for at, entry in enumerate(log.entries):
        if entry.offset >= start and entry.size:
            found = read_record(log.data(entry))
            if found:
                yield (at, *found)


def promises(log: WriteLog, start: int, cut_at: int) -> dict[Name, Promise]:
    """What was promised of each file before the cut."""
    said: dict[Name, Promise] = {}
    for at, name, acked, state in records(log, start):
        if at >= cut_at:
            break
        was = said.get(name, Promise(NOTHING))
        said[name] = Promise(state) if acked else Promise(was.acked, state)
    return said


def read_files(text: str) -> dict[Name, Found]:
    """The lines of `fsynced read`."""
    found = {}
    for line in text.splitlines():
        try:
            process, file, size, *versions = line.split()
            found[int(process), int(file)] = (int(size), tuple(versions))
        except ValueError:
            raise BadInput(f"{line[:60]!r} is not a line of `fsynced read`") from None
    return found


def broken(said: Mapping[Name, Promise], found: Mapping[Name, Found]) -> list[str]:
    """One sentence for each file that does not keep its promise."""
    names: Iterable[Name] = sorted(said.keys() | found.keys())
    checked = ((name, _broken(said.get(name, Promise(NOTHING)), found.get(name))) for name in names)
    return [f"file {process}/{file}: {why}" for (process, file), why in checked if why]


def _broken(said: Promise, found: Found | None) -> str:
    may_be_gone = any(s is not None and s.versions is None for s in (said.acked, said.under_way))
    if found is None:
        return "" if may_be_gone else f"lost, version {max(said.acked.versions or (0,))} was fsynced"
    size, versions = found
    if said.under_way is None:
        return _differs(said.acked, size, versions)
    if said.under_way.operation in (REPLACE, UNLINK):  # a name changes all at once
        whys = [_differs(state, size, versions) for state in (said.acked, said.under_way)]
        return "" if "" in whys else whys[0]
    return _not_between(said.acked.versions or (), said.under_way.versions or (), size, versions)


def _differs(state: State, size: int, versions: tuple[str, ...]) -> str:
    if state.versions is None:
        return "present, though its unlink was fsynced"
    if size != len(state.versions) * BLOCK:
        return f"{size} bytes, {len(state.versions) * BLOCK} were fsynced"
    for block, (want, got) in enumerate(zip(state.versions, versions, strict=True)):
        if str(want) != got:
            return f"block {block} is {got}, version {want} was fsynced"
    return ""


def _not_between(old: tuple[int, ...], new: tuple[int, ...], size: int, versions: tuple[str, ...]) -> str:
    low, high = sorted((len(old), len(new)))
    if size % BLOCK or not low <= size // BLOCK <= high:
        return f"{size} bytes, between {low * BLOCK} and {high * BLOCK} were promised"
    for block, got in enumerate(versions):
        allowed = {str(v[block]) for v in (old, new) if block < len(v)}
        if block >= len(old):
            allowed.add("zero")  # appended and not yet written
        if got not in allowed:
            return f"block {block} is {got}, {' or '.join(sorted(allowed))} was promised"
    return ""
