# SPDX-License-Identifier: MIT
"""What threads share without holding a lock: cache lines, bitmaps, slots, a journal's gate."""

from collections.abc import Sequence

from lockscale.sim.delays import NO_TIME, Delay
from lockscale.sim.engine.layout import ANYWHERE
from lockscale.sim.parts import MAX_SHARDS, Parts, fixed_ps
from lockscale.sim.primitives import Bitmap, Gate, Line, Place, Slots, Variable, whole_number

MAX_SLOTS = 4096


class SharedKinds(Parts):
    """Makes them; a ``place`` is a thread's choice among shards."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._slots_a_block = 0
        self._places: list[Place] = []
        self._strides: list[int] = []
        self._variables: list[Variable] = []

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
            "own_ps": fixed_ps(own),
            "socket_ps": fixed_ps(near),
            "remote_ps": fixed_ps(remote if remote.mean_ps else near),
            "cpu": ANYWHERE,
        }
        return self._make("line", Line, name, shards, costs)

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

        Who comes meanwhile sleeps until the commit is over (fs/jbd2/transaction.c,
        wait_transaction_locked()). 0 entries: only the interval closes it.
        """
        whole_number(f"entries of '{name}'", entries, 0)
        costs = {"limit": entries, "interval_ps": fixed_ps(interval), **self._delay("commit", commit)}
        return self._make("gate", Gate, name, 1, costs)

    def place(self, name: str, *, shards: int, stride: int = 1) -> Place:
        """A thread's own choice among shards; at first the one of its number."""
        whole_number(f"shards of place '{name}'", shards, 1, MAX_SHARDS)
        whole_number(f"stride of place '{name}'", stride, 1)
        place = Place(len(self._places), name, shards, self._register())
        self._places.append(place)
        self._strides.append(stride)
        return place

    def variable(self, name: str, *, start: Sequence[int] = (0,)) -> Variable:
        """Numbers that all threads read and write, one shard for each given at the ``start``."""
        for value in start:
            whole_number(f"the start of variable '{name}'", value, 0)
        whole_number(f"shards of variable '{name}'", len(start), 1, MAX_SHARDS)
        first = sum(v.shards for v in self._variables)
        self._variables.append(Variable(first, name, len(start), tuple(start)))
        return self._variables[-1]
