# SPDX-License-Identifier: MIT
"""What a queueing model is, and the columns of numbers that it is asked for.

A model is a name, parameters with bounds, and a rate for each thread count. Columns from outside are right,
or refused in one sentence that names the row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput

FloatArray = npt.NDArray[np.float64]

MAX_THREADS = 100_000


_NO_NUMBERS = (bool, np.bool_, np.datetime64, np.timedelta64)  # of which some become floats all the same


def as_floats(what: str, column: npt.ArrayLike) -> FloatArray:
    """The column as finite floats, shape (n,). Raises BadInput and names the first bad row."""
    try:
        cells = np.atleast_1d(np.asarray(column, dtype=object))
    except ValueError:  # numpy cannot make rows of unlike shapes one array
        cells = np.empty((0, 0), dtype=object)
    if cells.ndim != 1:
        raise BadInput(f"{what} must be one column of numbers, not rows of several.")
    numbers = np.empty(len(cells))
    for k, cell in enumerate(cells):
        try:
            if isinstance(cell, _NO_NUMBERS):
                raise TypeError
            numbers[k] = float(cell)
        except (TypeError, ValueError, OverflowError):
            raise BadInput(
                f"{what} has a cell that is not a number: row {k + 1} is {str(cell)[:40]!r}."
            ) from None
    if bad := np.flatnonzero(~np.isfinite(numbers)).tolist():
        row = f"{what} row {bad[0] + 1} is {numbers[bad[0]]}"
        raise BadInput(f"{row}: leave out rows without a value.")
    return numbers


def check_threads(threads: npt.ArrayLike) -> FloatArray:
    """Thread counts as floats, shape (n,). Raises BadInput unless whole and 1..MAX_THREADS."""
    n = as_floats("threads", threads)
    if bad := np.flatnonzero((n < 1) | (n > MAX_THREADS) | (n != np.round(n))).tolist():
        raise BadInput(
            f"threads row {bad[0] + 1} is {n[bad[0]]:g}: thread counts are whole numbers from 1 to "
            f"{MAX_THREADS}, so check that the columns are not swapped."
        )
    return n


Box = Mapping[str, tuple[float, float]]

LARGEST = 1e15  # of any parameter, in its unit


@dataclass(frozen=True)
class LawParameter:
    """One free number of a model, with its physical bounds.

    A rate of 0 is no rate: `positive` excludes the bound 0 and makes fits search on a log scale.
    """

    name: str
    unit: str
    low: float = 0.0
    high: float = np.inf
    positive: bool = False


class QueueingModel(Protocol):
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
    def parameters(self) -> tuple[LawParameter, ...]: ...

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
    parameters: tuple[LawParameter, ...]
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


def check_params(model: QueueingModel, params: Mapping[str, float]) -> None:
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
