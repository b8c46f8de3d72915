# SPDX-License-Identifier: MIT
"""Who holds which lock, from a run's events.

Which locks are held at a step is written in the path: its branches keep the locks that are held
(``Path`` refuses others). An event says how many locks its thread holds, so whether the one that it
asks for is among them, and of which shard.
"""

from typing import Any, NamedTuple

import numpy as np

from lockscale.sim.engine.layout import (
    HOLDING,
    LOCK,
    READ_LOCK,
    READ_UNLOCK,
    SPINNING,
    TRYLOCK,
    UNLOCK,
)
from lockscale.sim.program import Program


class Run(NamedTuple):
    """Events [first, last) of one thread throughout which it holds a lock; ``record``: its shard's.

    -1 where the hold is older than the trace and no event tells the shard.
    """

    lock: str
    record: int
    thread: int
    read: bool
    first: int
    last: int


def hold_runs(program: Program, by_thread: Any) -> list[Run]:
    """All holds of a recorded run (``layout.EVENT``, by thread, then time), by lock and thread."""
    table = taken_at(program)
    asks = np.where(np.isin(program.ops["code"], (LOCK, TRYLOCK, READ_LOCK)), _lock_of(program), -1)
    asked = asks[by_thread["op"]]
    new_thread = np.append(True, np.diff(by_thread["thread"]) != 0)
    moved = np.append(True, np.diff(by_thread["op"]) != 0) | new_thread
    got = by_thread["held"] > (table >= 0).sum(axis=1)[by_thread["op"]]
    again = (by_thread["state"] == HOLDING) & (moved | (np.append(0, by_thread["state"][:-1]) < SPINNING))
    runs = []
    for lock, handle in enumerate(program.names["lock"]):
        at = table[by_thread["op"], lock]
        takes = got & (asked == lock)
        has = takes | (at >= 0)
        begins = has & (new_thread | ~np.append(False, has[:-1]) | (takes & again))
        first = np.flatnonzero(begins)
        ends = np.append(np.flatnonzero(begins | ~has | new_thread), len(has))
        last = ends[np.searchsorted(ends, first, "right")]
        op = np.where(takes, by_thread["op"], at)[first]
        record = _records(program, by_thread, new_thread, first, last, op) if handle.shards > 1 else None
        for k, (start, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            which = handle.first if record is None else int(record[k])
            name = f"{handle.name}[?]" if which < 0 else program.primitive_at("lock", which)
            read = program.ops["code"][op[k]] == READ_LOCK
            runs.append(Run(name, which, int(by_thread["thread"][start]), bool(read), start, end))
    return runs


def taken_at(program: Program) -> Any:
    """(ops, locks): the op that took each lock which is held after the op, -1 where it is not held.

    Of an op that asks for a lock: what is held before, since it may have to wait.
    """
    table = np.full((len(program.ops), len(program.names["lock"])), -1)
    held: dict[int, int] = {}
    for k, (code, lock) in enumerate(zip(program.ops["code"], _lock_of(program), strict=True)):
        if code in (UNLOCK, READ_UNLOCK):
            del held[lock]
        for other, op in held.items():
            table[k, other] = op
        if code in (LOCK, TRYLOCK, READ_LOCK):
            held[lock] = k
    return table


def _lock_of(program: Program) -> Any:
    """The lock of each op that is about one."""
    first = [handle.first for handle in program.names["lock"]]
    return np.searchsorted(first, program.ops["operand"], "right") - 1


def _records(program: Program, by_thread: Any, new_thread: Any, first: Any, last: Any, op: Any) -> Any:
    """The record of the shard that each run's ``op`` took, or -1.

    The thread's register of the op's place says it; any event at a step with that place tells it.
    """
    events = len(by_thread)
    since = np.maximum.accumulate(np.where(new_thread, np.arange(events), 0))[first]
    offset = by_thread["operand"] - program.ops["operand"][by_thread["op"]]
    at_place, of_event = program.ops["place"][op], program.ops["place"][by_thread["op"]]
    found = np.where(at_place == 0, program.ops["operand"][op], -1)
    for place in set(at_place.tolist()) - {0}:
        tells = np.flatnonzero(of_event == place)
        before = np.append(tells, -1)[np.searchsorted(tells, first, "right") - 1]
        after = np.append(tells, events)[np.searchsorted(tells, first)]
        at = np.where(before >= since, before, after)
        told = (at_place == place) & (at < last)
        found[told] = program.ops["operand"][op[told]] + offset[at[told]]
    return found
