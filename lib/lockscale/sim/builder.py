# SPDX-License-Identifier: MIT
"""What a model function writes on: its primitives, its CPUs, its paths."""

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import numpy as np

from lockscale.errors import BadInput
from lockscale.sim.delays import FIXED, GAMMA, NO_TIME, PS_PER_US, Delay
from lockscale.sim.layout import (
    ALL_OVERTAKEN,
    ANYWHERE,
    BITMAP,
    DONE,
    FIFO,
    GATE,
    IN_TURN,
    LINE,
    LOCK_RECORD,
    NEVER,
    NOBODY,
    OP,
    PATH,
    PLACE,
    RANDOM_ORDER,
    SLEEPERS_OVERTAKEN,
    SLOTS,
)
from lockscale.sim.path import Path
from lockscale.sim.primitives import Bitmap, Gate, Line, Lock, Place, Primitive, Slots, Variable
from lockscale.sim.program import Machine, Program, records

MAX_SHARDS = 4096
MAX_SLOTS = 4096
Made = TypeVar("Made", bound=Primitive)


class Builder:
    """Makes a model's primitives and paths for a number of threads, and compiles them."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._made: dict[str, list[tuple[Primitive, Mapping[str, Any]]]] = {
            kind: [] for kind in ("lock", "line", "bitmap", "slots", "gate")
        }
        self._names: set[str] = set()
        self._places: list[Place] = []
        self._strides: list[int] = []
        self._variables: list[Variable] = []
        self._paths: list[tuple[Path, dict[str, Any]]] = []
        self._registers = 1  # register 0 is always 0: the first shard
        self._samples: list[int] = []
        self._slots_a_block = 0
        self._machine = Machine(sockets=1, cpus=0, slice_ps=0, switch_ps=0)
        self._tracer: tuple[Delay, frozenset[str]] = (NO_TIME, frozenset())

    # locks

    def queued_lock(
        self, name: str, *, hold: Delay, handover: Delay = NO_TIME, remote: Delay = NO_TIME, shards: int = 1
    ) -> Lock:
        """A FIFO spin lock in which each waiter spins on its own line.

        ``hold`` is spent from the moment it is taken, before the path's next step. ``handover`` is
        spent before that by a waiter to whom it is passed on, and ``remote`` more if its last
        holder ran on another socket; both count as hold time. Source: kernel/locking/qspinlock.c;
        Mellor-Crummey and Scott, ACM TOCS 9 (1991) 21.
        """
        return self._lock(name, shards, hold, handover, remote_ps=_fixed(remote))

    def ticket_lock(
        self,
        name: str,
        *,
        hold: Delay,
        handover: Delay = NO_TIME,
        per_waiter: Delay = NO_TIME,
        remote: Delay = NO_TIME,
        shards: int = 1,
    ) -> Lock:
        """A FIFO spin lock in which all waiters spin on one line (RHEL 7's kernel).

        The hand-over takes ``handover`` and ``per_waiter`` for each thread that still waits, whose
        caches all fetch the line. Source: Boyd-Wickizer, Kaashoek, Morris and Zeldovich, Linux
        Symposium 2012.
        """
        costs = {"per_waiter_ps": _fixed(per_waiter), "remote_ps": _fixed(remote)}
        return self._lock(name, shards, hold, handover, **costs)

    def unfair_lock(self, name: str, *, hold: Delay, handover: Delay = NO_TIME, shards: int = 1) -> Lock:
        """A spin lock that any waiter gets, drawn at random (a guest's virt_spin_lock())."""
        return self._lock(name, shards, hold, handover, order=RANDOM_ORDER)

    def test_and_set_lock(
        self,
        name: str,
        *,
        hold: Delay,
        handover: Delay = NO_TIME,
        per_waiter: Delay = NO_TIME,
        shards: int = 1,
    ) -> Lock:
        """A spin lock that is free until a waiter has seen it: who comes meanwhile overtakes.

        One waiter, drawn at random, tries ``handover`` and ``per_waiter`` for each other waiter
        after the release. Source: Anderson, IEEE TPDS 1 (1990) 6.
        """
        costs = {"per_waiter_ps": _fixed(per_waiter), "order": RANDOM_ORDER, "barging": ALL_OVERTAKEN}
        return self._lock(name, shards, hold, handover, **costs)

    def sleeping_lock(
        self,
        name: str,
        *,
        hold: Delay,
        wake: Delay,
        wake_cost: Delay = NO_TIME,
        barging: bool = True,
        shards: int = 1,
    ) -> Lock:
        """A lock whose waiters sleep, in FIFO order (lock_buffer(), wait_on_bit_lock()).

        On release it is free; the first sleeper tries again after ``wake``, and sleeps again, at
        the end, if another was faster. Without ``barging`` it owns the lock from the release on.
        ``wake_cost`` is what waking costs the thread that releases (try_to_wake_up()).
        """
        costs = {"spin_ps": 0, "wake_ps": _fixed(wake), "wake_cost_ps": _fixed(wake_cost)}
        overtaken = SLEEPERS_OVERTAKEN if barging else IN_TURN
        return self._lock(name, shards, hold, NO_TIME, barging=overtaken, **costs)

    def mutex(
        self,
        name: str,
        *,
        hold: Delay,
        wake: Delay,
        spin: Delay = NO_TIME,
        handover: Delay = NO_TIME,
        wake_cost: Delay = NO_TIME,
        shards: int = 1,
    ) -> Lock:
        """A mutex: waiters spin for up to ``spin`` in FIFO order, then sleep.

        A release hands over to the first spinner; if there is none it wakes the first sleeper, who
        may be overtaken once and is then next. Source: kernel/locking/mutex.c (optimistic spinning,
        MUTEX_FLAG_HANDOFF).
        """
        costs = {
            "spin_ps": _fixed(spin),
            "wake_ps": _fixed(wake),
            "wake_cost_ps": _fixed(wake_cost),
            "handoff": 1,
        }
        return self._lock(name, shards, hold, handover, barging=SLEEPERS_OVERTAKEN, **costs)

    def rwsem(
        self,
        name: str,
        *,
        hold: Delay,
        wake: Delay,
        spin: Delay = NO_TIME,
        wake_cost: Delay = NO_TIME,
        shards: int = 1,
    ) -> Lock:
        """A lock that readers share; waiters sleep, writers may spin before it.

        A reader queues behind any waiter; when the lock is passed on to a reader, all waiting
        readers get it. Source: kernel/locking/rwsem.c.
        """
        costs = {
            "spin_ps": _fixed(spin),
            "wake_ps": _fixed(wake),
            "wake_cost_ps": _fixed(wake_cost),
            "handoff": 1,
        }
        lock = self._lock(name, shards, hold, NO_TIME, barging=SLEEPERS_OVERTAKEN, **costs)
        shared = Lock(lock.first, name, shards, shared=True)
        self._made["lock"][-1] = (shared, self._made["lock"][-1][1])
        return shared

    # shared state

    def cache_line(
        self, name: str, *, own: Delay, socket: Delay = NO_TIME, remote: Delay = NO_TIME, shards: int = 1
    ) -> Line:
        """A cache line for atomic operations, which follow one another.

        One takes ``own`` if this CPU was the last to write it, ``socket`` or ``remote`` if another
        of the same or another socket was (not given: the nearer one's). Source: the MESI protocol;
        measured costs e.g. David, Guerraoui and Trigonakis, SOSP 2013.
        """
        near = socket if socket.mean_ps else own
        costs = {
            "own_ps": _fixed(own),
            "socket_ps": _fixed(near),
            "remote_ps": _fixed(remote if remote.mean_ps else near),
            "cpu": ANYWHERE,
        }
        return self._make("line", Line, name, shards, costs)

    def bitmap(self, name: str, *, shards: int = 1) -> Bitmap:
        """A bitmap; claimed bits stay set. Sharded: each group has its own."""
        return self._make("bitmap", Bitmap, name, shards, {}, register=self._register())

    def slots(self, name: str, *, per_block: int, shards: int = 1) -> Slots:
        """Blocks (shards) of slots that are taken and freed (ext4's orphan file)."""
        if not 1 <= per_block <= MAX_SLOTS:
            raise BadInput(f"'{name}' has {per_block} slots a block: give 1 to {MAX_SLOTS}")
        self._slots_a_block = max(self._slots_a_block, per_block)
        return self._make("slots", Slots, name, shards, {"free": per_block}, register=self._register())

    def commit_gate(self, name: str, *, commit: Delay, entries: int = 0, interval: Delay = NO_TIME) -> Gate:
        """A journal's gate: after ``entries`` or ``interval`` it closes; all inside leave; commit.

        Who comes meanwhile sleeps until the commit is over (fs/jbd2/transaction.c,
        wait_transaction_locked()). 0 entries: only the interval closes it.
        """
        costs = {"limit": entries, "interval_ps": _fixed(interval), **self._delay("commit", commit)}
        return self._make("gate", Gate, name, 1, costs)

    def place(self, name: str, *, shards: int, stride: int = 1) -> Place:
        """A thread's own choice among shards; at first the one of its number."""
        place = Place(len(self._places), name, _shards(name, shards), self._register())
        self._places.append(place)
        self._strides.append(stride)
        return place

    def variable(self, name: str) -> Variable:
        """A number that all threads read and write; 0 at first."""
        self._variables.append(Variable(len(self._variables), name))
        return self._variables[-1]

    # the machine and the threads

    def machine(
        self,
        *,
        sockets: int = 1,
        cpus: int = 0,
        time_slice: Delay = NO_TIME,
        switch: Delay = NO_TIME,
    ) -> None:
        """Sockets over which threads are dealt in turn, and CPUs if there may be fewer than threads.

        Thread t runs on CPU t modulo ``cpus`` (0: each its own), for ``time_slice`` at a time if
        others wait for that CPU; ``switch`` is what a context switch costs.
        """
        if not (isinstance(sockets, int) and sockets >= 1 and isinstance(cpus, int) and cpus >= 0):
            raise BadInput(f"a machine of {sockets} sockets and {cpus} CPUs: give whole numbers from 1")
        if cpus and not time_slice.mean_ps:
            raise BadInput("a machine whose CPUs are shared needs a time slice: give time_slice=ms(3)")
        self._machine = Machine(sockets, cpus, _fixed(time_slice), _fixed(switch))

    def tracer(self, cost: Delay, functions: Collection[str]) -> None:
        """What a tracer adds before each step named so; say it before the paths are written."""
        self._tracer = (cost, frozenset(functions))

    def path(
        self,
        name: str,
        *,
        share: float = 1.0,
        threads: int | None = None,
        counted: bool = True,
        start: Delay = NO_TIME,
    ) -> Path:
        """A path that a class of threads repeats.

        Threads are dealt to the paths by ``share``, or ``threads`` of them come in addition (a
        kernel thread). ``counted``: its operations are the model's rate. ``start``: each thread's
        delay before its first operation (0: all start together).
        """
        if any(path.name == name for path, _ in self._paths):
            raise BadInput(f"path '{name}' is defined twice: give each path its own name")
        if not 0 <= share <= 1e9 or (threads is not None and not 0 <= threads <= 4096):
            raise BadInput(f"path '{name}' has a share of {share} and {threads} threads: give 0 or more")
        path = Path(name, lambda delay: self._delay("", delay), self._register, self._traced)
        row = {"share": share, "threads": -1 if threads is None else threads, "counted": int(counted)}
        self._paths.append((path, {**row, **self._delay("start", start)}))
        return path

    def compile(self) -> Program:
        """The op table; raises BadInput for a path that is empty or ends with a lock held."""
        if not any(path.rows for path, _ in self._paths):
            raise BadInput("the model has no steps: write at least one on m.path(...)")
        rows: list[dict[str, Any]] = []
        steps: list[str] = []
        paths = []
        for path, costs in self._paths:
            if path.held:
                raise BadInput(f"path '{path.name}' ends holding {sorted(path.held)}: unlock it")
            if not path.rows:
                raise BadInput(f"path '{path.name}' has no steps: write one, or leave the path out")
            paths.append({"first": len(rows), **costs})
            rows += [{**row, "target": row.get("target", 0) + len(rows)} for row in path.rows]
            rows.append({"code": DONE})
            steps += [*path.steps, "done"]
        places = [
            {"register": place.register, "shards": place.shards, "stride": stride}
            for place, stride in zip(self._places, self._strides, strict=True)
        ]
        return Program(
            threads=self.threads,
            ops=records(OP, rows),
            locks=self._records("lock", LOCK_RECORD),
            lines=self._records("line", LINE),
            bitmaps=self._records("bitmap", BITMAP),
            slots=self._records("slots", SLOTS),
            gates=self._records("gate", GATE),
            places=records(PLACE, places),
            paths=records(PATH, paths),
            samples=np.array(self._samples, np.int64),
            registers=self._registers,
            variables=len(self._variables),
            slots_a_block=self._slots_a_block,
            machine=self._machine,
            steps=tuple(steps),
            names={kind: tuple(p for p, _ in made) for kind, made in self._made.items()},
            path_names=tuple(path.name for path, _ in self._paths),
        )

    def _records(self, kind: str, dtype: np.dtype[np.void]) -> Any:
        return records(dtype, [row for p, row in self._made[kind] for _ in range(p.shards)])

    def _lock(self, name: str, shards: int, hold: Delay, handover: Delay, **costs: int) -> Lock:
        if handover.kind == GAMMA or handover.sample:
            raise BadInput(f"the hand-over of '{name}' is neither fixed nor exponential: use one of these")
        row = {
            "order": FIFO,
            "spin_ps": NEVER,
            "owner": NOBODY,
            "histogram": len(self._made["lock"]),
            "handover_kind": handover.kind,
            "handover_ps": handover.mean_ps,
            **self._delay("hold", hold),
            **costs,
        }
        return self._make("lock", Lock, name, shards, row)

    def _make(
        self, kind: str, made: type[Made], name: str, shards: int, row: Mapping[str, Any], **more: Any
    ) -> Made:
        if name in self._names:
            raise BadInput(f"{kind} '{name}' is defined twice: give each primitive its own name")
        self._names.add(name)
        first = sum(p.shards for p, _ in self._made[kind])
        handle = made(first, name, _shards(name, shards), **more)
        self._made[kind].append((handle, row))
        return handle

    def _register(self) -> int:
        self._registers += 1
        return self._registers - 1

    def _traced(self, step: str) -> Delay:
        cost, functions = self._tracer
        return cost if step in functions else NO_TIME

    def _delay(self, prefix: str, delay: Delay) -> dict[str, Any]:
        """A delay's columns of a record, their names with the prefix."""
        first = len(self._samples)
        self._samples += delay.sample
        lead = f"{prefix}_" if prefix else ""
        return {
            f"{lead}kind": delay.kind,
            f"{lead}ps" if prefix else "mean_ps": delay.mean_ps,
            f"{lead}shape": delay.shape,
            f"{lead}first": first,
            f"{lead}count": len(delay.sample),
        }


def _fixed(delay: Delay) -> int:
    if delay.kind != FIXED:
        raise BadInput(
            f"a cost of mean {delay.mean_ps / PS_PER_US} us is not fixed: only holds and steps vary"
        )
    return delay.mean_ps


def _shards(name: str, shards: int) -> int:
    if isinstance(shards, bool) or not isinstance(shards, int) or not 1 <= shards <= MAX_SHARDS:
        raise BadInput(f"'{name}' has {shards} shards: give a whole number from 1 to {MAX_SHARDS}")
    return shards
