# SPDX-License-Identifier: MIT
"""One replication of a program: run the engine, or say in a sentence why it cannot be run.

Threads that wait for one another for ever while others go on are found when a run is over. A thread
waits for a lock until its owner, or all its readers, have released it; at a gate that closes, until all
that are inside have left. Who is left when all are taken out, again and again, whom no waiting thread
keeps waiting, waits in a circle, or for one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lockscale.errors import BadInput
from lockscale.sim.engine.layout import (
    DEADLOCK,
    FINISHED,
    FRUITLESS,
    LOCKS_CROSS,
    NO_PROGRESS,
    NO_TIME_PASSES,
    NOBODY,
    NOT_OWNER,
    SPINNING,
    TOO_LATE,
)
from lockscale.sim.engine.world import RETRIES, TRACED, TRANSITIONS, World
from lockscale.sim.primitives import whole_number
from lockscale.sim.program import Program

OPERATIONS = 20_000
"""Those that are counted by default."""


def deadlocked(program: Program, world: Any) -> tuple[int, str] | None:
    """One thread that waits for ever and the lock or gate it waits for, or None."""
    blocked = {int(t): _blockers(program, world, int(t)) for t in _waiting(world)}
    while free := [t for t, by in blocked.items() if not any(b in blocked for b in by)]:
        for thread in free:
            del blocked[thread]
    if not blocked:
        return None
    thread = min(blocked)
    return thread, _waited_for(program, world, thread)


def _waiting(world: Any) -> Any:
    threads = world.threads
    return np.flatnonzero((threads["lock"] != NOBODY) | (threads["gate"] != NOBODY))


def _waited_for(program: Program, world: Any, thread: int) -> str:
    kind = "lock" if world.threads["lock"][thread] != NOBODY else "gate"
    return program.primitive_at(kind, int(world.threads[kind][thread]))


def _blockers(program: Program, world: Any, thread: int) -> set[int]:
    lock = int(world.threads["lock"][thread])
    if lock != NOBODY:
        owner = int(world.locks["owner"][lock])
        return {owner} if owner != NOBODY else _holders(program, world, "lock", lock) - {thread}
    gate = int(world.threads["gate"][thread])
    inside = _holders(program, world, "gate", gate) if world.gates["closing"][gate] else set()
    return inside - {thread}


def _holders(program: Program, world: Any, kind: str, record: int) -> set[int]:
    """The waiting threads that hold the record, by what their path holds at their step."""
    found = set()
    for thread in map(int, _waiting(world)):
        asked = _waited_for(program, world, thread)
        for name, register in program.held[int(world.threads["at"][thread]) - 1]:
            shard = int(world.registers[thread, register])
            at = program.record_of(kind, name, shard)
            if at == record and program.primitive_at(kind, record) != asked:
                found.add(thread)
    return found


MAX_THREADS = 4096
MAX_OPERATIONS = 10**8
BATCHES = 20


@dataclass(frozen=True)
class Counts:
    """The counted window of one replication, all whole numbers; times in picoseconds.

    ``world`` has what was counted of each primitive (records of ``layout``); ``batches_ps`` (20,)
    is how long each twentieth of the operations took.
    """

    operations: int
    retries: int
    window_ps: int
    transitions: int
    world: World
    batches_ps: Any

    @property
    def events(self) -> Any:
        """The trace, in the order of time (``layout.EVENT``)."""
        return self.world.events[: self.world.clock[TRACED]]


def warm_up_operations(threads: int, operations: int) -> int:
    """The warm-up rule: a quarter of the counted operations, at least 20 a thread, are cut off."""
    return max(operations // 4, 20 * threads)


def replicate(
    program: Program,
    *,
    seed: int,
    replication: int,
    operations: int,
    warm_up: int | None = None,
    start_ps: Any = None,
    trace_events: int = 0,
    trace_ps: tuple[int, int] = (0, 0),
) -> Counts:
    """One replication; ``start_ps`` (threads,) is when each thread starts, by default all at 0.

    ``trace_ps``: from and to, counted from the end of the warm-up, for up to ``trace_events``.
    Raises BadInput for numbers out of range and for a program that cannot go on.
    """
    threads = len(program.classes())
    whole_number("threads", program.threads, 1, MAX_THREADS)
    whole_number("threads with those added by paths", threads, 1, MAX_THREADS)
    whole_number("operations", operations, 1, MAX_OPERATIONS)
    whole_number("seed", seed, 0, 2**63 - 1)
    if warm_up is None:
        warm_up = warm_up_operations(program.threads, operations)
    whole_number("warm_up", warm_up, 0, MAX_OPERATIONS)
    # imported here because listing and checking models needs no compiler
    from lockscale.sim.engine.loops import run

    world = program.world(batches=BATCHES, trace_events=trace_events, trace_ps=trace_ps)
    start = np.zeros(threads, np.int64) if start_ps is None else np.asarray(start_ps, np.int64)
    if start.shape != (threads,) or start.min() < 0:
        raise BadInput(
            f"start_ps has shape {start.shape}: give {threads} times of at least 0, one per thread"
        )
    status, thread, step, window_ps = run(
        program.structure, world, seed, replication, start, warm_up, operations
    )
    if status != FINISHED:
        raise BadInput(_why(program, world, status, thread, step))
    if stuck := deadlocked(program, world):
        raise BadInput(_circle(program, world, *stuck))
    if window_ps == 0:
        raise BadInput("all counted operations ended at the same instant: give their steps a time")
    return Counts(
        operations=operations,
        retries=int(world.clock[RETRIES]),
        window_ps=int(window_ps),
        transitions=int(world.clock[TRANSITIONS]),
        world=world,
        batches_ps=np.diff(world.marks_ps),
    )


def _why(program: Program, world: World, status: int, thread: int, step: int) -> str:
    if status == DEADLOCK:
        return _stuck(program, world)
    lock = program.primitive_at("lock", _record(program, world, thread, step))
    lost = f"releases lock '{lock}', which this thread does not hold"
    why = {
        LOCKS_CROSS: f"waits for lock '{lock}', whose holder waits for a lock of this thread: "
        "deadlock; take the locks in one order",
        TOO_LATE: "simulated time runs beyond what 64 bits hold: use shorter times",
        NO_TIME_PASSES: "steps repeat while no time passes: give one of them a time",
        NO_PROGRESS: f"no operation is completed in {FRUITLESS} steps: the retries feed themselves",
        NOT_OWNER: lost if program.is_unlock(step) else "frees a slot that is not taken",
    }
    return f"thread {thread} at step '{program.steps[step]}': {why[status]}"


def _stuck(program: Program, world: World) -> str:
    """Nothing is to come: the first thread that waits for a lock, or for a gate."""
    threads = world.threads
    for kind in ("lock", "gate"):
        waiting = np.flatnonzero(threads[kind] != NOBODY)
        if len(waiting):
            thread = int(waiting[0])
            name = program.primitive_at(kind, int(threads[kind][thread]))
            verb = "spins" if threads["state"][thread] == SPINNING else "sleeps"
            return (
                f"thread {thread} at step '{program.steps[int(threads['at'][thread]) - 1]}': it {verb} for "
                f"{kind} '{name}' and no thread is left to release it: deadlock"
            )
    return "no thread has anything to do: give the model's paths some threads"


def _circle(program: Program, world: World, thread: int, name: str) -> str:
    step = program.steps[int(world.threads["at"][thread]) - 1]
    return (
        f"thread {thread} at step '{step}' waits for '{name}' for ever while others run: its holders wait "
        f"for what this thread holds; take locks and enter gates in one order"
    )


def _record(program: Program, world: World, thread: int, step: int) -> int:
    op = program.ops[step]
    return int(op["operand"] + world.registers[thread, op["place"]])


def bucket_edge_ns(index: int) -> float:
    """The upper edge of a histogram bucket (see ``world.bucket``), ns."""
    if index == 0:
        return 0.0
    exponent, quarter = divmod(index - 1, 4)
    return float(2**exponent * (1 + (quarter + 1) / 4) / 1000)
