# SPDX-License-Identifier: MIT
"""A model of the simulator with the face that `fit` and `compare` ask of a queueing model.

A simulated rate is a little random and not smooth, so no slope can be taken of it. It is therefore
simulated on a lattice only, STEP apart in the logarithm of each free parameter, with the same random
numbers everywhere (common random numbers: A. M. Law, "Simulation Modeling and Analysis", chapter 11),
and ln(rate) is interpolated between the nodes of a cell, linearly in each direction. The
search then sees a continuous function, and every node is simulated once.
"""

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from lockscale.errors import BadInput
from lockscale.progress import Progress, progress
from lockscale.queueing.columns import FloatArray
from lockscale.queueing.model import Box, Parameter
from lockscale.sim import load_model, simulate
from lockscale.sim.models import AnyModel

STEP = np.log(2) / 16  # 4.4%: a smooth curve bends by less than 0.1% between nodes
REPLICATIONS = 4
HALF_WIDTH = 0.03
LONGEST = 16
Node = tuple[int, ...]


@dataclass(frozen=True)
class SimulatedModel:
    """`free` gives the possible range of each parameter to fit; `held` the values of others.

    What is in neither has the model's default: a constant from outside. A node is simulated with
    twice the operations until its 95% interval is within HALF_WIDTH, LONGEST times at most: near a threshold
    two states may take turns for long. Origin of its rates: simulated. Raises BadInput for names that the
    model does not have and for ranges that are none.
    """

    model: AnyModel
    free: Mapping[str, tuple[float, float]]
    held: Mapping[str, object] = field(default_factory=dict)
    seed: int = 1
    operations: int = 4000
    scan_starts: int = 12
    _memo: dict[tuple[Node, int], float] = field(default_factory=dict, repr=False)
    _shown: list[Progress] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        known = load_model(self.model)
        known.bind(dict(self.held))
        numbers = [p.name for p in known.parameters if p.unit]
        if not self.free:
            raise BadInput(f"no parameter of {known.name} is free: give ranges of {', '.join(numbers)}")
        for name, bounds in self.free.items():
            if name not in numbers or name in self.held:
                why = "is held too" if name in self.held else f"is none of {', '.join(numbers)}"
                raise BadInput(f"free parameter {name!r} of {known.name} {why}: name others")
            low, high = bounds
            if not 0 < low < high < np.inf:
                raise BadInput(f"the range of {name} is {low:g} to {high:g}: give two rising numbers above 0")

    @property
    def name(self) -> str:
        return load_model(self.model).name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        units = {p.name: p.unit for p in load_model(self.model).parameters}
        return tuple(Parameter(n, units[n], low, high, positive=True) for n, (low, high) in self.free.items())

    def search_box(self, threads: FloatArray, rates: FloatArray) -> Box:
        return dict(self.free)

    @contextlib.contextmanager
    def while_fitted(self) -> Iterator[None]:
        """Shows progress of the simulations that a fit asks for."""
        with progress(f"fit {self.name} by simulation") as shown:
            self._shown.append(shown)
            try:
                yield
            finally:
                self._shown.pop()

    def rate(self, threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
        """Operations per second, shape (n,), interpolated between simulated nodes; NaN where none runs."""
        at = np.log([params[name] for name in self.free]) / STEP
        first = np.floor(at)
        share = at - first
        log_rate = np.zeros(len(threads))
        for corner in itertools.product((0, 1), repeat=len(at)):
            weight = float(np.prod(np.where(corner, share, 1 - share)))
            if weight > 0:
                node = tuple(int(k) for k in first + corner)
                log_rate += weight * np.array([self._log_rate(node, int(n)) for n in threads])
        return np.exp(log_rate)

    def _log_rate(self, node: Node, threads: int) -> float:
        if (node, threads) not in self._memo:
            values = {name: float(np.exp(STEP * k)) for name, k in zip(self.free, node, strict=True)}
            self._memo[node, threads] = self._simulated({**self.held, **values}, threads)
            for shown in self._shown:
                shown.update(len(self._memo), f"{len(self._memo)} points simulated")
        return self._memo[node, threads]

    def _simulated(self, values: Mapping[str, object], threads: int) -> float:
        for longer in 2 ** np.arange(np.log2(LONGEST) + 1):
            operations = int(longer) * self.operations
            try:
                found = simulate(
                    self.model,
                    threads,
                    values,
                    seed=self.seed,
                    replications=REPLICATIONS,
                    operations=operations,
                )
            except BadInput:  # these values cannot run, for instance because no step takes any time
                return float(np.nan)
            if found.high is not None and found.high <= (1 + HALF_WIDTH) * found.rate_per_s:
                break
        return float(np.log(found.rate_per_s))
