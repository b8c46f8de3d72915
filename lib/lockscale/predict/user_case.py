# SPDX-License-Identifier: MIT
"""A model of the simulator with what is known of a user's unpatched side, and what each switch would give."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from lockscale.errors import BadInput, near, printable
from lockscale.fitting.column import Column
from lockscale.predict.answer import Predicted, sign_of_change
from lockscale.predict.observed import Observation, Profile, of_functions, of_locks, of_rates
from lockscale.predict.posterior import Posterior, posterior
from lockscale.predict.unpatched_columns import NORMAL_95
from lockscale.progress import progress
from lockscale.queueing.model import FloatArray
from lockscale.sim import Result, simulate
from lockscale.sim.model import Model

REPLICATIONS = 2
OPERATIONS = 200_000  # of all threads a replication, and then:
FEWEST, MOST = 3000, 16_000
LONGER = 8
TIMES = ("ns", "us", "ms")
REST, OTHERS = "elsewhere_us", "others_us"
"""By convention of models: what an operation does apart, and more of it where other threads run too."""
OTHERS_SHARE = 0.3
"""Assumed, of REST: some lines of what all share come from another CPU."""


@dataclass(frozen=True)
class Case:
    """What is asked: the model with what is thrown or held unpatched, and what was observed of it."""

    model: Model
    held: Mapping[str, object]
    threads: list[int]
    observations: list[Observation]
    unit: str

    @property
    def base_per_s(self) -> list[float]:
        """The unpatched side's rate at each of the threads: the first observations."""
        return [one.value for one in self.observations[: len(self.threads)]]

    def simulate(self, free: Mapping[str, float], threads: int, longer: int = 1) -> Result:
        return self._run({**self.held, **free}, threads, longer * operations(threads))

    def patched(self, free: Mapping[str, float], threads: int, patch: str) -> Result:
        return self._run({**self.held, **free, patch: True}, threads, MOST)

    def _run(self, given: dict[str, object], threads: int, counted: int) -> Result:
        if OTHERS in given and all(p.name != OTHERS for p in self.model.parameters):
            more = float(str(given.pop(OTHERS)))
            given[REST] = float(str(given[REST])) + more * (threads > 1)
        return simulate(self.model, threads, given, operations=counted, replications=REPLICATIONS, workers=1)

    def misses(self, free: Mapping[str, float], longer: int = 1) -> FloatArray:
        results = {n: self.simulate(free, n, longer) for n in self.threads}
        return np.array([one.miss(results) for one in self.observations])

    def fitted(self, free: Mapping[str, float], to: str, spread: FloatArray | None = None) -> Posterior:
        """These numbers fitted to what was observed. to: what the progress line says; spread: the prior's."""
        longer = partial(self.misses, longer=LONGER)
        with progress(f"fit {self.model.name} to {to}") as shown:

            def tell(sets: int) -> None:
                shown.update(sets, f"{sets} sets of parameters simulated")

            return posterior(free, self.misses, longer, tell, spread)


def operations(threads: int) -> int:
    """Counted in an unpatched replication: among more threads an operation costs more to simulate."""
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
        said = f"model {model.name} has no step {printable(unknown[0])}, whose calls --given could take"
        raise BadInput(f"{said}{near(unknown[0], first.calls_per_op)}")
    for name, calls in given.items():
        if not 0 < calls < 1e9:
            raise BadInput(
                f"{name} is {calls:g}: give its calls per operation with one thread, above 0 and below 1e9"
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
        raise BadInput(f"model {model.name} has no free number above 0: fix fewer parameters")
    return {p.name: float(p.default) for p in free}


def with_others(free: Mapping[str, float]) -> dict[str, float]:
    """`free` and OTHERS, where the model has that neither as a parameter nor lacks what it adds to.

    A model of a few locks does not say why two threads that do not meet there are each slower than one.
    """
    if OTHERS in free or REST not in free:
        return dict(free)
    return {**free, OTHERS: OTHERS_SHARE * free[REST]}


Sets = list[dict[str, float]]


def switches(case: Case) -> list[str]:
    """Those that the unpatched side has not thrown and that the model takes beside what is held."""
    return [
        p.name
        for p in case.model.parameters
        if not p.unit and not case.held.get(p.name, p.default) and _runs(case, p.name)
    ]


def _runs(case: Case, switch: str) -> bool:
    try:
        case.model.program({**case.held, switch: True}, case.threads[-1])
    except BadInput:
        return False
    return True


def predictions(case: Case, found: Posterior, naive: float | None) -> list[Predicted]:
    """naive: by what factor the rate would grow without the profile's waits, at the most threads."""
    names, sets = switches(case), found.points()
    rows: list[Predicted] = []
    with progress("simulate the patches", len(names) * len(case.threads)) as shown:
        for name in names:
            alone_per_s = _alone(case, name, sets)
            for n in case.threads:
                rows.append(_at(case, found, name, n, sets, n * alone_per_s, naive))
                shown.update(len(rows), f"{name}, {n} threads")
    return rows


def _at(
    case: Case, found: Posterior, name: str, n: int, sets: Sets, most: float, naive: float | None
) -> Predicted:
    """At n threads, no end above `most`."""
    mean, sd = found.spread_of([case.patched(free, n, name).rate_per_s for free in sets])
    half = NORMAL_95 * float(np.hypot(sd, simulated_sd(MOST))) + _off(case, found)
    low, value, high = (min(float(np.exp(mean + k * half)), most) for k in (-1, 0, 1))
    unpatched = case.base_per_s[case.threads.index(n)]
    wished = None if naive is None or n != case.threads[-1] else naive * unpatched
    said = sign_of_change(low, high, unpatched)
    return Predicted(name, n, "throughput", case.unit, value, low, high, wished, said)


def _alone(case: Case, name: str, sets: Sets) -> float:
    """At most the rate of one thread of the patched kernel; infinite where the unpatched side's was not
    measured.

    Threads only hinder each other: N of them do no more than N times one. One thread of the unpatched side
    was measured, and what the switch saves it of its work is the model's.
    """
    if case.threads[0] != 1:
        return float("inf")
    one = case.observations[0]
    saved = max(case.patched(free, 1, name).rate_per_s / case.simulate(free, 1).rate_per_s for free in sets)
    return float(one.value * saved * np.exp(NORMAL_95 * np.sqrt(2) * one.sd))


def _off(case: Case, found: Posterior) -> float:
    """By how much the model misses a number of the unpatched side: it is not trusted closer than that."""
    each = zip(found.misses, case.observations, strict=True)
    return float(max(max(abs(miss) - NORMAL_95, 0.0) * one.sd for miss, one in each))
