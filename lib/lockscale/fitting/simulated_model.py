# SPDX-License-Identifier: MIT
"""A model of the simulator with the face that `fit` and `compare` ask of a queueing model.

A simulated rate is a little random and not smooth, so no slope can be taken of it. It is therefore
simulated on a lattice only, STEP apart in the logarithm of each free parameter, with the same random
numbers everywhere (common random numbers: A. M. Law, "Simulation Modeling and Analysis", chapter 11),
and ln(rate) is interpolated linearly in the simplex of nodes round a place (H. Freudenthal, Annals of
Mathematics 43, 1942, p. 580): one node more than there are parameters, not 2 to their number. The
search then sees a continuous function, and every node is simulated once.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from lockscale.errors import BadInput, near
from lockscale.fitting.column import Column, published_columns
from lockscale.progress import Progress, progress
from lockscale.queueing.model import Box, FloatArray, LawParameter
from lockscale.sim import Result, load_model
from lockscale.sim.models import AnyModel

ARM = "arm"
REPLICATIONS = 4
HALF_WIDTH = 0.03
LONGEST = 16


Values = Mapping[str, float]


@dataclass(frozen=True)
class SimulatedColumn:
    """`held`: switches and numbers of this column alone; `depends_on`: its free parameters, () for all.

    `at`: the model's own parameters at a number of threads from the free ones, by default the same; those
    that are not 0 come in the same order for all values. `figure`: what of a run the column has, by default
    the rate, which halves when all times are doubled (`power` -1; a count has 0, a time 1).
    """

    held: Mapping[str, object] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    at: Callable[[int, Values], Values] = lambda threads, free: free
    figure: Callable[[Result], float] = lambda run: run.rate_per_s
    power: int = -1

    def value(
        self, model: AnyModel, threads: int, values: Mapping[str, object], *, seed: int, operations: int
    ) -> float:
        """The figure at a point; NaN where the values cannot run, for instance as no step takes any time.

        It is simulated with twice the operations until its 95% interval is within HALF_WIDTH, LONGEST times
        at most: near a threshold two states may take turns for long.
        """
        from lockscale.sim import simulate  # imports the compiler, which what a study says of it does without

        settings: dict[str, Any] = {"seed": seed, "replications": REPLICATIONS}
        for longer in 2 ** np.arange(np.log2(LONGEST) + 1):
            try:
                found = simulate(model, threads, values, operations=int(longer) * operations, **settings)
            except BadInput:
                return float("nan")
            if found.high is not None and found.high <= (1 + HALF_WIDTH) * found.rate_per_s:
                break
        return self.figure(found)


STEP = np.log(2) / 4  # 19%: a smooth curve bends by 0.2% between nodes
Node = tuple[int, ...]


@dataclass(frozen=True)
class SimulatedModel:
    """`free` gives the possible range of each parameter to fit; `held` the values of others of the model.

    What is in neither has the model's default: a constant from outside. `arms`: what the model is in each
    column of a table, chosen by the parameter `arm`, which is not fitted: hold it at a column's place, as
    in `fit(columns, model, share=model.free, fixed={"arm[a]": 0, "arm[b]": 1})`. Origin of its rates:
    simulated. Raises BadInput for names that the model does not have and for ranges that are none.
    """

    model: AnyModel
    free: Mapping[str, tuple[float, float]]
    held: Mapping[str, object] = field(default_factory=dict)
    arms: Sequence[SimulatedColumn] = ()
    scales: bool = False
    seed: int = 1
    operations: int = 4000
    scan_starts: int = 12
    _memo: dict[tuple[int, int, tuple[str, ...], Node], float] = field(default_factory=dict, repr=False)
    _first: dict[tuple[int, int, str], float] = field(default_factory=dict, repr=False)
    _shown: list[Progress] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        if not self.free:
            raise BadInput(f"no parameter of {self.name} is free: give the range of at least one")
        for name, (low, high) in self.free.items():
            if not 0 < low < high < np.inf:
                raise BadInput(
                    f"the range of {name} is {low:g} to {high:g}: give two numbers above 0, the smaller first"
                )
        middle = {name: float(np.sqrt(low * high)) for name, (low, high) in self.free.items()}
        for one in self.each_arm:
            if strange := [name for name in one.depends_on if name not in self.free]:
                raise BadInput(f"a column of {self.name} depends on {strange[0]!r}: give its range in free")
            self._check(one, one.at(4, {name: middle[name] for name in one.depends_on}))

    def _check(self, one: SimulatedColumn, given: Values) -> None:
        """Raises BadInput unless the model has what is given to it, once and as numbers."""
        known = load_model(self.model)
        known.bind({**self.held, **one.held})
        numbers = [p.name for p in known.parameters if p.unit]
        for name in given:
            if name not in numbers or name in self.held or name in one.held:
                why = "is also fixed" if name in numbers else f"is not one of {', '.join(numbers)}"
                raise BadInput(f"free parameter {name!r} of {known.name} {why}: name others")

    @cached_property
    def each_arm(self) -> tuple[SimulatedColumn, ...]:
        """The arms, each with the free parameters on which it depends; one where none is given."""
        given = self.arms or (SimulatedColumn(),)
        return tuple(one if one.depends_on else replace(one, depends_on=tuple(self.free)) for one in given)

    @property
    def name(self) -> str:
        return load_model(self.model).name

    @property
    def parameters(self) -> tuple[LawParameter, ...]:
        """A free one that is none of the model's own has the end of its name as its unit, as theirs have."""
        units = {name: name.rpartition("_")[2] for name in self.free}
        fitted = [LawParameter(n, units[n], low, high, positive=True) for n, (low, high) in self.free.items()]
        which = [LawParameter(ARM, "1", 0, len(self.arms) - 1)] if self.arms else []
        return (*fitted, *which)

    def search_box(self, threads: FloatArray, rates: FloatArray) -> Box:
        return {**self.free, ARM: (0.0, 1.0)} if self.arms else dict(self.free)

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
        """Operations per second, or what the arm gives, shape (n,); NaN where none runs."""
        arm = int(params.get(ARM, 0))
        free = {name: params[name] for name in self.each_arm[arm].depends_on}
        return np.exp([self._interpolated(arm, int(n), free) for n in threads])

    def _interpolated(self, arm: int, threads: int, free: Values) -> float:
        own = {name: value for name, value in self.each_arm[arm].at(threads, free).items() if value > 0}
        times = list(own.values())
        unit = self._unit(arm, threads, own) if self.scales else 1.0
        at = np.log([time / unit for time in times[self.scales :]]) / STEP
        nodes = (weight * self._log_rate(arm, threads, own, node) for node, weight in _corners(at))
        return float(sum(nodes) + self.each_arm[arm].power * np.log(unit))

    def _unit(self, arm: int, threads: int, own: Values) -> float:
        """The first of an arm's times over the end of its range, where it is simulated: all are scaled so.

        One that is not fitted itself is simulated where it was first.
        """
        name, value = next(iter(own.items()))
        if name in self.free:
            return value / self.free[name][1]
        return value / self._first.setdefault((arm, threads, name), value)

    def _log_rate(self, arm: int, threads: int, own: Values, node: Node) -> float:
        """At a node; where all times scale, the first of them is at its end."""
        key = (arm, threads, tuple(own), node)
        if key not in self._memo:
            one = self.each_arm[arm]
            unit = self._unit(arm, threads, own)
            first = [time / unit for time in list(own.values())[: self.scales]]
            zeros = dict.fromkeys(one.at(threads, dict.fromkeys(one.depends_on, 1.0)), 0.0)
            values = zeros | dict(zip(own, [*first, *(float(np.exp(STEP * k)) for k in node)], strict=True))
            given = {**self.held, **one.held, **values}
            value = one.value(self.model, threads, given, seed=self.seed, operations=self.operations)
            self._memo[key] = float(np.log(value))
            for shown in self._shown:
                shown.update(len(self._memo), f"{len(self._memo)} points simulated")
        return self._memo[key]


def _corners(at: FloatArray) -> Iterator[tuple[Node, float]]:
    """The nodes of the simplex in which a place lies, and the weight of each; none of weight 0."""
    first = np.floor(at)
    share = at - first
    order = np.argsort(-share, kind="stable")
    steps = np.concatenate([[1.0], share[order], [0.0]])
    node = first.astype(np.int64)
    for k, weight in enumerate(steps[:-1] - steps[1:]):
        if k:
            node[order[k - 1]] += 1
        if weight > 0:
            yield tuple(node.tolist()), float(weight)


Ranges = Mapping[str, tuple[float, float]]
Row = dict[str, Any]


@dataclass(frozen=True)
class Simulated:
    """`arms` by column of the table; all fitted parameters are shared by all columns.

    made: the columns, where they are no curves of the table. checked: rows of what nothing is fitted to, from
    the rows of the fit. source: of what the fit depends on besides this package, a file of the user's own.
    """

    table: str
    model: AnyModel
    free: Ranges
    arms: Mapping[str, SimulatedColumn]
    held: Mapping[str, object] = field(default_factory=dict)
    operations: int = 2000
    scales: bool = True
    made: Callable[[], Sequence[Column]] | None = None
    checked: Callable[[Sequence[Row]], list[Row]] | None = None
    source: str = ""

    def columns(self) -> list[Column]:
        """Of each arm its published curve, or that of `made`; what is given is in the arms.

        Raises BadInput for an arm of which there is no column.
        """
        found = published_columns(self.table) if self.made is None else self.made()
        known = {one.name: replace(one, given=None) for one in found}
        if missing := [name for name in self.arms if name not in known]:
            raise BadInput(f"{self.table} has no column {missing[0]!r}{near(missing[0], known)}")
        return [known[name] for name in self.arms]

    def simulated_model(self) -> SimulatedModel:
        return SimulatedModel(
            self.model,
            self.free,
            self.held,
            arms=tuple(self.arms.values()),
            scales=self.scales,
            operations=self.operations,
            scan_starts=16,
        )

    def fixed(self) -> dict[str, float]:
        """Which arm is which column's, as `fit` takes it."""
        return {f"arm[{column}]": k for k, column in enumerate(self.arms)}


def figures(table: str, name: str, threads: int, values: Sequence[float], unit: str) -> Column:
    """Repeats of one published figure, at one number of threads."""
    rates = np.array(values, dtype=np.float64)
    return Column(table, name, np.full(len(rates), float(threads)), rates, None, unit, "published")
