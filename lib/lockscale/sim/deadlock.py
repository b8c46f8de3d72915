# SPDX-License-Identifier: MIT
"""Threads that wait for one another for ever while others go on: found when a run is over.

A thread waits for a lock until its owner, or all its readers, have released it; at a gate that
closes, until all that are inside have left. Who is left when all are taken out, again and again,
whom no waiting thread keeps waiting, waits in a circle, or for one.
"""

from typing import Any

import numpy as np

from lockscale.sim.engine.layout import NOBODY
from lockscale.sim.program import Program


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
