# SPDX-License-Identifier: MIT
"""What the guests must count: by the algorithm alone, and by the counts of one arm.

One arm is counted first. Of the simulator's model one factor is fitted to its counts, and the model then says
what the other arms count (`predict_guests`, last).

The factor multiplies the times outside the locks: of counts alone only the ratio of outside to inside
can be told, not the unit of time. Counts vary more than independent events would (a stopped holder
makes many wait), so the likelihood is quasi-Poisson: deviances are divided by the dispersion, which is
estimated from the same counts, misfit of the model included, and Student's t takes the normal's place
(P. McCullagh and J. Nelder, Generalized Linear Models, 2nd ed., chapters 4.5 and 9). What the same number of
blocks of another arm would show is drawn with that dispersion too.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lockscale.errors import BadInput
from lockscale.measure.count_calls import FEWEST, NONE_NAMED, ArmToCount, FirstCounts, sources_of
from lockscale.progress import progress
from lockscale.sim import Result
from lockscale.sim.models import AnyModel
from lockscale.study.file import Study

Chances = tuple[int, int]
"""Events of a simulated run, and how many could have been."""


@dataclass(frozen=True)
class SimulatedArm:
    """An arm in the simulator: a model and what is thrown or held in it."""

    model: AnyModel
    given: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Told:
    """A counter of other arms: its name in the rows, its events, and what in the base's rows it is per.

    events: where none could have been, as for a lock that the arm has not, none ever is.
    """

    metric: str
    unit: str
    events: Callable[[Result], Chances]
    per: str


@dataclass(frozen=True)
class GuestCase:
    """scaled: the times outside the locks, multiplied by the one free factor; all others stay.

    count, per: sources of the fitted ratio in the base's rows, `seen` the same two of a simulated run.
    operation: what in the base's rows is one operation of the models. arms: those that are told. limits:
    what of them the prediction leaves out.
    """

    base: str
    simulated: SimulatedArm
    scaled: Mapping[str, float]
    count: str
    per: str
    seen: Callable[[Result], Chances]
    operation: str
    arms: Mapping[str, SimulatedArm]
    told: tuple[Told, ...]
    limits: str

    def counted(self, study: Study) -> ArmToCount:
        """What to count of the base."""
        known = sources_of(study)
        kinds = [f"{kind}:{name}" for kind, name in known.locks]
        said = [*(f"trace:{one}" for one in known.trace), *(f"calls:{one}" for one in known.calls), *kinds]
        return ArmToCount(self.base, tuple(dict.fromkeys([*said, self.count])))


def operations(run: Result) -> int:
    """Of all replications."""
    return run.operations * len(run.rates_per_s)


def waits(run: Result, *locks: str) -> Chances:
    """Acquisitions that found the lock taken, of all."""
    found = [run.locks[lock] for lock in locks]
    waited = sum(count for one in found for edge_ns, count in one.wait_histogram if edge_ns > 0)
    return waited, sum(one.acquisitions for one in found)


def skips(run: Result, lock: str) -> Chances:
    """Trylocks that failed, of all."""
    failed = run.locks[lock].failed_tries
    return failed, failed + run.locks[lock].acquisitions


def retries(run: Result) -> Chances:
    """Attempts beyond the first, of all operations."""
    made = operations(run)
    return round((run.attempts_per_op - 1) * made), made


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
class GuestCurve:
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


def _base(case: GuestCase, threads: int, seed: int) -> GuestCurve:
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


def curve(seen: Seen, nodes: Sequence[int]) -> GuestCurve:
    """Half an event is added, so that none seen is not none ever."""
    found = np.array([seen(node) for node in nodes], float)  # (nodes, replications, 2)
    events, chances = found.sum(axis=1).T
    clumps = _clumps(found[:, :, 0])
    at, wanted = np.log(NODES[list(nodes)]), np.log(FINE)
    values = np.exp(np.interp(wanted, at, np.log((events + 0.5) / np.maximum(chances, 1))))
    return GuestCurve(values, np.interp(wanted, at, np.sqrt(clumps / (events + 0.5))), clumps)


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


BOUND, FITTED = "bound", "fitted"
"""Kinds of rows: what no parameter can change, and what the base's counts say."""

EMULATED = (
    "Where more virtual processors are busy than the host has, holders of locks are stopped, which the model "
    "leaves out: a queue of waiters then stalls in the arms that wait, so expect large errors there."
)


@dataclass(frozen=True)
class Guests:
    """rows: of both kinds. said: the fitted arm, its counts, the parameters and what limits them."""

    rows: list[dict[str, Any]]
    said: dict[str, Any] = field(default_factory=dict)


def predict_guests(
    study: Study, base: FirstCounts, case: GuestCase | None, bounds: list[dict[str, Any]]
) -> Guests:
    """Rows of the algorithm alone, and where one arm was counted what the others then count.

    Only the counts of that one arm are looked at. case: of the study, None where no model says what its
    arms count. bounds: the rows of the algorithm alone.
    """
    if base.rows is None:
        return Guests(bounds, {"note": base.why_none})
    if case is None:
        return Guests(bounds, {"note": NONE_NAMED})
    counts = counts_of(case, base.rows)
    used = on_own_processors(counts, base.host_cpus)
    with progress(f"fit {case.base}", 1) as shown:
        found = fit(case, used, study.parameters.seed)
        shown.update(1)
    teller = _Teller(study, case, found, per_operation(case, base.rows), base.host_cpus)
    return Guests([*bounds, *teller.rows()], _said(case, found, counts, used, base.host_cpus))


def counts_of(case: GuestCase, rows: pd.DataFrame) -> list[Count]:
    """The fitted ratio of the base alone, one a block and point; BadInput where it was not counted."""
    wide = _wide(case, rows)
    if lacking := {case.count, case.per} - set(wide.columns):
        raise BadInput(f"the counts of {case.base} lack {min(lacking)}: start a new run")
    there = wide[(wide.threads >= FEWEST) & (wide[case.per] > 0)]
    columns = (there[name] for name in ("cpus", "threads", "block", case.count, case.per))
    return [
        Count(int(cpus), int(n), int(block), float(events), float(per))
        for cpus, n, block, events, per in zip(*columns, strict=True)
    ]


def on_own_processors(counts: list[Count], host_cpus: int | None) -> list[Count]:
    """Those for which the host has a processor for each process; where there is none, all.

    Elsewhere a count tells of holders that the host has stopped, more than of the lock.
    """
    own = [count for count in counts if host_cpus is None or count.threads <= host_cpus]
    return own or counts


def per_operation(case: GuestCase, rows: pd.DataFrame) -> dict[str, float]:
    """Source -> how often it is counted in one operation of the model, by the base; the same in all arms."""
    sums = _wide(case, rows).sum()
    return {told.per: float(sums[told.per] / sums[case.operation]) for told in case.told}


def _wide(case: GuestCase, rows: pd.DataFrame) -> pd.DataFrame:
    of_base, point = rows[rows.arm == case.base], ["cpus", "threads", "block"]
    wide = of_base.pivot_table(index=point, columns="metric", values="value", aggfunc="sum")
    return wide.reset_index()


@dataclass(frozen=True)
class _Teller:
    """What the fitted model says of the other arms; per: see per_operation()."""

    study: Study
    case: GuestCase
    found: GuestFit
    per: dict[str, float]
    host_cpus: int | None

    def rows(self) -> list[dict[str, Any]]:
        """One for each counter of each arm that the run has, at each point with a processor a process."""
        rng = np.random.default_rng(self.study.parameters.seed)
        guests = self.study.parameters.guests
        points = [(g.cpus, n) for g in guests for n in g.processes if FEWEST <= n <= g.cpus]
        arms = [name for name in self.study.arm_names if name in self.case.arms]
        rows = []
        with progress(f"simulate {self.study.name}", len(arms) * len(points)) as shown:
            for done, (arm, (cpus, n)) in enumerate(itertools.product(arms, points), start=1):
                rows += [self._row(told, arm, cpus, n, rng) for told in self.case.told]
                shown.update(done, f"{arm}, {n} processes")
        return rows

    def _row(self, told: Told, arm: str, cpus: int, n: int, rng: np.random.Generator) -> dict[str, Any]:
        asked = self.study.parameters
        made = n * max(1, asked.operations_per_point // n) * asked.iterations

        def seen(node: int) -> list[Chances]:
            found = runs(self.case, self.case.arms[arm], n, node, asked.seed)
            return [told.events(one) for one in found]

        value, low, high = (one / self.per[told.per] for one in tell(self.found, seen, made, rng))
        return {
            "kind": FITTED,
            "fitted_arm": self.case.base,
            "arm": arm,
            "cpus": cpus,
            "threads": n,
            "metric": told.metric,
            "unit": told.unit,
            "value": value,
            "low": low,
            "high": high,
            "own_processors": self.host_cpus is None or n <= self.host_cpus,
        }


def _said(
    case: GuestCase, found: GuestFit, counts: list[Count], used: list[Count], host_cpus: int | None
) -> dict[str, Any]:
    times = {name: value * found.value for name, value in case.scaled.items()}
    factor = {
        "name": "time outside the locks",
        "unit": "times the model's",
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "status": found.status,
        "source": f"{case.count} of {case.base}",
    }
    return {
        "fitted_arm": case.base,
        "parameters": [factor],
        "model_times": times,
        "dispersion": found.dispersion,
        "counts": [{**asdict(count), "fitted": count in used} for count in counts],
        "host_cpus": host_cpus,
        "note": case.limits if host_cpus is None else f"{case.limits} {EMULATED}",
    }
