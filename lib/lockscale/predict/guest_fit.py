# SPDX-License-Identifier: MIT
"""One factor of the simulator's model fitted to counts of one arm, and what it says of other arms.

The factor multiplies the times outside the locks: of counts alone only the ratio of outside to inside
can be told, not the unit of time. Counts vary more than independent events would (a stopped holder
makes many wait), so the likelihood is quasi-Poisson: deviances are divided by the dispersion, which is
estimated from the same counts, misfit of the model included, and Student's t takes the normal's place
(P. McCullagh and J. Nelder, Generalized Linear Models, 2nd ed., chapters 4.5 and 9). What the same number of
blocks of another arm would show is drawn with that dispersion too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from lockscale.predict.guest_case import Chances, GuestCase, SimulatedArm
from lockscale.sim import Result
from lockscale.sim.models import AnyModel

Floats = npt.NDArray[np.float64]

NODES = 2.0 ** np.arange(-5, 10.5, 0.5)
"""The factor at which the model is simulated; between them logarithms are interpolated."""
FINE = np.exp(np.linspace(np.log(NODES[0]), np.log(NODES[-1]), 801))
OPERATIONS, REPLICATIONS = 8000, 4
SIMULATED = OPERATIONS * REPLICATIONS
DRAWS = 4000
TAIL = 0.025
UNLIKELY = 1e-4
"""Of all weight: nodes beyond it are not simulated for other arms."""
Seen = Callable[[int], list[Chances]]
"""Of each replication at a node."""


@dataclass(frozen=True)
class Count:
    """Events in one block at one point, and of how many: both counted on the base."""

    cpus: int
    threads: int
    block: int
    events: float
    per: float


@dataclass(frozen=True)
class Curve:
    """Events for each chance at FINE, and the relative error of the simulation there.

    clumps: variance of the events of a replication over that of independent ones, at least 1.
    """

    values: Floats
    error: Floats
    clumps: float


@dataclass(frozen=True)
class GuestFit:
    """weights (801,) of FINE; dispersion: the counts' variance over that of independent events.

    clumps: how much of it the simulated base has, where no host disturbs it.
    """

    weights: Floats
    dispersion: float
    clumps: float
    value: float
    low: float
    high: float

    @property
    def status(self) -> str:
        """As of a fitted parameter: open where the counts do not bound the factor."""
        below, above = self.low < 2 * NODES[0], self.high > NODES[-1] / 2
        return {(True, True): "open", (True, False): "open-low", (False, True): "open-high"}.get(
            (below, above), "identified"
        )

    def nodes(self) -> list[int]:
        """Those of NODES between which there is weight."""
        told = FINE[self.weights > UNLIKELY * self.weights.max()]
        first, last = np.searchsorted(NODES, [told[0] * (1 + 1e-9), told[-1] * (1 - 1e-9)])
        return list(range(max(0, int(first) - 1), min(int(last), len(NODES) - 1) + 1))


def fit(case: GuestCase, counts: Sequence[Count], seed: int) -> GuestFit:
    """The factor from at least two counts. Flat prior over the logarithm of NODES."""
    curves = {n: _base(case, n, seed) for n in sorted({count.threads for count in counts})}
    events = np.array([count.events for count in counts])
    means = np.stack([curves[count.threads].values * count.per for count in counts], axis=1)
    deviance = _deviances(events, means)
    best, freedom = int(deviance.argmin()), max(len(counts) - 1, 1)
    pearson = float((((events - means[best]) ** 2) / means[best]).sum()) / freedom
    dispersion = max(1.0, pearson)
    apart = (deviance - deviance[best]) / (dispersion * freedom)
    weights = (1 + apart) ** (-(freedom + 1) / 2)
    weights /= weights.sum()
    low, high = np.interp([TAIL, 1 - TAIL], weights.cumsum(), FINE)
    clumps = float(np.mean([one.clumps for one in curves.values()]))
    return GuestFit(weights, dispersion, clumps, float(FINE[best]), float(low), float(high))


def _base(case: GuestCase, threads: int, seed: int) -> Curve:
    def seen(node: int) -> list[Chances]:
        return [case.seen(one) for one in runs(case, case.simulated, threads, node, seed)]

    return curve(seen, range(len(NODES)))


def _deviances(events: Floats, means: Floats) -> Floats:
    """Poisson deviance of all events (counts,) for each row of means (801, counts)."""
    logs = np.where(events > 0, np.log(np.maximum(events, 1e-300) / means), 0.0)
    total: Floats = 2 * (events * logs - (events - means)).sum(axis=1)
    return total


def tell(found: GuestFit, seen: Seen, made: float, rng: np.random.Generator) -> tuple[float, float, float]:
    """Events an operation of another arm: value, low and high of what `made` operations would show.

    Where the arm has not the lock at all, nothing ever happens. Its counts are taken to vary as the base's
    do, and more where the simulated arm has larger clumps than the simulated base.
    """
    nodes = found.nodes()
    if seen(nodes[0])[0][1] == 0:
        return 0.0, 0.0, 0.0
    there = curve(lambda node: [(events, OPERATIONS) for events, _ in seen(node)], nodes)
    at = rng.choice(len(FINE), DRAWS, p=found.weights)
    means = there.values[at] * np.exp(rng.normal(0, 1, DRAWS) * there.error[at]) * made
    dispersion = found.dispersion * max(1.0, there.clumps / found.clumps)
    low, high = np.quantile(_scattered(means, dispersion, rng), [TAIL, 1 - TAIL]) / made
    value = float(np.interp(found.value, FINE, there.values)) - 0.5 / SIMULATED
    return max(0.0, value), float(low), float(high)


def _scattered(means: Floats, dispersion: float, rng: np.random.Generator) -> Floats:
    """Counts with these means and `dispersion` times their variance: Poisson events in clumps."""
    if dispersion <= 1:
        return rng.poisson(means).astype(float)
    excess = dispersion - 1
    return rng.poisson(rng.gamma(means / excess, excess)).astype(float)


def curve(seen: Seen, nodes: Sequence[int]) -> Curve:
    """Half an event is added, so that none seen is not none ever."""
    found = np.array([seen(node) for node in nodes], float)  # (nodes, replications, 2)
    events, chances = found.sum(axis=1).T
    clumps = _clumps(found[:, :, 0])
    at, wanted = np.log(NODES[list(nodes)]), np.log(FINE)
    values = np.exp(np.interp(wanted, at, np.log((events + 0.5) / np.maximum(chances, 1))))
    return Curve(values, np.interp(wanted, at, np.sqrt(clumps / (events + 0.5))), clumps)


def _clumps(events: Floats) -> float:
    """Variance over mean of events (nodes, replications), over nodes that have any."""
    told = events[events.mean(axis=1) > 1]
    if not len(told):
        return 1.0
    return max(1.0, float(np.mean(told.var(axis=1, ddof=1) / told.mean(axis=1))))


def runs(case: GuestCase, arm: SimulatedArm, threads: int, node: int, seed: int) -> list[Result]:
    """Replications of an arm with the times outside its locks multiplied by a node of NODES."""
    scaled = {name: value * float(NODES[node]) for name, value in case.scaled.items()}
    given = tuple({**arm.given, **scaled}.items())
    return [_run(arm.model, given, threads, seed + k) for k in range(REPLICATIONS)]


@cache
def _run(model: AnyModel, given: tuple[tuple[str, object], ...], threads: int, seed: int) -> Result:
    from lockscale.sim import simulate  # imports the compiler, which a prediction without counts does without

    return simulate(model, threads, dict(given), seed=seed, operations=OPERATIONS, replications=1)
