# SPDX-License-Identifier: MIT
"""A compiled model for a number of threads, and the fresh world of one run of it."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lockscale.sim.engine.layout import BUCKETS, CPU, EVENT, NEVER, NOBODY, SLEEPING, THREAD
from lockscale.sim.engine.op_codes import READ_UNLOCK, UNLOCK
from lockscale.sim.engine.world import BITS, SLICE_PS, SWITCH_PS, TRACE_FROM_PS, TRACE_TO_PS, World, tree_size
from lockscale.sim.primitives import Primitive

if TYPE_CHECKING:
    from lockscale.sim.engine.specialise import Structure


@dataclass(frozen=True)
class CpuTopology:
    """Sockets and CPUs; 0 CPUs: one for each thread."""

    sockets: int
    cpus: int
    slice_ps: int
    switch_ps: int


@dataclass(frozen=True)
class Program:
    """What the engine runs: tables of ``layout``, one row an op, a shard of a primitive, a path.

    ``steps`` names each op; ``names`` has the handles of each kind (lock, line, bitmap, slots, gate).
    ``held``: of each op, the locks held and gates entered, with the register of the shard;
    ``variables``: (shards of all,) what each holds at the start.
    """

    threads: int
    ops: Any
    locks: Any
    lines: Any
    bitmaps: Any
    slots: Any
    gates: Any
    places: Any
    paths: Any
    samples: Any
    registers: int
    variables: Any
    slots_a_block: int
    machine: CpuTopology
    steps: tuple[str, ...]
    held: tuple[tuple[tuple[str, int], ...], ...]
    names: Mapping[str, tuple[Primitive, ...]]
    path_names: tuple[str, ...]

    @functools.cached_property
    def structure(self) -> "Structure":
        """What a loop of its own is written for (``engine.loops``)."""
        from lockscale.sim.engine.specialise import structure_of

        return structure_of(self.world())

    def classes(self) -> list[int]:
        """The path of each thread: by share, the largest remainders first; added threads last."""
        added = [int(n) for n in self.paths["threads"]]
        shares = np.where(self.paths["threads"] < 0, self.paths["share"], 0.0)
        exact = self.threads * shares / max(float(shares.sum()), 1e-300)
        counts = np.floor(exact).astype(int)
        missing = (self.threads if shares.sum() > 0 else 0) - int(counts.sum())
        for k in np.argsort(counts - exact, kind="stable")[:missing]:
            counts[k] += 1
        dealt = [k for k, n in enumerate(counts) for _ in range(int(n))]
        return dealt + [k for k, n in enumerate(added) for _ in range(max(0, n))]

    def primitive_at(self, kind: str, record: int) -> str:
        """The name of the primitive to which a record belongs, with its shard if there are more."""
        for p in self.names[kind]:
            if p.first <= record < p.first + p.shards:
                return p.name if p.shards == 1 else f"{p.name}[{record - p.first}]"
        return "none"

    def record_of(self, kind: str, name: str, shard: int) -> int:
        """The record of a primitive's shard, or -1 if there is none of this kind and name."""
        return next((p.first + shard for p in self.names[kind] if p.name == name), -1)

    def is_unlock(self, step: int) -> bool:
        """Whether the op releases a lock."""
        return self.ops["code"][step] in (UNLOCK, READ_UNLOCK)

    def world(self, *, batches: int = 1, trace_events: int = 0, trace_ps: tuple[int, int] = (0, 0)) -> World:
        """Fresh state for one run; ``trace_ps``: what to trace, counted from the end of the warm-up."""
        threads = thread_records(self)
        n = len(threads)
        ring = 1 << max(0, (n - 1).bit_length())
        cpus = np.zeros(self.machine.cpus, CPU)
        cpus["running"] = NOBODY
        clock = np.zeros(8, np.int64)
        clock[BITS] = (n - 1).bit_length()
        clock[SLICE_PS], clock[SWITCH_PS] = self.machine.slice_ps, self.machine.switch_ps
        clock[TRACE_FROM_PS], clock[TRACE_TO_PS] = trace_ps
        registers = np.zeros((n, self.registers), np.int64)
        for place in self.places:
            registers[:, place["register"]] = np.arange(n) % place["shards"]
        return World(
            ops=self.ops.copy(),
            locks=self.locks.copy(),
            lines=self.lines.copy(),
            bitmaps=self.bitmaps.copy(),
            slots=self.slots.copy(),
            gates=self.gates.copy(),
            places=self.places,
            paths=self.paths.copy(),
            threads=threads,
            cpus=cpus,
            tree=np.full(tree_size(n), NEVER, np.int64),
            registers=registers,
            shared=self.variables.copy(),
            samples=self.samples,
            slot_taken=np.zeros((len(self.slots), self.slots_a_block), np.uint8),
            spin_queue=np.empty((len(self.locks), ring), np.uintp),
            sleep_queue=np.empty((len(self.locks), ring), np.uintp),
            gate_queue=np.empty((len(self.gates), ring), np.uintp),
            ready_queue=np.empty((len(cpus), ring), np.uintp),
            histograms=np.zeros((len(self.names["lock"]), 2, BUCKETS), np.int64),
            marks_ps=np.zeros(batches + 1, np.int64),
            events=np.zeros(trace_events, EVENT),
            clock=clock,
        )


def thread_records(program: Program) -> Any:
    """One record a thread, at the start of its path, asleep."""
    classes = program.classes()
    threads = np.zeros(len(classes), THREAD)
    number = np.arange(len(classes))
    machine = program.machine
    threads["path"] = classes
    for name in ("first", "counted"):
        threads[name] = program.paths[name][classes]
    threads["at"] = threads["first"]
    threads["cpu"] = number % machine.cpus if machine.cpus else number
    threads["socket"] = threads["cpu"] % machine.sockets
    threads["state"] = SLEEPING
    for name in ("lock", "line", "gate"):
        threads[name] = NOBODY
    return threads


def records(dtype: np.dtype[np.void], rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows of named columns as records; what a row does not name is 0."""
    table = np.zeros(len(rows), dtype)
    for k, row in enumerate(rows):
        for name, value in row.items():
            table[name][k] = value
    return table
