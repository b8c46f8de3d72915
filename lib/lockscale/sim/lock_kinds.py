# SPDX-License-Identifier: MIT
"""The kinds of locks that a model can have; each is a record of costs and flags for the engine."""

from collections.abc import Mapping, Sequence

from lockscale.errors import BadInput
from lockscale.sim.delays import MAX_DELAY_PS, NO_TIME, Delay, ms
from lockscale.sim.engine.layout import (
    ALL_OVERTAKEN,
    ANYWHERE,
    EXPONENTIAL,
    FIFO,
    FIXED,
    IN_TURN,
    NEAREST,
    NEVER,
    NOBODY,
    PREEMPTED_OVERTAKEN,
    RANDOM_ORDER,
    SLEEPERS_OVERTAKEN,
)
from lockscale.sim.primitives import (
    Bitmap,
    Gate,
    Line,
    Lock,
    Lockref,
    ShardChoice,
    Slots,
    Tally,
    Variable,
    whole_number,
)
from lockscale.sim.steps import MAX_SHARDS, Parts, check_delay, fixed_ps

RWSEM_WAIT_TIMEOUT = ms(4)  # kernel/locking/rwsem.c


class LockKinds(Parts):
    """Makes locks; ``shards``: that many of a kind, of which a path picks one."""

    def queued_lock(
        self, name: str, *, hold: Delay, handover: Delay = NO_TIME, remote: Delay = NO_TIME, shards: int = 1
    ) -> Lock:
        """A FIFO spin lock in which each waiter spins on its own line.

        ``hold`` is spent from the moment it is taken, before the path's next step. ``handover`` is
        spent before that by a waiter to whom it is passed on, and ``remote`` more if its last
        holder ran on another socket; both count as hold time. Source: kernel/locking/qspinlock.c;
        Mellor-Crummey and Scott, ACM TOCS 9 (1991) 21.
        """
        return self._lock(name, shards, hold, handover, {"remote_ps": fixed_ps(remote)})

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
        """A FIFO spin lock in which all waiters spin on one line (x86 until Linux 4.1, RHEL 7 at first).

        The hand-over takes ``handover`` and ``per_waiter`` for each thread that still waits, whose
        caches all fetch the line. Source: Boyd-Wickizer, Kaashoek, Morris and Zeldovich, Linux
        Symposium 2012.
        """
        costs = {"per_waiter_ps": fixed_ps(per_waiter), "remote_ps": fixed_ps(remote)}
        return self._lock(name, shards, hold, handover, costs)

    def cna_lock(
        self,
        name: str,
        *,
        hold: Delay,
        handover: Delay = NO_TIME,
        remote: Delay = NO_TIME,
        in_a_row: int = 65536,
        shards: int = 1,
    ) -> Lock:
        """A ``queued_lock`` that is passed to a waiter of the same socket, up to ``in_a_row`` times.

        Then, or where there is none, to the first. Source: Dice and Kogan, EuroSys 2019 (compact
        NUMA-aware locks); the series "Add NUMA-awareness to qspinlock" for Linux.
        """
        near = whole_number(f"in_a_row of '{name}'", in_a_row, 0)
        costs = {"remote_ps": fixed_ps(remote), "order": NEAREST, "most_near": near}
        return self._lock(name, shards, hold, handover, costs)

    def unfair_lock(self, name: str, *, hold: Delay, handover: Delay = NO_TIME, shards: int = 1) -> Lock:
        """A spin lock that goes to any waiter with a CPU, drawn at random (a guest's virt_spin_lock()).

        If none has one it is free for whoever runs first.
        """
        costs = {"order": RANDOM_ORDER, "barging": PREEMPTED_OVERTAKEN}
        return self._lock(name, shards, hold, handover, costs)

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

        One waiter that has a CPU, drawn at random, tries ``handover`` and ``per_waiter`` for each
        other waiter after the release; if none has one, the lock is free for whoever runs first. Source:
        Anderson, IEEE TPDS 1 (1990) 6.
        """
        costs = {"per_waiter_ps": fixed_ps(per_waiter), "order": RANDOM_ORDER, "barging": ALL_OVERTAKEN}
        return self._lock(name, shards, hold, handover, costs)

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
        costs = _sleepers(NO_TIME, wake, wake_cost)
        costs["barging"] = SLEEPERS_OVERTAKEN if barging else IN_TURN
        return self._lock(name, shards, hold, NO_TIME, costs)

    def mutex(
        self,
        name: str,
        *,
        hold: Delay,
        wake: Delay,
        spin: Delay = NO_TIME,
        handover: Delay = NO_TIME,
        wake_cost: Delay = NO_TIME,
        owner_runs: bool = False,
        shards: int = 1,
    ) -> Lock:
        """A mutex: waiters spin for up to ``spin`` in FIFO order, then sleep.

        ``owner_runs``: they spin only while its owner is on a CPU (mutex_spin_on_owner()), and sleep
        at once when it sleeps; an owner that is preempted later only turns newcomers away.

        A release wakes the first sleeper, and hands over to the first spinner if there is one. A
        sleeper that finds it taken when it is awake is next: it spins meanwhile, or sleeps again if
        ``spin`` is 0 or over or the owner sleeps. Source: kernel/locking/mutex.c (optimistic spinning
        also by the first waiter, MUTEX_FLAG_HANDOFF). There spinning has no limit of its own.
        """
        costs = {**_sleepers(spin, wake, wake_cost), "handoff": 1, "owner_runs": int(owner_runs)}
        return self._lock(name, shards, hold, handover, costs)

    def rwsem(
        self,
        name: str,
        *,
        hold: Delay,
        wake: Delay,
        spin: Delay = NO_TIME,
        wake_cost: Delay = NO_TIME,
        owner_runs: bool = False,
        shards: int = 1,
    ) -> Lock:
        """A lock that readers share; waiters sleep, writers may spin before it.

        ``owner_runs``: they spin only while the writer that owns it is on a CPU, as in ``mutex``.

        A reader comes beside others unless somebody sleeps for the lock; when it is passed on to a
        reader, all waiting readers get it, and ``wake_cost`` is paid for each. A free lock is taken
        by who comes first, reader or writer, until the first sleeper has slept for 4 ms
        (RWSEM_WAIT_TIMEOUT): then it is next. Source: kernel/locking/rwsem.c. There a writer spins for
        at most 10 to 25 us while readers hold the lock (rwsem_rspin_threshold()), and without a limit
        while a writer that runs does; ``spin`` is one limit for both.
        """
        costs = {**_sleepers(spin, wake, wake_cost), "handoff": 1, "owner_runs": int(owner_runs)}
        costs["patience_ps"] = RWSEM_WAIT_TIMEOUT.mean_ps
        return self._lock(name, shards, hold, NO_TIME, costs, shared=True)

    def lockref(
        self,
        name: str,
        *,
        hold: Delay,
        own: Delay,
        socket: Delay = NO_TIME,
        remote: Delay = NO_TIME,
        shards: int = 1,
    ) -> Lockref:
        """A reference count whose spin lock lies in the same word, for ``get_ref``.

        Its ``line`` costs as a ``cache_line``; its ``lock`` is a ``queued_lock`` that others may take
        (dentry->d_lock), which moves no line here. Source: lib/lockref.c.
        """
        line = self.cache_line(f"{name} count", own=own, socket=socket, remote=remote, shards=shards)
        return Lockref(line, self.queued_lock(f"{name} lock", hold=hold, shards=shards))

    def cache_line(
        self, name: str, *, own: Delay, socket: Delay = NO_TIME, remote: Delay = NO_TIME, shards: int = 1
    ) -> Line:
        """A cache line for atomic operations, which follow one another.

        One takes ``own`` if this CPU was the last to write it, ``socket`` or ``remote`` if another
        of the same or another socket was (not given: the nearer one's). Source: the MESI protocol;
        measured costs e.g. David, Guerraoui and Trigonakis, SOSP 2013.
        """
        own_ps = fixed_ps(own)
        near_ps = fixed_ps(socket) or own_ps
        costs = {"own_ps": own_ps, "socket_ps": near_ps, "remote_ps": fixed_ps(remote) or near_ps}
        costs["cpu"] = ANYWHERE
        return self._make("line", Line, name, shards, costs)

    def _lock(
        self,
        name: str,
        shards: int,
        hold: Delay,
        handover: Delay,
        costs: Mapping[str, int],
        *,
        shared: bool = False,
    ) -> Lock:
        check_delay(handover)
        if handover.kind not in (FIXED, EXPONENTIAL):
            raise BadInput(f"the hand-over of '{name}' is neither fixed nor exponential: use one of these")
        longest_ps = handover.mean_ps + costs.get("per_waiter_ps", 0) * self.threads
        if longest_ps > MAX_DELAY_PS:
            raise BadInput(
                f"the hand-over of '{name}' to {self.threads} waiters takes more than 10 s: make it shorter"
            )
        row = {
            "order": FIFO,
            "spin_ps": NEVER,
            "owner": NOBODY,
            "shared": int(shared),
            "histogram": len(self._made["lock"]),
            "handover_kind": handover.kind,
            "handover_ps": handover.mean_ps,
            **self._delay("hold", hold),
            **costs,
        }
        return self._make("lock", Lock, name, shards, row, shared=shared)


def _sleepers(spin: Delay, wake: Delay, wake_cost: Delay) -> dict[str, int]:
    """Waiters that spin for so long, then sleep; a sleeper may be overtaken."""
    times = {"spin_ps": fixed_ps(spin), "wake_ps": fixed_ps(wake), "wake_cost_ps": fixed_ps(wake_cost)}
    return {**times, "barging": SLEEPERS_OVERTAKEN}


MAX_SLOTS = 4096


class SharedKinds(Parts):
    """Makes them; a ``place`` is a thread's choice among shards."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._slots_a_block = 0
        self._places: list[ShardChoice] = []
        self._strides: list[int] = []
        self._variables: list[Variable | Tally] = []

    def bitmap(self, name: str, *, shards: int = 1) -> Bitmap:
        """A bitmap; claimed bits stay set. Sharded: each group has its own."""
        return self._make("bitmap", Bitmap, name, shards, {}, register=self._register())

    def slots(self, name: str, *, per_block: int, shards: int = 1) -> Slots:
        """Blocks (shards) of slots that are taken and freed (ext4's orphan file)."""
        whole_number(f"per_block of '{name}'", per_block, 1, MAX_SLOTS)
        self._slots_a_block = max(self._slots_a_block, per_block)
        costs = {"free": per_block, "per_block": per_block}
        return self._make("slots", Slots, name, shards, costs, register=self._register())

    def commit_gate(self, name: str, *, commit: Delay, entries: int = 0, interval: Delay = NO_TIME) -> Gate:
        """A journal's gate: after ``entries`` or ``interval`` it closes; all inside leave; commit.

        Who comes meanwhile sleeps until the commit is over. ``commit`` is that part of it in which no
        handle may start: jbd2's ends with T_FLUSH, before anything is written (fs/jbd2/commit.c;
        wait_transaction_locked()). 0 entries: only the interval closes it.
        """
        whole_number(f"entries of '{name}'", entries, 0)
        costs = {"limit": entries, "interval_ps": fixed_ps(interval), **self._delay("commit", commit)}
        return self._make("gate", Gate, name, 1, costs)

    def place(self, name: str, *, shards: int, stride: int = 1) -> ShardChoice:
        """A thread's own choice among shards; at first the one of its number."""
        whole_number(f"shards of place '{name}'", shards, 1, MAX_SHARDS)
        whole_number(f"stride of place '{name}'", stride, 1)
        place = ShardChoice(len(self._places), name, shards, self._register())
        self._places.append(place)
        self._strides.append(stride)
        return place

    def variable(self, name: str, *, start: Sequence[int] = (0,)) -> Variable:
        """Numbers that all threads read and write, one shard for each given at the ``start``."""
        for value in start:
            whole_number(f"the start of variable '{name}'", value, 0)
        whole_number(f"shards of variable '{name}'", len(start), 1, MAX_SHARDS)
        variable = Variable(self._cells(), name, len(start), tuple(start))
        self._variables.append(variable)
        return variable

    def counter(self, name: str, *, shards: int = 1) -> Tally:
        """Counts from 0, for ``every``; sharded: one for each CPU, group or object (this_cpu_inc())."""
        counter = Tally(self._cells(), name, whole_number(f"shards of '{name}'", shards, 1, MAX_SHARDS))
        self._variables.append(counter)
        return counter

    def _cells(self) -> int:
        return sum(one.shards for one in self._variables)
