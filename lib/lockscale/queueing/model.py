# SPDX-License-Identifier: MIT
"""What a queueing model is: a name, parameters with bounds, and a rate for each thread count."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.columns import FloatArray, check_threads

Box = Mapping[str, tuple[float, float]]

LARGEST = 1e15  # of any parameter, in its unit


@dataclass(frozen=True)
class Parameter:
    """One free number of a model, with its physical bounds.

    A rate of 0 is no rate: `positive` excludes the bound 0 and makes fits search on a log scale.
    """

    name: str
    unit: str
    low: float = 0.0
    high: float = np.inf
    positive: bool = False


class Model(Protocol):
    """All that `fit` asks of a model; the simulator's models are given the same face.

    With `broadcasts` its rate also takes each parameter as an array (S, 1), and gives (S, n): a search then
    asks for many sets at once. It may also have `added_variance(threads, rates)`, what its own noise adds
    to ln(rate) in variances of one run of the table (`paired`); and, where a rate takes long to find,
    `scan_starts`, how many sets of parameters a global search may try, and the context manager
    `while_fitted()`.
    """

    @property
    def name(self) -> str: ...

    @property
    def parameters(self) -> tuple[Parameter, ...]: ...

    def rate(self, threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
        """Operations per second, shape of threads. Arguments are in the domain already."""
        ...

    def search_box(self, threads: FloatArray, rates: FloatArray) -> Box:
        """Where a global search should start: (low, high) > 0 for each parameter."""
        ...


@dataclass(frozen=True)
class Law:
    """A model given by a formula. Call it with threads and parameters to have both checked."""

    name: str
    parameters: tuple[Parameter, ...]
    formula: Callable[[FloatArray, Mapping[str, float]], FloatArray]
    box: Callable[[FloatArray, FloatArray], Box]
    broadcasts: bool = True

    def rate(self, threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
        return self.formula(threads, params)

    def search_box(self, threads: FloatArray, rates: FloatArray) -> Box:
        return self.box(threads, rates)

    def __call__(self, threads: npt.ArrayLike, **params: float) -> FloatArray:
        """Rate per second at each thread count, shape (n,). Raises BadInput outside the domain."""
        if missing := [p.name for p in self.parameters if p.name not in params]:
            raise BadInput(f"model {self.name} needs a value for {', '.join(missing)}.")
        check_params(self, params)
        return self.formula(check_threads(threads), params)


def check_params(model: Model, params: Mapping[str, float]) -> None:
    """Raises BadInput for a name the model does not have or a value outside its bounds."""
    known = {p.name: p for p in model.parameters}
    for name, value in params.items():
        if name not in known:
            names = ", ".join(known)
            raise BadInput(f"model {model.name} has no parameter {name!r}: it has {names}.")
        p = known[name]
        number = isinstance(value, int | float | np.integer | np.floating) and -LARGEST <= value <= LARGEST
        if not number or not p.low <= value <= p.high or (p.positive and value == 0):
            domain = f"{'above' if p.positive else 'at least'} {p.low:g}"
            domain += f" and at most {p.high:g}" if np.isfinite(p.high) else ""
            raise BadInput(f"{name} = {value!r} in model {model.name}: give a number {domain}.")
