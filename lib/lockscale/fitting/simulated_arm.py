# SPDX-License-Identifier: MIT
"""What a simulated model is in one column of a table, and one simulated figure of it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from lockscale.errors import BadInput
from lockscale.sim import Result
from lockscale.sim.models import AnyModel

ARM = "arm"
REPLICATIONS = 4
HALF_WIDTH = 0.03
LONGEST = 16


class Point(NamedTuple):
    """A model at a number of threads."""

    model: AnyModel
    threads: int
    values: Mapping[str, object]
    seed: int
    operations: int


Values = Mapping[str, float]


def _rate(run: Result) -> float:
    return run.rate_per_s


def _as_they_are(threads: int, free: Values) -> Values:
    return free


@dataclass(frozen=True)
class Arm:
    """`held`: switches and numbers of this column alone; `depends_on`: its free parameters, () for all.

    `at`: the model's own parameters at a number of threads from the free ones, by default the same; those
    that are not 0 come in the same order for all values. `figure`: what of a run the column has, by default
    the rate, which halves when all times are doubled (`power` -1; a count has 0, a time 1).
    """

    held: Mapping[str, object] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    at: Callable[[int, Values], Values] = _as_they_are
    figure: Callable[[Result], float] = _rate
    power: int = -1

    def depending_on(self, names: Collection[str]) -> "Arm":
        return replace(self, depends_on=tuple(names))

    def value(self, point: Point) -> float:
        """The figure at a point; NaN where the values cannot run."""
        run = simulated(point)
        return float("nan") if run is None else self.figure(run)


def simulated(point: Point) -> Result | None:
    """One point, None where the values cannot run, for instance because no step takes any time.

    It is simulated with twice the operations until its 95% interval is within HALF_WIDTH, LONGEST times at
    most: near a threshold two states may take turns for long.
    """
    from lockscale.sim import simulate  # imports the compiler, which what a study says of it does without

    for longer in 2 ** np.arange(np.log2(LONGEST) + 1):
        try:
            found = simulate(
                point.model,
                point.threads,
                point.values,
                seed=point.seed,
                replications=REPLICATIONS,
                operations=int(longer) * point.operations,
            )
        except BadInput:
            return None
        if found.high is not None and found.high <= (1 + HALF_WIDTH) * found.rate_per_s:
            break
    return found
