# SPDX-License-Identifier: MIT
"""A model of the simulator with what is known of the base: which numbers are free, and how it is run."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lockscale.errors import BadInput
from lockscale.fitting.column import Column
from lockscale.predict.observed import Observation, Profile, of_functions, of_locks, of_rates
from lockscale.predict.posterior import Floats
from lockscale.sim import Result, simulate
from lockscale.sim.model import Model

REPLICATIONS = 2
OPERATIONS = 200_000  # of all threads a replication, and then:
FEWEST, MOST = 3000, 16_000
LONGER = 8
TIMES = ("ns", "us", "ms")


@dataclass(frozen=True)
class Case:
    """What is asked: the model with what the base has thrown or holds, and what was observed of it."""

    model: Model
    held: Mapping[str, object]
    threads: list[int]
    observations: list[Observation]
    unit: str

    @property
    def base_per_s(self) -> list[float]:
        """The base's rate at each of the threads: the first observations."""
        return [one.value for one in self.observations[: len(self.threads)]]

    def simulate(self, free: Mapping[str, float], threads: int, longer: int = 1) -> Result:
        return self._run({**self.held, **free}, threads, longer * operations(threads))

    def patched(self, free: Mapping[str, float], threads: int, patch: str) -> Result:
        return self._run({**self.held, **free, patch: True}, threads, MOST)

    def _run(self, given: Mapping[str, object], threads: int, counted: int) -> Result:
        return simulate(self.model, threads, given, operations=counted, replications=REPLICATIONS, workers=1)

    def misses(self, free: Mapping[str, float], longer: int = 1) -> Floats:
        results = {n: self.simulate(free, n, longer) for n in self.threads}
        return np.array([one.miss(results) for one in self.observations])


def operations(threads: int) -> int:
    """Counted in a replication of the base: among more threads an operation costs more to simulate."""
    return min(max(OPERATIONS // threads, FEWEST), MOST)


def simulated_sd(counted: int) -> float:
    """Relative, of a rate: operations of exponential length."""
    return float(1 / np.sqrt(REPLICATIONS * counted))


def case_of(
    model: Model, column: Column, seen: Profile, held: Mapping[str, object], given: Mapping[str, float]
) -> Case:
    values = model.bind(held)
    threads = sorted({int(n) for n in column.threads})
    # One short run tells which steps and locks the model has.
    first = simulate(model, threads[-1], values, operations=20, replications=1, workers=1)
    if unknown := [name for name in given if name not in first.calls_per_op]:
        steps = ", ".join(first.calls_per_op)
        raise BadInput(f"model {model.name} has no step {unknown[0]!r} whose calls could be given: {steps}")
    for name, calls in given.items():
        if not 0 < calls < 1e9:
            raise BadInput(
                f"{name} is {calls:g}: give its calls for one operation of one thread, above 0 and below 1e9"
            )
    observations = [
        *of_rates(column, lambda n: simulated_sd(operations(n))),
        *of_functions(seen, list(first.calls_per_op), given, threads[-1]),
        *of_locks(seen, list(first.locks), threads[-1]),
    ]
    return Case(model, held, threads, observations, model.unit)


def free_numbers(model: Model, held: Mapping[str, object]) -> dict[str, float]:
    """Calibrated numbers; of a model that has none, all its times."""
    numbers = [p for p in model.parameters if p.unit and p.name not in held and p.default]
    free = [p for p in numbers if p.source.startswith("calibrated")]
    free = free or [p for p in numbers if p.unit in TIMES]
    if not free:
        raise BadInput(f"model {model.name} has no free number above 0: hold fewer of them")
    return {p.name: float(p.default) for p in free}
