# SPDX-License-Identifier: MIT
"""The rows of a path (``layout.OP``), and what is refused where it is written: with step and lock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from lockscale.errors import BadInput
from lockscale.sim.delays import NO_TIME, PS_PER_US, Delay
from lockscale.sim.engine import op_codes as op
from lockscale.sim.engine.layout import FIXED
from lockscale.sim.primitives import Lock, Primitive, ShardChoice, Variable, whole_number
from lockscale.sim.program import records

MAX_SHARDS = 4096
Made = TypeVar("Made", bound=Primitive)


class Parts:
    """Primitives by kind, each with the costs of its record."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._made: dict[str, list[tuple[Primitive, Mapping[str, Any]]]] = {
            kind: [] for kind in ("lock", "line", "bitmap", "slots", "gate")
        }
        self._names: set[str] = set()
        self._registers = 1  # register 0 is always 0: the first shard
        self._samples: list[int] = []

    def _records(self, kind: str, dtype: np.dtype[np.void]) -> Any:
        return records(dtype, [row for p, row in self._made[kind] for _ in range(p.shards)])

    def _make(
        self, kind: str, made: type[Made], name: str, shards: int, row: Mapping[str, Any], **more: Any
    ) -> Made:
        if name in self._names:
            raise BadInput(f"{kind} '{name}' is defined twice: give each primitive its own name")
        self._names.add(name)
        first = sum(p.shards for p, _ in self._made[kind])
        handle = made(first, name, whole_number(f"shards of '{name}'", shards, 1, MAX_SHARDS), **more)
        self._made[kind].append((handle, row))
        return handle

    def _register(self) -> int:
        self._registers += 1
        return self._registers - 1

    def _delay(self, prefix: str, delay: Delay) -> dict[str, Any]:
        """A delay's columns of a record, their names with the prefix."""
        check_delay(delay)
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


def fixed_ps(delay: Delay) -> int:
    """The time of a cost that may not vary."""
    check_delay(delay)
    if delay.kind != FIXED:
        raise BadInput(
            f"a cost of mean {delay.mean_ps / PS_PER_US} us is not fixed: only holds and steps vary"
        )
    return delay.mean_ps


def check_delay(delay: object) -> None:
    """Raises BadInput for a bare number, whose unit nobody could know."""
    if not isinstance(delay, Delay):
        raise BadInput(f"{delay!r} is not a delay: write us(5.0), ns(250) or exponential(us(2))")


@dataclass(frozen=True)
class Label:
    """A place in a path to which it may return; ``held`` are the locks held and gates entered there."""

    name: str
    step: int
    held: frozenset[str]
    path: str


@dataclass
class Steps:
    """One path's rows, and what the path holds at the step that is written next.

    ``delay_columns`` gives a delay's columns of a row, ``register`` a new register of the threads,
    ``known`` whether a primitive is of this model, ``tracer`` what a tracer costs at a step of this
    name. ``held``: the locks that are held and the gates entered, each with the place of its shard;
    ``held_at``: so at each step, with the register of the shard; ``blocks``: those that are opened
    and not yet used by a ``with``.
    """

    name: str
    delay_columns: Callable[[Delay], dict[str, Any]]
    register: Callable[[], int]
    known: Callable[[object], bool]
    tracer: Callable[[str], Delay]
    rows: list[dict[str, Any]] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    held: dict[str, ShardChoice | None] = field(default_factory=dict)
    held_at: list[tuple[tuple[str, int], ...]] = field(default_factory=list)
    moved: list[tuple[Variable, ShardChoice, str]] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    memories: dict[str, int] = field(default_factory=dict)

    def _take(self, lock: Lock, at: ShardChoice | None) -> None:
        self._of(Lock, lock)
        if lock.name in self.held:
            raise BadInput(f"{self._where()} locks '{lock.name}', which the path already holds")
        self.held[lock.name] = at

    def _give(self, lock: Lock, at: ShardChoice | None) -> None:
        self._of(Lock, lock)
        if lock.name not in self.held:
            raise BadInput(f"{self._where()} unlocks '{lock.name}', which the path does not hold")
        if self.held[lock.name] != at:
            raise BadInput(f"{self._where()} unlocks '{lock.name}' at another shard than the one it locked")
        del self.held[lock.name]

    def _moves(self, place: ShardChoice) -> None:
        """The thread chooses another shard: refused while it holds a lock of the old one."""
        self._of(ShardChoice, place)
        for name, at in self.held.items():
            if at == place:
                raise BadInput(
                    f"{self._where()} moves place '{place.name}', where '{name}' is held: use another place"
                )

    def _of(self, kind: type, given: object) -> None:
        """Refuses what is of another kind, or of another model."""
        if not isinstance(given, kind) or not self.known(given):
            what = f"'{given.name}'" if isinstance(given, Primitive | ShardChoice) else repr(given)
            raise BadInput(
                f"{self._where()} needs a {kind.__name__.lower()} of this model but has {what}: make one "
                f"on the builder"
            )

    def _same_locks(self, label: Label) -> None:
        if not isinstance(label, Label) or label.path != self.name:
            raise BadInput(f"{self._where()} goes to {label!r}: give a label of this path")
        if label.held != set(self.held):
            raise BadInput(f"{self._where()} goes back to '{label.name}' with other locks held")

    def _add(
        self,
        step: str,
        code: int,
        on: Primitive | None = None,
        at: ShardChoice | None = None,
        *,
        delay: Delay = NO_TIME,
        **columns: Any,
    ) -> None:
        if at is not None:
            self._of(ShardChoice, at)
        if on is not None and at is not None and at.shards != on.shards:
            raise BadInput(
                f"{self._where()} picks among {at.shards} shards of '{on.name}', which has {on.shards}"
            )
        extra = self.tracer(step)
        if extra.mean_ps:
            self._row(f"tracer at {step}", {"code": op.SPEND, **self.delay_columns(extra)})
        where = {"operand": on.first if on else 0, "place": at.register if at else 0}
        self._row(step, {"code": code, **where, **self.delay_columns(delay), **columns})

    def _row(self, step: str, row: dict[str, Any]) -> None:
        self.rows.append(row)
        places = ((name, at.register if at else 0) for name, at in self.held.items())
        self.held_at.append(tuple(places))
        self.steps.append(step)

    def _where(self) -> str:
        return f"step {len(self.rows) + 1} of path '{self.name}'"


def check_end(path: Steps) -> None:
    """Raises BadInput if the path is empty, leaves something held or a block unused."""
    if not path.rows:
        raise BadInput(f"path '{path.name}' has no steps: write one, or leave the path out")
    if path.held:
        raise BadInput(f"path '{path.name}' ends holding {sorted(path.held)}: unlock or leave it")
    if unused := [block for block in path.blocks if block]:
        raise BadInput(f"{unused[0]} has no steps inside: write it in a with statement")
