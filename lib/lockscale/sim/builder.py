# SPDX-License-Identifier: MIT
"""What a model function writes on: its primitives, its CPUs, its paths."""

import functools
from collections.abc import Collection
from typing import Any

import numpy as np

from lockscale.errors import BadInput
from lockscale.sim.delays import NO_TIME, Delay
from lockscale.sim.engine.layout import BITMAP, GATE, LINE, LOCK_RECORD, OP, PATH, PLACE, SLOTS
from lockscale.sim.engine.op_codes import DONE
from lockscale.sim.lock_kinds import LockKinds, SharedKinds
from lockscale.sim.path import Path
from lockscale.sim.primitives import Variable, whole_number
from lockscale.sim.program import CpuTopology, Program, records
from lockscale.sim.steps import check_delay, check_end, fixed_ps

MAX_CPUS = 4096


class Builder(LockKinds, SharedKinds):
    """Makes a model's primitives and paths for a number of threads, and compiles them."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._paths: list[tuple[Path, dict[str, Any]]] = []
        self._machine = CpuTopology(sockets=1, cpus=0, slice_ps=0, switch_ps=0)
        self._tracer: tuple[Delay, frozenset[str]] = (NO_TIME, frozenset())

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
        whole_number("sockets", sockets, 1, MAX_CPUS)
        whole_number("cpus", cpus, 0, MAX_CPUS)
        slice_ps = fixed_ps(time_slice)
        if cpus and not slice_ps:
            raise BadInput("a machine whose CPUs are shared needs a time slice: give time_slice=ms(3)")
        self._machine = CpuTopology(sockets, cpus, slice_ps, fixed_ps(switch))

    def tracer(self, cost: Delay, functions: Collection[str]) -> None:
        """What a tracer adds before each step named so; say it before the paths are written."""
        check_delay(cost)
        if isinstance(functions, str) or self._paths:
            raise BadInput(
                "m.tracer(cost, [names of steps]) has to come before the paths and takes a list of step names"
            )
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
        if not 0 <= share <= 1e9:
            raise BadInput(f"path '{name}' has a share of {share}: give 0 or more")
        if threads is not None:
            whole_number(f"threads of path '{name}'", threads, 0, MAX_CPUS)
        delay = functools.partial(self._delay, "")
        path = Path(name, delay, self._register, self._knows, self._traced)
        row = {"share": share, "threads": -1 if threads is None else threads, "counted": int(counted)}
        self._paths.append((path, {**row, **self._delay("start", start)}))
        return path

    def compile(self) -> Program:
        """The op table; raises BadInput for a path that is empty or ends with a lock held."""
        if not any(path.rows for path, _ in self._paths):
            raise BadInput("the model has no steps: write at least one on m.path(...)")
        if not any(row["threads"] < 0 and row["share"] > 0 for _, row in self._paths):
            raise BadInput(
                "no path shares the model's threads: leave out threads= of at least one path, and give it a "
                "share above 0"
            )
        self._check_moved_shards()
        rows: list[dict[str, Any]] = []
        steps: list[str] = []
        held: list[tuple[tuple[str, int], ...]] = []
        paths = []
        for path, costs in self._paths:
            check_end(path)
            paths.append({"first": len(rows), **costs})
            rows += [{**row, "target": row.get("target", 0) + len(rows)} for row in path.rows]
            rows.append({"code": DONE})
            steps += [*path.steps, "done"]
            held += [*path.held_at, ()]
        if unmet := sorted(self._tracer[1].difference(steps)):
            raise BadInput(f"the tracer is on {unmet[0]!r}, but there is no such step: name a step of a path")
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
            variables=np.array(self._starts(), np.int64),
            slots_a_block=self._slots_a_block,
            machine=self._machine,
            steps=tuple(steps),
            held=tuple(held),
            names={kind: tuple(p for p, _ in made) for kind, made in self._made.items()},
            path_names=tuple(path.name for path, _ in self._paths),
        )

    def _starts(self) -> list[int]:
        """What is in each variable's and counter's cells at first."""
        starts = (one.start if isinstance(one, Variable) else (0,) * one.shards for one in self._variables)
        return [n for start in starts for n in start]

    def _knows(self, given: object) -> bool:
        """Whether it was made on this builder."""
        made = [p for kind in self._made.values() for p, _ in kind]
        return any(given is mine for mine in (*made, *self._places, *self._variables))

    def _check_moved_shards(self) -> None:
        """A shard number that is stored may only be loaded where there are as many shards."""
        moved = [one for path, _ in self._paths for one in path.moved]
        for variable, place, how in moved:
            stored = [p.shards for v, p, what in moved if v == variable and what == "store"]
            stored.append(max(variable.start) + 1)
            if how == "load" and max(stored) > place.shards:
                raise BadInput(
                    f"variable '{variable.name}' is stored from {max(stored)} shards and loaded into place "
                    f"'{place.name}' of {place.shards}: give both as many"
                )

    def _traced(self, step: str) -> Delay:
        cost, functions = self._tracer
        return cost if step in functions else NO_TIME
