# SPDX-License-Identifier: MIT
"""One model for several columns at once: some parameters are the same in all, the rest each its own.

Two arms of one kernel on one machine differ in one thing. Fitted at once with the other parameters
shared, each column says what the other cannot: one pays for the knee, one for the slope before it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.model import Box, FloatArray, LawParameter, QueueingModel
from lockscale.queueing.points import Points


@dataclass(frozen=True)
class Shared:
    """`model` in every one of `columns`; a parameter p not in `share` is p[column] for each."""

    model: QueueingModel
    columns: tuple[str, ...]
    share: frozenset[str]

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def parameters(self) -> tuple[LawParameter, ...]:
        return tuple(
            replace(p, name=name)
            for p in self.model.parameters
            for name in dict.fromkeys(self.name_in(k, p.name) for k in range(len(self.columns)))
        )

    @property
    def broadcasts(self) -> bool:
        return bool(getattr(self.model, "broadcasts", False))

    def of_column(self, k: int, params: Mapping[str, float]) -> dict[str, float]:
        """The parameters that `model` has in column k."""
        return {p.name: params[self.name_in(k, p.name)] for p in self.model.parameters}

    def name_in(self, k: int, name: str) -> str:
        """What a parameter of `model` is called here for column k."""
        return name if name in self.share else f"{name}[{self.columns[k]}]"

    def has_own(self, k: int, fixed: Mapping[str, float]) -> bool:
        """Whether a parameter of column k alone is to be fitted."""
        own = [p.name for p in self.model.parameters if p.name not in self.share]
        return any(self.name_in(k, name) not in fixed for name in own)

    def rate(self, threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
        """Always BadInput: which column?"""
        raise self._which()

    def search_box(self, threads: FloatArray, rates: FloatArray) -> Box:
        """Likewise; `box_of` is the one of all columns."""
        raise self._which()

    def _which(self) -> BadInput:
        names = ", ".join(self.columns)
        return BadInput(f"this fit has the columns {names}: name one of them, or fit one alone.")


def of_one(model: QueueingModel) -> QueueingModel:
    """The model of one column."""
    return model.model if isinstance(model, Shared) else model


def rate_of(
    model: QueueingModel, threads: FloatArray, column: npt.NDArray[np.intp], params: Mapping[str, float]
) -> FloatArray:
    """The model's rate at points that may be of several columns, shape (points,)."""
    if not isinstance(model, Shared):
        return model.rate(threads, params)
    sets = np.broadcast_shapes(*(np.shape(value) for value in params.values()))
    rates = np.empty((*sets[:-1], len(threads)))
    for k in range(len(model.columns)):
        mine = column == k
        if mine.any():
            rates[..., mine] = model.model.rate(threads[mine], model.of_column(k, params))
    return rates


def box_of(model: QueueingModel, table: Points) -> Box:
    """Where to search for a table; of several columns, those that it still has."""
    if not isinstance(model, Shared):
        return model.search_box(table.threads, table.rate_per_s)
    found: dict[str, tuple[float, float]] = {}
    for k in range(len(model.columns)):
        column = table.keep(table.column == k)
        one = column if len(column) else table
        for its, (low, high) in model.model.search_box(one.threads, one.rate_per_s).items():
            name = model.name_in(k, its)
            before = found.get(name, (low, high))
            found[name] = min(low, before[0]), max(high, before[1])
    return found
