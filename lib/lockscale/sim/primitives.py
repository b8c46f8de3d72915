# SPDX-License-Identifier: MIT
"""What a model's path refers to: locks, cache lines, bitmaps, slots, gates, and places among shards.

Each is a handle: its first record in the engine's table, its name, and how many shards it has.
``Builder`` makes them, with their costs.
"""

from dataclasses import dataclass

from lockscale.errors import BadInput


@dataclass(frozen=True)
class Primitive:
    """A handle; ``first`` is the index of its first shard's record."""

    first: int
    name: str
    shards: int = 1


@dataclass(frozen=True)
class Lock(Primitive):
    """A lock of any kind; ``shared`` where readers may hold it together."""

    shared: bool = False


@dataclass(frozen=True)
class Line(Primitive):
    """A cache line that is modified by atomic operations."""


@dataclass(frozen=True)
class Bitmap(Primitive):
    """A bitmap of which a searcher keeps the first zero bit it saw until it claims it."""

    register: int = 0


@dataclass(frozen=True)
class Slots(Primitive):
    """Blocks of slots; a thread keeps the slot that it found or took."""

    register: int = 0


@dataclass(frozen=True)
class Gate(Primitive):
    """A gate that closes for a commit."""


@dataclass(frozen=True)
class ShardChoice:
    """A thread's own choice of a shard: its group, its CPU's block, its shard of a counter."""

    index: int
    name: str
    shards: int
    register: int


@dataclass(frozen=True)
class Variable(Primitive):
    """A number that all threads read and write, for example s_mb_last_group; sharded: an array of them."""

    start: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Tally(Primitive):
    """Counts what all threads do, or those of one CPU: ``every`` so many a thread has more to do."""


@dataclass(frozen=True)
class Lockref:
    """A count of references and its spin lock in one word (lib/lockref.c)."""

    line: Line
    lock: Lock


def whole_number(what: str, value: object, low: int, high: int = 2**31) -> int:
    """The value, if it is a whole number from low to high; else BadInput."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadInput(f"{what} is {value!r}: give a whole number from {low} to {high}")
    return value
