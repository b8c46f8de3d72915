# SPDX-License-Identifier: MIT
"""The words in which a code path is written, step by step."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from lockscale.errors import BadInput
from lockscale.sim.delays import Delay
from lockscale.sim.engine import op_codes as op
from lockscale.sim.engine.layout import FIXED
from lockscale.sim.primitives import (
    Bitmap,
    Gate,
    Line,
    Lock,
    Lockref,
    Primitive,
    ShardChoice,
    Slots,
    Tally,
    Variable,
    whole_number,
)
from lockscale.sim.steps import Label, Steps, check_delay


class Path(Steps):
    """The steps of one operation, in the order of the kernel function it stands for."""

    # time

    def spend(self, delay: Delay, what: str = "spend") -> None:
        """Let time pass on the CPU; ``what`` names the kernel function that takes it."""
        self._add(what, op.SPEND, delay=delay)

    def sleep(self, delay: Delay, what: str = "sleep") -> None:
        """Sleep for a time; the CPU is free for others (schedule_timeout())."""
        self._add(what, op.SLEEP, delay=delay)

    # locks

    def lock(self, lock: Lock, at: ShardChoice | None = None) -> None:
        """Take the lock, waiting if it is held, and spend its hold time. ``at``: which shard."""
        self._take(lock, at)
        self._add(f"lock {lock.name}", op.LOCK, lock, at)

    def unlock(self, lock: Lock, at: ShardChoice | None = None) -> None:
        """Release the lock; what becomes of its waiters depends on its kind."""
        self._give(lock, at)
        self._add(f"unlock {lock.name}", op.UNLOCK, lock, at)

    def trylock(self, lock: Lock, busy: Label, at: ShardChoice | None = None, *, tries: int = 0) -> None:
        """Take the lock if it is free, else go to ``busy``; after ``tries`` failures wait for it.

        0 tries: never wait. A success starts the count anew. The try itself takes no time: spend it.
        """
        whole_number(f"{self._where()}: tries", tries, 0)
        self._same_locks(busy)
        self._take(lock, at)
        counter = self.register() if tries else 0
        columns: dict[str, Any] = {"target": busy.step, "argument": tries, "register": counter}
        self._add(f"trylock {lock.name}", op.TRYLOCK, lock, at, **columns)

    def read_lock(self, lock: Lock, at: ShardChoice | None = None) -> None:
        """Take the lock beside other readers; behind those who already wait (down_read())."""
        self._of(Lock, lock)
        if not lock.shared:
            raise BadInput(f"{self._where()} reads under '{lock.name}', which has no readers: use an rwsem")
        self._take(lock, at)
        self._add(f"read lock {lock.name}", op.READ_LOCK, lock, at)

    def read_unlock(self, lock: Lock, at: ShardChoice | None = None) -> None:
        """Release a lock taken by ``read_lock``."""
        self._give(lock, at)
        self._add(f"read unlock {lock.name}", op.READ_UNLOCK, lock, at)

    # shared state

    def atomic(self, line: Line, at: ShardChoice | None = None) -> None:
        """An atomic read-modify-write (atomic_inc()); for a cmpxchg it changes the line at once."""
        self._of(Line, line)
        self._add(f"atomic {line.name}", op.RMW, line, at, argument=1)

    def read(self, line: Line, at: ShardChoice | None = None) -> None:
        """Fetch the line and remember what it holds, for ``cmpxchg``.

        It does not wait for an ``atomic`` that is under way, and leaves no copy: while another CPU was the
        last to write it, each read costs the same again.
        """
        self._of(Line, line)
        self._add(f"read {line.name}", op.READ, line, at)
        self._add(f"remember {line.name}", op.SNAPSHOT, line, at, register=self._memory(line))

    def cmpxchg(self, line: Line, at: ShardChoice | None = None) -> None:
        """Write if nobody has changed the line since ``read``; else it is lost: ``retry_if_lost``."""
        self._of(Line, line)
        self._add(f"cmpxchg {line.name}", op.RMW, line, at)
        self._add(f"compare {line.name}", op.COMPARE, line, at, register=self._memory(line))

    def get_ref(self, ref: Lockref, at: ShardChoice | None = None) -> None:
        """Take a reference: cmpxchg the word where its lock is free, else under the lock (lockref_get()).

        A lost cmpxchg is repeated on the spot, while the line is this CPU's: it is a read and an ``atomic``.
        """
        if not isinstance(ref, Lockref):
            raise BadInput(
                f"{self._where()} needs a lockref of this model but has {ref!r}: make one with m.lockref()"
            )
        self._add(f"read {ref.line.name}", op.READ, ref.line, at)
        with self.if_held(ref.lock, at):
            self.lock(ref.lock, at)
            self.atomic(ref.line, at)
            self.unlock(ref.lock, at)
            self._add("done under the lock", op.JUMP)
            slow = self.rows[-1]
        self.atomic(ref.line, at)
        slow["target"] = len(self.rows)

    def find_zero(self, bitmap: Bitmap, at: ShardChoice | None = None) -> None:
        """Remember the first zero bit; others may claim it before this thread does."""
        self._of(Bitmap, bitmap)
        self._add(f"find zero in {bitmap.name}", op.FIND_ZERO, bitmap, at, register=bitmap.register)

    def claim(self, bitmap: Bitmap, at: ShardChoice | None = None, *, search_again: bool = False) -> None:
        """Test and set the remembered bit: lost if another thread has set it since.

        With ``search_again`` a lost claim searches once more on the spot and takes what it finds.
        """
        self._of(Bitmap, bitmap)
        again = int(search_again)
        self._add(f"claim in {bitmap.name}", op.CLAIM, bitmap, at, register=bitmap.register, argument=again)

    def reserve(self, slots: Slots, at: ShardChoice | None = None) -> None:
        """Take one off the block's count of free slots; lost if there is none."""
        self._of(Slots, slots)
        self._add(f"reserve in {slots.name}", op.RESERVE, slots, at)

    def find_slot(self, slots: Slots, scan: Delay, at: ShardChoice | None = None) -> None:
        """Look for the block's first free slot and remember it; ``scan`` is the time a slot takes."""
        self._of(Slots, slots)
        check_delay(scan)
        if scan.kind != FIXED:
            raise BadInput(f"{self._where()}: the time to look at a slot varies: give a fixed time")
        self._add(f"find slot in {slots.name}", op.FIND_SLOT, slots, at, delay=scan, register=slots.register)

    def take_slot(self, slots: Slots, at: ShardChoice | None = None) -> None:
        """cmpxchg of the remembered slot: lost if another thread has taken it since."""
        self._of(Slots, slots)
        self._add(f"take slot in {slots.name}", op.TAKE_SLOT, slots, at, register=slots.register)

    def free_slot(self, slots: Slots, at: ShardChoice | None = None) -> None:
        """Clear the remembered slot and count it as free."""
        self._of(Slots, slots)
        self._add(f"free slot in {slots.name}", op.FREE_SLOT, slots, at, register=slots.register)

    def enter(self, gate: Gate) -> None:
        """Join the running transaction; wait while one is being closed and committed."""
        self._of(Gate, gate)
        if gate.name in self.held:
            raise BadInput(f"{self._where()} enters '{gate.name}', which the path has already entered")
        self._add(f"enter {gate.name}", op.ENTER, gate)
        self._add(f"entered {gate.name}", op.ENTERED, gate)
        self.held[gate.name] = None

    def leave(self, gate: Gate) -> None:
        """Leave the transaction."""
        self._of(Gate, gate)
        if gate.name not in self.held:
            raise BadInput(f"{self._where()} leaves '{gate.name}', which the path has not entered")
        del self.held[gate.name]
        self._add(f"leave {gate.name}", op.LEAVE, gate)

    # which shard

    def pick_own(self, place: ShardChoice) -> None:
        """The shard of the thread's number."""
        self._moves(place)
        self._add(f"own {place.name}", op.PICK_OWN, argument=place.index)

    def pick_cpu(self, place: ShardChoice) -> None:
        """The shard of the CPU's number times the place's stride (raw_smp_processor_id() * 13)."""
        self._moves(place)
        self._add(f"{place.name} of this cpu", op.PICK_CPU, argument=place.index)

    def pick_next(self, place: ShardChoice) -> None:
        """The next shard; after the last one the first."""
        self._moves(place)
        self._add(f"next {place.name}", op.PICK_NEXT, argument=place.index)

    def pick_random(self, place: ShardChoice) -> None:
        """Any shard, with equal chance."""
        self._moves(place)
        self._add(f"random {place.name}", op.PICK_RANDOM, argument=place.index)

    def pick_hash(self, place: ShardChoice, of: ShardChoice) -> None:
        """The bucket of another place's shard, modulo: an object's lock in a hash (bgl_lock_ptr())."""
        self._moves(place)
        self._of(ShardChoice, of)
        self._add(f"{place.name} of {of.name}", op.PICK_HASH, argument=place.index, register=of.register)

    def load(self, place: ShardChoice, variable: Variable, at: ShardChoice | None = None) -> None:
        """The shard that the shared variable names now. ``at``: which shard of the variable."""
        self._moves(place)
        self._of(Variable, variable)
        self.moved.append((variable, place, "load"))
        self._add(f"load {variable.name}", op.LOAD, variable, at, register=place.register)

    def store(self, place: ShardChoice, variable: Variable, at: ShardChoice | None = None) -> None:
        """Write the thread's shard into the shared variable."""
        self._of(ShardChoice, place)
        self._of(Variable, variable)
        self.moved.append((variable, place, "store"))
        self._add(f"store {variable.name}", op.STORE, variable, at, register=place.register)

    # the way through

    def label(self, name: str) -> Label:
        """Name the next step, to return to it."""
        return Label(name, len(self.rows), frozenset(self.held), self.name)

    def retry_if_lost(self, label: Label) -> None:
        """Go back to the label if the last claim was lost: one more attempt."""
        self._same_locks(label)
        self._add(f"retry from {label.name}", op.RETRY_IF_LOST, target=label.step)

    def if_lost(self) -> AbstractContextManager[None]:
        """The steps inside are for threads whose last claim was lost."""
        return self._inside("if_lost()", self._skip("if lost", op.SKIP_IF_WON))

    def if_differs(self, one: ShardChoice, other: ShardChoice) -> AbstractContextManager[None]:
        """The steps inside are for threads whose two places name different shards."""
        self._of(ShardChoice, one)
        self._of(ShardChoice, other)
        step = f"if {one.name} is not {other.name}"
        block = self._skip(step, op.SKIP_IF_SAME, argument=one.register, register=other.register)
        return self._inside("if_differs()", block)

    def sometimes(self, share: float) -> AbstractContextManager[None]:
        """The steps inside are done with this chance."""
        if not 0 <= share <= 1:
            raise BadInput(f"{self._where()} is done with a chance of {share}: give 0 to 1")
        block = self._skip(f"{share:.3g} of all times", op.SKIP_BY_CHANCE, shape=share)
        return self._inside("sometimes()", block)

    def if_held(self, lock: Lock, at: ShardChoice | None = None) -> AbstractContextManager[None]:
        """The steps inside are done where somebody holds the lock now (spin_is_locked())."""
        self._of(Lock, lock)
        return self._inside("if_held()", self._skip(f"if {lock.name} is held", op.SKIP_IF_FREE, lock, at))

    def every(
        self, times: int, counter: Tally, at: ShardChoice | None = None
    ) -> AbstractContextManager[None]:
        """The steps inside are for every ``times``-th thread that comes by: a full batch, a full CIL."""
        whole_number(f"{self._where()}: times", times, 1)
        self._of(Tally, counter)
        block = self._skip(f"every {times} of {counter.name}", op.SKIP_UNTIL, counter, at, argument=times)
        return self._inside("every()", block)

    def repeat(self, times: int) -> AbstractContextManager[None]:
        """The steps inside are done so many times."""
        whole_number(f"{self._where()}: times", times, 1)
        return self._inside("repeat()", self._loop(times))

    @contextmanager
    def _loop(self, times: int) -> Iterator[None]:
        turns = self.register()
        self._add("loop from 0", op.RESET, register=turns)  # a jump may have left it half done
        start = self.label("the loop's start")
        yield
        self._same_locks(start)
        self._add("loop", op.LOOP, target=start.step, argument=times, register=turns)

    @contextmanager
    def _skip(
        self, step: str, code: int, on: Primitive | None = None, at: ShardChoice | None = None, **columns: Any
    ) -> Iterator[None]:
        before = self.label(step)
        self._add(step, code, on, at, **columns)
        row = self.rows[-1]
        yield
        self._same_locks(before)
        row["target"] = len(self.rows)

    def _inside(self, name: str, block: AbstractContextManager[None]) -> AbstractContextManager[None]:
        """The block, which is missed at the end if no ``with`` enters it."""
        self.blocks.append(f"{self._where()}: {name}")
        return self._entered(len(self.blocks) - 1, block)

    @contextmanager
    def _entered(self, index: int, block: AbstractContextManager[None]) -> Iterator[None]:
        self.blocks[index] = ""
        with block:
            yield

    def _memory(self, line: Line) -> int:
        """The register in which a thread keeps what it read of this line."""
        if line.name not in self.memories:
            self.memories[line.name] = self.register()
        return self.memories[line.name]
