# SPDX-License-Identifier: MIT
"""Random models from every primitive, for tests of what holds in any run."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from lockscale.sim.builder import Builder
from lockscale.sim.delays import Delay, empirical, exponential, gamma, jitter
from lockscale.sim.path import Path
from lockscale.sim.primitives import Lock, ShardChoice
from lockscale.sim.program import Program

SPIN_LOCKS = ("queued_lock", "cna_lock", "ticket_lock", "unfair_lock", "test_and_set_lock")
ALL_LOCKS = (*SPIN_LOCKS, "sleeping_lock", "mutex", "rwsem")
COSTS = {
    "queued_lock": ("handover", "remote"),
    "cna_lock": ("handover", "remote"),
    "ticket_lock": ("handover", "per_waiter", "remote"),
    "unfair_lock": ("handover",),
    "test_and_set_lock": ("handover", "per_waiter"),
    "sleeping_lock": ("wake", "wake_cost"),
    "mutex": ("wake", "wake_cost", "spin", "handover"),
    "rwsem": ("wake", "wake_cost", "spin"),
}
LOCK_STEPS = ("section", "trylock", "read section")
OTHER_STEPS = (
    *("spend", "sleep", "atomic", "cmpxchg", "claim", "slots"),
    *("sometimes", "every", "get_ref", "repeat", "pick"),
)


@dataclass
class Author:
    """Draws one model; locks are nested in the order in which they were made."""

    draw: st.DrawFn
    m: Builder
    scale: int
    locks: list[Lock] = field(default_factory=list)
    place: ShardChoice | None = None

    def time(self, least: int = 0) -> Delay:
        """A fixed time; on a coarse grid, so that many events fall on one instant."""
        return Delay(self.scale * self.draw(st.integers(least, 50)))

    def delay(self, least: int = 0) -> Delay:
        """A time of any distribution."""
        mean = self.time(least)
        makers = [
            lambda: mean,
            lambda: exponential(mean),
            lambda: gamma(mean, self.draw(st.sampled_from([0.3, 1.0, 4.0]))),
            lambda: jitter(mean, Delay(mean.mean_ps // 2)),
            lambda: empirical([mean, self.time(least), self.time(least)]),
        ]
        return self.draw(st.sampled_from(makers))()

    def make_lock(self, kind: str) -> None:
        costs: dict[str, Any] = {name: self.time() for name in COSTS[kind]}
        if kind == "sleeping_lock":
            costs["barging"] = self.draw(st.booleans())
        if kind in ("mutex", "rwsem"):
            costs["owner_runs"] = self.draw(st.booleans())
        if kind == "cna_lock":
            costs["in_a_row"] = self.draw(st.integers(0, 5))
        shards = self.place.shards if self.place and self.draw(st.booleans()) else 1
        name = f"{kind} {len(self.locks)}"
        self.locks.append(getattr(self.m, kind)(name, hold=self.delay(), shards=shards, **costs))

    def step(self, path: Path, first: int, depth: int) -> None:
        """One step, or a block of steps, that takes no lock before the ``first``."""
        free = self.locks[first:] if depth else []
        steps = [*OTHER_STEPS[: 6 if not depth else None], *(LOCK_STEPS if free else ())]
        if path.held:
            steps.remove("pick") if "pick" in steps else None
        name = self.draw(st.sampled_from(steps))
        if name in LOCK_STEPS:
            lock = self.draw(st.sampled_from(free))
            self.under(path, lock, name, depth)
        else:
            getattr(self, name)(path, first, depth)

    def under(self, path: Path, lock: Lock, name: str, depth: int) -> None:
        """A critical section."""
        at = self.place if lock.shards > 1 else None
        reads = name == "read section" and lock.shared
        if reads:
            path.read_lock(lock, at)
        elif name == "trylock":
            busy = path.label(f"busy {lock.name}")
            path.spend(self.delay(1))
            path.trylock(lock, busy, at, tries=self.draw(st.integers(0, 3)))
        else:
            path.lock(lock, at)
        for _ in range(self.draw(st.integers(0, 2))):
            self.step(path, self.locks.index(lock) + 1, depth - 1)
        (path.read_unlock if reads else path.unlock)(lock, at)

    def spend(self, path: Path, first: int, depth: int) -> None:
        path.spend(self.delay())

    def sleep(self, path: Path, first: int, depth: int) -> None:
        path.sleep(self.delay())

    def atomic(self, path: Path, first: int, depth: int) -> None:
        path.atomic(self.line())

    def cmpxchg(self, path: Path, first: int, depth: int) -> None:
        line = self.line()
        again = path.label("read again")
        path.read(line)
        path.spend(self.delay(1))
        path.cmpxchg(line)
        path.retry_if_lost(again)

    def claim(self, path: Path, first: int, depth: int) -> None:
        bitmap = self.m.bitmap(self.new("bitmap"))
        again = path.label("search again")
        path.find_zero(bitmap)
        path.spend(self.delay(1))
        path.claim(bitmap, search_again=self.draw(st.booleans()))
        path.retry_if_lost(again)

    def slots(self, path: Path, first: int, depth: int) -> None:
        slots = self.m.slots(self.new("slots"), per_block=64)
        path.reserve(slots)
        again = path.label("scan again")
        path.find_slot(slots, self.time(1))
        path.take_slot(slots)
        path.retry_if_lost(again)
        path.spend(self.delay())
        path.free_slot(slots)

    def sometimes(self, path: Path, first: int, depth: int) -> None:
        with path.sometimes(self.draw(st.floats(0, 1))):
            self.step(path, first, depth - 1)

    def every(self, path: Path, first: int, depth: int) -> None:
        with path.every(self.draw(st.integers(1, 4)), self.m.counter(self.new("counter"))):
            self.step(path, first, depth - 1)

    def get_ref(self, path: Path, first: int, depth: int) -> None:
        ref = self.m.lockref(self.new("ref"), hold=self.delay(), own=self.time(), remote=self.time())
        path.get_ref(ref)
        path.spend(self.delay())
        path.lock(ref.lock)  # so that others find it held
        path.unlock(ref.lock)

    def repeat(self, path: Path, first: int, depth: int) -> None:
        with path.repeat(self.draw(st.integers(1, 3))):
            self.step(path, first, depth - 1)

    def pick(self, path: Path, first: int, depth: int) -> None:
        if self.place:
            ways = (path.pick_own, path.pick_cpu, path.pick_next, path.pick_random)
            self.draw(st.sampled_from(ways))(self.place)

    def line(self) -> Any:
        return self.m.cache_line(self.new("line"), own=self.time(), socket=self.time(), remote=self.time())

    def new(self, kind: str) -> str:
        return f"{kind} {len(self.m._names)}"


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Up to 24 threads in one or two classes, up to 4 locks of any kind, CPUs for all or too few."""
    m = Builder(draw(st.sampled_from([1, 2, 3, 5, 9, 16])))
    author = Author(draw, m, draw(st.sampled_from([1, 1000])))
    cpus = draw(st.sampled_from([0, 0, 1, 2, 5]))
    m.machine(sockets=draw(st.integers(1, 2)), cpus=cpus, time_slice=author.time(5), switch=author.time())
    if draw(st.booleans()):
        author.place = m.place("group", shards=draw(st.integers(2, 4)))
    for kind in draw(st.lists(st.sampled_from(ALL_LOCKS), min_size=1, max_size=4)):
        author.make_lock(kind)
    gate = m.commit_gate("gate", commit=author.delay(), entries=draw(st.integers(1, 9)))
    for k in range(draw(st.integers(1, 2))):
        path = m.path(f"path {k}", threads=draw(st.integers(1, 8)) if k else None, start=author.delay())
        gated = draw(st.booleans())
        if gated:
            path.enter(gate)
        path.spend(author.delay(1))
        for lock in author.locks:
            author.under(path, lock, draw(st.sampled_from(LOCK_STEPS)), 3)
            author.step(path, 0, 3)
        if gated:
            path.leave(gate)
    return m.compile()


@st.composite
def unnested_spin_locks(draw: st.DrawFn) -> Program:
    """Spin locks only, one at a time, with a CPU for each thread."""
    m = Builder(draw(st.integers(1, 16)))
    author = Author(draw, m, draw(st.sampled_from([1, 1000])))
    path = m.path("path")
    path.spend(author.delay(1))
    for kind in draw(st.lists(st.sampled_from(SPIN_LOCKS), min_size=1, max_size=4)):
        author.make_lock(kind)
        path.lock(author.locks[-1])
        path.spend(author.delay())
        path.unlock(author.locks[-1])
    return m.compile()
