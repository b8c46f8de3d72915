# SPDX-License-Identifier: MIT
"""A code path written step by step: one row an op (``layout.OP``), the last one DONE.

Wrong use is refused where it is written, with the step and the lock.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from lockscale.errors import BadInput
from lockscale.sim.delays import NO_TIME, Delay
from lockscale.sim.engine import layout as op
from lockscale.sim.primitives import Bitmap, Gate, Line, Lock, Place, Primitive, Slots, Variable


@dataclass(frozen=True)
class Label:
    """A place in a path to which it may return; ``held`` are the locks held there."""

    name: str
    step: int
    held: frozenset[str]


@dataclass
class Path:
    """The steps of one operation, in the order of the kernel function it stands for.

    ``delay_columns`` gives a delay's columns of a row, ``register`` a new register of the threads,
    ``tracer`` what a tracer costs at a step of this name.
    """

    name: str
    delay_columns: Callable[[Delay], dict[str, Any]]
    register: Callable[[], int]
    tracer: Callable[[str], Delay]
    rows: list[dict[str, Any]] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    held: set[str] = field(default_factory=set)
    memories: dict[str, int] = field(default_factory=dict)

    # time

    def spend(self, delay: Delay, what: str = "spend") -> None:
        """Let time pass on the CPU; ``what`` names the kernel function that takes it."""
        self._add(what, op.SPEND, delay=delay)

    def sleep(self, delay: Delay, what: str = "sleep") -> None:
        """Sleep for a time; the CPU is free for others (schedule_timeout())."""
        self._add(what, op.SLEEP, delay=delay)

    # locks

    def lock(self, lock: Lock, at: Place | None = None) -> None:
        """Take the lock, waiting if it is held, and spend its hold time. ``at``: which shard."""
        self._take(lock)
        self._add(f"lock {lock.name}", op.LOCK, lock, at)

    def unlock(self, lock: Lock, at: Place | None = None) -> None:
        """Release the lock; what becomes of its waiters depends on its kind."""
        self._give(lock)
        self._add(f"unlock {lock.name}", op.UNLOCK, lock, at)

    def trylock(self, lock: Lock, busy: Label, at: Place | None = None, *, tries: int = 0) -> None:
        """Take the lock if it is free, else go to ``busy``; after ``tries`` failures wait for it.

        0 tries: never wait. A success starts the count anew. The try itself takes no time: spend it.
        """
        self._same_locks(busy)
        self._take(lock)
        self._add(f"trylock {lock.name}", op.TRYLOCK, lock, at, target=busy.step, argument=tries)

    def read_lock(self, lock: Lock, at: Place | None = None) -> None:
        """Take the lock beside other readers; behind those who already wait (down_read())."""
        if not lock.shared:
            raise BadInput(f"{self._where()} reads under '{lock.name}', which has no readers: use an rwsem")
        self._take(lock)
        self._add(f"read lock {lock.name}", op.READ_LOCK, lock, at)

    def read_unlock(self, lock: Lock, at: Place | None = None) -> None:
        """Release a lock taken by ``read_lock``."""
        self._give(lock)
        self._add(f"read unlock {lock.name}", op.READ_UNLOCK, lock, at)

    # shared state

    def atomic(self, line: Line, at: Place | None = None) -> None:
        """An atomic read-modify-write (atomic_inc()); for a cmpxchg it changes the line at once."""
        self._add(f"atomic {line.name}", op.RMW, line, at, argument=1)

    def read(self, line: Line, at: Place | None = None) -> None:
        """Fetch the line and remember what it holds, for ``cmpxchg``."""
        self._add(f"read {line.name}", op.READ, line, at)
        self._add(f"remember {line.name}", op.SNAPSHOT, line, at, register=self._memory(line))

    def cmpxchg(self, line: Line, at: Place | None = None) -> None:
        """Write if nobody has changed the line since ``read``; else it is lost: ``retry_if_lost``."""
        self._add(f"cmpxchg {line.name}", op.RMW, line, at)
        self._add(f"compare {line.name}", op.COMPARE, line, at, register=self._memory(line))

    def find_zero(self, bitmap: Bitmap, at: Place | None = None) -> None:
        """Remember the first zero bit; others may claim it before this thread does."""
        self._add(f"find zero in {bitmap.name}", op.FIND_ZERO, bitmap, at, register=bitmap.register)

    def claim(self, bitmap: Bitmap, at: Place | None = None, *, search_again: bool = False) -> None:
        """Test and set the remembered bit: lost if another thread has set it since.

        With ``search_again`` a lost claim searches once more on the spot and takes what it finds.
        """
        again = int(search_again)
        self._add(f"claim in {bitmap.name}", op.CLAIM, bitmap, at, register=bitmap.register, argument=again)

    def reserve(self, slots: Slots, at: Place | None = None) -> None:
        """Take one off the block's count of free slots; lost if there is none."""
        self._add(f"reserve in {slots.name}", op.RESERVE, slots, at)

    def find_slot(self, slots: Slots, scan: Delay, at: Place | None = None) -> None:
        """Look for the block's first free slot and remember it; ``scan`` is the time a slot takes."""
        self._add(f"find slot in {slots.name}", op.FIND_SLOT, slots, at, delay=scan, register=slots.register)

    def take_slot(self, slots: Slots, at: Place | None = None) -> None:
        """cmpxchg of the remembered slot: lost if another thread has taken it since."""
        self._add(f"take slot in {slots.name}", op.TAKE_SLOT, slots, at, register=slots.register)

    def free_slot(self, slots: Slots, at: Place | None = None) -> None:
        """Clear the remembered slot and count it as free."""
        self._add(f"free slot in {slots.name}", op.FREE_SLOT, slots, at, register=slots.register)

    def enter(self, gate: Gate) -> None:
        """Join the running transaction; wait while one is being closed and committed."""
        self._add(f"enter {gate.name}", op.ENTER, gate)
        self._add(f"entered {gate.name}", op.ENTERED, gate)

    def leave(self, gate: Gate) -> None:
        """Leave the transaction."""
        self._add(f"leave {gate.name}", op.LEAVE, gate)

    # which shard

    def pick_own(self, place: Place) -> None:
        """The shard of the thread's number."""
        self._add(f"own {place.name}", op.PICK_OWN, argument=place.index)

    def pick_cpu(self, place: Place) -> None:
        """The shard of the CPU's number times the place's stride (raw_smp_processor_id() * 13)."""
        self._add(f"{place.name} of this cpu", op.PICK_CPU, argument=place.index)

    def pick_next(self, place: Place) -> None:
        """The next shard; after the last one the first."""
        self._add(f"next {place.name}", op.PICK_NEXT, argument=place.index)

    def pick_random(self, place: Place) -> None:
        """Any shard, with equal chance."""
        self._add(f"random {place.name}", op.PICK_RANDOM, argument=place.index)

    def load(self, place: Place, variable: Variable) -> None:
        """The shard that the shared variable names now."""
        self._add(f"load {variable.name}", op.LOAD, register=place.register, argument=variable.index)

    def store(self, place: Place, variable: Variable) -> None:
        """Write the thread's shard into the shared variable."""
        self._add(f"store {variable.name}", op.STORE, register=place.register, argument=variable.index)

    # the way through

    def label(self, name: str) -> Label:
        """Name the next step, to return to it."""
        return Label(name, len(self.rows), frozenset(self.held))

    def retry_if_lost(self, label: Label) -> None:
        """Go back to the label if the last claim was lost: one more attempt."""
        self._same_locks(label)
        self._add(f"retry from {label.name}", op.RETRY_IF_LOST, target=label.step)

    @contextmanager
    def if_lost(self) -> Iterator[None]:
        """The steps inside are for threads whose last claim was lost."""
        with self._block("if lost", op.SKIP_IF_WON):
            yield

    @contextmanager
    def sometimes(self, share: float) -> Iterator[None]:
        """The steps inside are done with this chance."""
        if not 0 <= share <= 1:
            raise BadInput(f"{self._where()} is done with a chance of {share}: give 0 to 1")
        with self._block(f"{share:.3g} of all times", op.SKIP_BY_CHANCE, shape=share):
            yield

    @contextmanager
    def repeat(self, times: int) -> Iterator[None]:
        """The steps inside are done so many times."""
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise BadInput(f"{self._where()} is repeated {times} times: give a whole number from 1")
        start = self.label("the loop's start")
        yield
        self._same_locks(start)
        self._add("loop", op.LOOP, target=start.step, argument=times, register=self.register())

    @contextmanager
    def _block(self, step: str, code: int, **columns: Any) -> Iterator[None]:
        before = self.label(step)
        self._add(step, code, **columns)
        row = self.rows[-1]
        yield
        self._same_locks(before)
        row["target"] = len(self.rows)

    def _memory(self, line: Line) -> int:
        """The register in which a thread keeps what it read of this line."""
        if line.name not in self.memories:
            self.memories[line.name] = self.register()
        return self.memories[line.name]

    def _take(self, lock: Lock) -> None:
        if lock.name in self.held:
            raise BadInput(f"{self._where()} locks '{lock.name}', which the path already holds")
        self.held.add(lock.name)

    def _give(self, lock: Lock) -> None:
        if lock.name not in self.held:
            raise BadInput(f"{self._where()} unlocks '{lock.name}', which the path does not hold")
        self.held.remove(lock.name)

    def _same_locks(self, label: Label) -> None:
        if label.held != self.held:
            raise BadInput(f"{self._where()} goes back to '{label.name}' with other locks held")

    def _add(
        self,
        step: str,
        code: int,
        on: Primitive | None = None,
        at: Place | None = None,
        *,
        delay: Delay = NO_TIME,
        **columns: Any,
    ) -> None:
        if on is not None and at is not None and at.shards != on.shards:
            raise BadInput(
                f"{self._where()} picks among {at.shards} shards of '{on.name}', which has {on.shards}"
            )
        extra = self.tracer(step)
        if extra.mean_ps:
            self._row(f"tracer at {step}", {"code": op.SPEND, **self.delay_columns(extra)})
        where = {"operand": on.first if on else 0, "place": at.register if at else 0}
        self._row(step, {"code": code, **where, **self.delay_columns(delay), **columns})

    def _row(self, step: str, row: dict[str, Any]) -> None:
        self.rows.append(row)
        self.steps.append(step)

    def _where(self) -> str:
        return f"step {len(self.rows) + 1} of path '{self.name}'"
