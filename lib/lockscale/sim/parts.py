# SPDX-License-Identifier: MIT
"""What a model has been given so far: its primitives' records, registers and sampled times."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from lockscale.errors import BadInput
from lockscale.sim.delays import PS_PER_US, Delay
from lockscale.sim.engine.layout import FIXED
from lockscale.sim.primitives import Primitive, whole_number
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
        raise BadInput(f"{delay!r} is no delay: write us(5.0), ns(250) or exponential(us(2))")
