# SPDX-License-Identifier: MIT
"""A code path written step by step; it compiles to an op table.

One row an op: ``code, operand, argument``, all int64 (``Program.ops``, shape (ops, 3)).
The last row of a path is ``DONE``: the operation is complete and the thread starts over.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lockscale.errors import BadInput
from lockscale.sim.primitives import FIFO, NO_TIME, RANDOM_ORDER, Bitmap, Delay, Lock

SPEND, LOCK, UNLOCK, FIND_ZERO, CLAIM, RETRY_IF_LOST, DONE = range(7)

Table = NDArray[np.int64]


@dataclass(frozen=True)
class Label:
    """A place in a path to which a lost claim returns; ``held`` are the locks held there."""

    name: str
    step: int
    held: frozenset[str]


@dataclass(frozen=True)
class Program:
    """What the engine runs.

    Shapes: ops (ops, 3), locks (locks, 4), bitmaps (bitmaps, 1); ``steps`` names each op.
    """

    ops: Table
    locks: Table
    bitmaps: Table
    steps: tuple[str, ...]
    lock_names: tuple[str, ...]


@dataclass
class Path:
    """The steps of one operation, in the order of the kernel function it stands for."""

    name: str
    rows: list[tuple[int, int, int]] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    held: set[str] = field(default_factory=set)

    def spend(self, delay: Delay, what: str = "spend") -> None:
        """Let time pass; ``what`` names the kernel function that takes it."""
        self._add(what, SPEND, delay.mean_ps, delay.kind)

    def lock(self, lock: Lock) -> None:
        """Take the lock, waiting if it is held, and spend its hold time."""
        if lock.name in self.held:
            raise BadInput(f"{self._where()} locks '{lock.name}', which the path already holds")
        self.held.add(lock.name)
        self._add(f"lock {lock.name}", LOCK, lock.index)

    def unlock(self, lock: Lock) -> None:
        """Release the lock; the next waiter has it from now on."""
        if lock.name not in self.held:
            raise BadInput(f"{self._where()} unlocks '{lock.name}', which the path does not hold")
        self.held.remove(lock.name)
        self._add(f"unlock {lock.name}", UNLOCK, lock.index)

    def find_zero(self, bitmap: Bitmap) -> None:
        """Remember the first zero bit; others may claim it before this thread does."""
        self._add(f"find zero in {bitmap.name}", FIND_ZERO, bitmap.index)

    def claim(self, bitmap: Bitmap, *, search_again: bool = False) -> None:
        """Test and set the remembered bit: lost if another thread has set it since.

        With ``search_again`` a lost claim searches once more on the spot and takes what it finds.
        """
        self._add(f"claim in {bitmap.name}", CLAIM, bitmap.index, int(search_again))

    def label(self, name: str) -> Label:
        """Name the next step, for ``retry_if_lost``."""
        return Label(name, len(self.rows), frozenset(self.held))

    def retry_if_lost(self, label: Label) -> None:
        """Go back to the label if the last claim was lost: one more attempt."""
        if label.held != self.held:
            raise BadInput(f"{self._where()} goes back to '{label.name}' with other locks held")
        self._add(f"retry from {label.name}", RETRY_IF_LOST, label.step)

    def _add(self, step: str, code: int, operand: int, argument: int = 0) -> None:
        self.rows.append((code, operand, argument))
        self.steps.append(step)

    def _where(self) -> str:
        return f"step {len(self.rows) + 1} of path '{self.name}'"


class Builder:
    """What a model function writes on: its primitives and its path."""

    def __init__(self) -> None:
        self._locks: list[Lock] = []
        self._bitmaps: list[Bitmap] = []
        self._path: Path | None = None

    def queued_lock(self, name: str, *, hold: Delay, handover: Delay = NO_TIME) -> Lock:
        """A FIFO spin lock (the kernel's queued spin lock, Documentation/locking)."""
        return self._lock(name, FIFO, hold, handover)

    def unfair_lock(self, name: str, *, hold: Delay, handover: Delay = NO_TIME) -> Lock:
        """A test-and-set lock: any waiter, drawn at random, gets it (virt_spin_lock())."""
        return self._lock(name, RANDOM_ORDER, hold, handover)

    def bitmap(self, name: str, *, shared: bool = True) -> Bitmap:
        """A bitmap; ``shared`` false gives every thread its own part to search."""
        bitmap = Bitmap(len(self._bitmaps), name, shared)
        self._bitmaps.append(bitmap)
        return bitmap

    def path(self, name: str) -> Path:
        """The path that every thread repeats."""
        if self._path is not None:
            raise BadInput(f"path '{name}' is a second path: a model has one path for all threads")
        self._path = Path(name)
        return self._path

    def compile(self) -> Program:
        """The op table; raises BadInput for a path that is empty or ends with a lock held."""
        path = self._path
        if path is None or not path.rows:
            raise BadInput("the model has no steps: write at least one on m.path(...)")
        if path.held:
            raise BadInput(f"path '{path.name}' ends holding {sorted(path.held)}: unlock it")
        return Program(
            ops=np.array([*path.rows, (DONE, 0, 0)], dtype=np.int64),
            locks=np.array([lock.row() for lock in self._locks], dtype=np.int64).reshape(-1, 4),
            bitmaps=np.array([b.row() for b in self._bitmaps], dtype=np.int64).reshape(-1, 1),
            steps=(*path.steps, "done"),
            lock_names=tuple(lock.name for lock in self._locks),
        )

    def _lock(self, name: str, order: int, hold: Delay, handover: Delay) -> Lock:
        if any(lock.name == name for lock in self._locks):
            raise BadInput(f"lock '{name}' is defined twice: give each lock its own name")
        lock = Lock(len(self._locks), name, order, hold, handover)
        self._locks.append(lock)
        return lock
