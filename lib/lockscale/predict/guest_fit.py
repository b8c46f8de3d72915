# SPDX-License-Identifier: MIT
"""A model's one factor, fitted to the counts of one arm, and what it says of another arm's counts.

The factor multiplies the times outside the locks: of counts alone only the ratio of outside to inside can be
told, not the unit of time. A run counts from its first operation, on a file system made anew, and so does the
simulation: of writers that start side by side and part for good, all that there is to count is there.

Counts vary more than independent events would (waits come in clumps), so the likelihood is quasi-Poisson:
deviances are divided by the dispersion, which is estimated from the same counts, misfit of the model
included, and Student's t takes the normal's place (P. McCullagh and J. Nelder, Generalized Linear Models, 2nd
ed., chapters 4.5 and 9). Where the host has fewer processors than there are processes it stops holders,
whichever arm they run: a block in which it stops more of them has more of every count, so that beside its
clumps a count's variance has `variation` times the square of its mean (negative binomial: J. Hilbe, Negative
Binomial Regression, 2nd ed., chapter 8). What the same number of blocks of another arm would show is drawn
with both.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq

from lockscale.predict.guest_case import Chances, GuestCase, SimulatedArm
from lockscale.queueing.model import FloatArray
from lockscale.sim import Result
from lockscale.sim.models import AnyModel

NODES = 2.0 ** np.arange(-5, 10.5, 0.5)
"""The factor at which the model is simulated; between them logarithms are interpolated."""
FINE = np.exp(np.linspace(np.log(NODES[0]), np.log(NODES[-1]), 801))
SIMULATED, FEWEST_RUNS = 32_000, 4
"""Operations at each node, in runs as long as a block of the guest's."""
DRAWS = 4000
MOST_VARIATION = 100.0
TAIL = 0.025
UNLIKELY = 1e-4
"""Of all weight: nodes beyond it are not simulated for other arms."""
Seen = Callable[[int], list[Chances]]
"""Of each replication at a node."""


@dataclass(frozen=True)
class Count:
    """Events in one block at one point, and of how many: both counted of the first arm."""

    cpus: int
    threads: int
    block: int
    events: float
    per: float


@dataclass(frozen=True)
class GuestCurve:
    """Events for each chance at FINE, and the relative error of the simulation there.

    clumps: variance of the events of a replication over that of independent ones, at least 1.
    """

    values: FloatArray
    error: FloatArray
    clumps: float


@dataclass(frozen=True)
class GuestFit:
    """weights (801,) of FINE, from the counts at `threads` processes.

    dispersion: the counts' variance over that of independent events; clumps: how much of it the simulated
    base has, where no host disturbs it. variation: what blocks differ by beside it, their relative variance.
    """

    weights: FloatArray
    threads: tuple[int, ...]
    dispersion: float
    clumps: float
    variation: float
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


def fit(
    cases: Callable[[int], GuestCase],
    counts: Sequence[Count],
    operations: int,
    seed: int,
    calm: GuestFit | None = None,
) -> GuestFit:
    """The factor from at least two counts. Flat prior over the logarithm of NODES.

    cases: by number of processes. operations: of a block at any number of processes. calm: the fit where each
    process has a processor, whose dispersion is kept; what these counts vary beyond it is variation.
    """
    threads = tuple(sorted({count.threads for count in counts}))
    curves = {n: _base(cases(n), n, operations, seed) for n in threads}
    events = np.array([count.events for count in counts])
    means = np.stack([curves[count.threads].values * count.per for count in counts], axis=1)
    freedom, variation = max(len(counts) - 1, 1), 0.0
    best = means[int(_deviances(events, means).argmin())]
    dispersion = max(1.0, _pearson(events, best) / freedom)
    if calm:
        dispersion = min(calm.dispersion, dispersion)
        variation = _variation(events, best, dispersion, freedom)
    deviance = _deviances(events, means, variation / dispersion)
    at = int(deviance.argmin())
    weights = (1 + (deviance - deviance[at]) / (dispersion * freedom)) ** (-(freedom + 1) / 2)
    weights /= weights.sum()
    low, high = np.interp([TAIL, 1 - TAIL], weights.cumsum(), FINE)
    clumps = float(np.mean([one.clumps for one in curves.values()]))
    value = float(FINE[at])  # which lies beyond an equal-tailed interval where the counts leave a side open
    ends = min(float(low), value), max(float(high), value)
    return GuestFit(weights, threads, dispersion, clumps, variation, value, *ends)


def _base(case: GuestCase, threads: int, operations: int, seed: int) -> GuestCurve:
    def seen(node: int) -> list[Chances]:
        return [case.seen(one) for one in runs(case, case.simulated, threads, node, operations, seed)]

    return curve(seen, range(len(NODES)))


def _deviances(events: FloatArray, means: FloatArray, variation: float = 0.0) -> FloatArray:
    """Of all events (counts,) for each row of means (801, counts): Poisson, or negative binomial."""
    logs = np.where(events > 0, np.log(np.maximum(events, 1e-300) / means), 0.0)
    if not variation:
        total: FloatArray = 2 * (events * logs - (events - means)).sum(axis=1)
        return total
    k = 1 / variation
    total = 2 * (events * logs - (events + k) * np.log((events + k) / (means + k))).sum(axis=1)
    return total


def _pearson(events: FloatArray, means: FloatArray, dispersion: float = 1.0, variation: float = 0.0) -> float:
    return float(((events - means) ** 2 / (dispersion * means + variation * means**2)).sum())


def _variation(events: FloatArray, means: FloatArray, dispersion: float, freedom: int) -> float:
    """With which Pearson's statistic is what so many counts have by chance; at least 0."""

    def over(variation: float) -> float:
        return _pearson(events, means, dispersion, variation) - freedom

    if over(0.0) <= 0:
        return 0.0
    return MOST_VARIATION if over(MOST_VARIATION) > 0 else float(brentq(over, 0.0, MOST_VARIATION))


def tell(
    found: GuestFit, seen: Seen, operations: int, blocks: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Events an operation of another arm: value, low and high of what so many blocks of it would show.

    operations: of a block. Where the arm has not the lock at all, nothing ever happens. Its counts are taken
    to vary as the first arm's do, and more where the simulated arm has larger clumps than the simulated
    first arm.
    """
    nodes = found.nodes()
    first = seen(nodes[0])
    if first[0][1] == 0:
        return 0.0, 0.0, 0.0
    there = curve(lambda node: [(events, operations) for events, _ in seen(node)], nodes)
    at = rng.choice(len(FINE), DRAWS, p=found.weights)
    made = operations * blocks
    means = there.values[at] * np.exp(rng.normal(0, 1, DRAWS) * there.error[at]) * made
    if found.variation:
        shape = blocks / found.variation
        means *= rng.gamma(shape, 1 / shape, DRAWS)
    dispersion = found.dispersion * max(1.0, there.clumps / found.clumps)
    low, high = np.quantile(_scattered(means, dispersion, rng), [TAIL, 1 - TAIL]) / made
    value = float(np.interp(found.value, FINE, there.values)) - 0.5 / (operations * len(first))
    return max(0.0, value), float(low), float(high)


def _scattered(means: FloatArray, dispersion: float, rng: np.random.Generator) -> FloatArray:
    """Counts with these means and `dispersion` times their variance: Poisson events in clumps."""
    if dispersion <= 1:
        return rng.poisson(means).astype(float)
    excess = dispersion - 1
    return rng.poisson(rng.gamma(means / excess, excess)).astype(float)


def curve(seen: Seen, nodes: Sequence[int]) -> GuestCurve:
    """Half an event is added, so that none seen is not none ever."""
    found = np.array([seen(node) for node in nodes], float)  # (nodes, replications, 2)
    events, chances = found.sum(axis=1).T
    clumps = _clumps(found[:, :, 0])
    at, wanted = np.log(NODES[list(nodes)]), np.log(FINE)
    values = np.exp(np.interp(wanted, at, np.log((events + 0.5) / np.maximum(chances, 1))))
    return GuestCurve(values, np.interp(wanted, at, np.sqrt(clumps / (events + 0.5))), clumps)


def _clumps(events: FloatArray) -> float:
    """Variance over mean of events (nodes, replications), over nodes that have any."""
    told = events[events.mean(axis=1) > 1]
    if not len(told):
        return 1.0
    return max(1.0, float(np.mean(told.var(axis=1, ddof=1) / told.mean(axis=1))))


def runs(
    case: GuestCase, arm: SimulatedArm, threads: int, node: int, operations: int, seed: int
) -> list[Result]:
    """Blocks of an arm with the times outside its locks multiplied by a node of NODES, from their start."""
    scaled = {name: value * float(NODES[node]) for name, value in case.scaled.items()}
    given = tuple({**arm.given, **scaled}.items())
    blocks = max(FEWEST_RUNS, SIMULATED // operations)
    return [_run(arm.model, given, threads, operations, seed + k) for k in range(blocks)]


@cache
def _run(
    model: AnyModel, given: tuple[tuple[str, object], ...], threads: int, operations: int, seed: int
) -> Result:
    from lockscale.sim import simulate  # imports the compiler, which a prediction without counts does without

    return simulate(model, threads, dict(given), seed=seed, operations=operations, replications=1, warm_up=0)
