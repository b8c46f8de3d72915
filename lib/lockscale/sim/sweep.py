# SPDX-License-Identifier: MIT
"""A model over many parameter sets and numbers of threads, on all CPUs here or on Dask.

A point is a pure function of its arguments: it has the same bits in one thread or many, here or on
a worker, at once or after a worker has died. All points share one seed, so two parameter sets meet
the same random numbers and their difference is less noisy than either (common random numbers).

A design is the list of parameter sets that a sweep visits.
"""

import functools
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lockscale.errors import BadInput, RunFailed
from lockscale.sim.executors import Client, Dask, Threads
from lockscale.sim.model import Model, plain
from lockscale.sim.models import AnyModel, is_shipped, load_model
from lockscale.sim.primitives import whole_number
from lockscale.sim.replicate import MAX_THREADS, OPERATIONS
from lockscale.sim.simulation import simulate

MAX_POINTS = 100_000
Design = list[dict[str, object]]


def grid(values: Mapping[str, Sequence[Any]]) -> Design:
    """Full factorial: every combination of the values; the last name varies fastest.

    Without names it is one empty set: the model's defaults.
    """
    for name, several in values.items():
        if np.ndim(several) != 1:
            raise BadInput(f"the grid has {several!r} for '{name}': give a list of values")
        if not len(several):
            raise BadInput(f"the grid has no value for '{name}': give one or more")
    _check_size(math.prod(len(several) for several in values.values()))
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]


def latin_hypercube(ranges: Mapping[str, tuple[float, float]], samples: int, seed: int) -> Design:
    """``samples`` sets; each of ``samples`` equal parts of every range is met exactly once.

    ``ranges`` gives (low, high) in the parameter's unit. McKay, Beckman and Conover,
    Technometrics 21 (1979); scipy's implementation.
    """
    samples, seed = plain(samples), plain(seed)
    whole_number("samples", samples, 1, MAX_POINTS)
    whole_number("seed", seed, 0, 2**63 - 1)
    if not ranges:
        raise BadInput("a Latin hypercube needs a range: give at least one parameter low and high")
    for name, ends in ranges.items():
        low, high = map(plain, ends)
        switch = isinstance(low, bool) or isinstance(high, bool)
        if switch or not -math.inf < low < high < math.inf:
            raise BadInput(
                f"the range of '{name}' is {low} to {high}: give two finite numbers, low < high; "
                "a switch belongs in a grid"
            )
    from scipy.stats import qmc  # slow to import, and a grid does without

    lows, highs = zip(*ranges.values(), strict=True)
    unit = qmc.LatinHypercube(d=len(ranges), rng=seed).random(samples)
    return [dict(zip(ranges, row, strict=True)) for row in qmc.scale(unit, lows, highs).tolist()]


def cross(first: Design, second: Design) -> Design:
    """Every set of the first design with every set of the second, which varies faster."""
    _check_size(len(first) * len(second))
    both = set().union(*first) & set().union(*second)
    if both:
        raise BadInput(f"parameter '{min(both)}' is in both designs: vary it in one")
    return [{**a, **b} for a in first for b in second]


def _check_size(points: int) -> None:
    if not 1 <= points <= MAX_POINTS:
        raise BadInput(f"the design has {points} points: give 1 to {MAX_POINTS}")


Point = dict[str, Any]
"""`lockscale sim`'s point with its parameters, rates_per_s, transitions and calibration: JSON values
only, so that it is the same whether it comes from here, from a worker or from a file."""

POINT_KEYS = (
    *("parameters", "threads", "metric", "unit", "value", "low", "high", "interval", "attempts_per_op"),
    *("locks", "lines", "gates", "classes", "calls_per_op", "rates_per_s", "transitions", "calibration"),
)
"""What every point has."""

Task = tuple[dict[str, Any], int]


class SweepInterrupted(KeyboardInterrupt):
    """The user stopped a sweep. ``points`` has what is finished, in the design's order."""

    def __init__(self, points: list[Point], wanted: int) -> None:
        super().__init__(f"interrupted: {len(points)} of {wanted} points are done")
        self.points = points


def sweep(
    model: AnyModel,
    threads: Sequence[int],
    design: Iterable[Mapping[str, object]],
    *,
    seed: int = 1,
    replications: int = 5,
    operations: int = OPERATIONS,
    client: Client | None = None,
    done: Iterable[Point] = (),
    on_point: Callable[[Point], None] = lambda point: None,
) -> list[Point]:
    """Every parameter set at every number of threads, in the design's order, threads fastest.

    ``done``: points of an earlier sweep with the same settings, which are not simulated again.
    ``on_point`` is called in the caller's thread with each new point when it is finished, and with
    one point a second time if it is interrupted itself.

    Of a user's own model Dask workers need no file: they are sent what its function uses, but for
    what it imports, which each must have.

    Raises BadInput before anything runs for an unknown parameter or a bad value; SweepInterrupted with
    the finished points on an interrupt; RunFailed if Dask gives up.
    """
    known = load_model(model)
    tasks = plan(known, threads, design)
    found = {key: point for point in done if (key := key_of(point["parameters"], point["threads"])) in tasks}
    sent = known.name if is_shipped(known) else known  # every worker has it, of the same version
    work = functools.partial(simulate_point, simulator(), sent, seed, replications, operations)
    missing = {key: task for key, task in tasks.items() if key not in found}
    for values, n in missing.values():
        known.program(values, n)
    try:
        if missing:
            _run(work, missing, Dask(client) if client is not None else Threads(), found, on_point)
    except KeyboardInterrupt:
        raise SweepInterrupted([found[key] for key in tasks if key in found], len(tasks)) from None
    return [found[key] for key in tasks]


def plan(model: AnyModel, threads: Sequence[int], design: Iterable[Mapping[str, object]]) -> dict[str, Task]:
    """A sweep's points: key -> (all parameters, threads), in order. Raises BadInput for bad ones."""
    if np.ndim(threads) != 1 or isinstance(design, Mapping):
        raise BadInput("a sweep takes lists of threads and of parameter sets: write [1, 48] and [{}]")
    known = load_model(model)
    tasks: dict[str, Task] = {}
    threads = [plain(n) for n in threads]
    for n in threads:
        whole_number("threads", n, 1, MAX_THREADS)
    for given in design:
        values = known.bind(given)
        for n in threads:
            if (key := key_of(values, n)) in tasks:
                raise BadInput(f"the sweep has a point twice: {_place(known, values, n)}; give it once")
            tasks[key] = (values, n)
            if len(tasks) > MAX_POINTS:
                raise BadInput(f"the sweep has more than {MAX_POINTS} points: give fewer values or samples")
    if not tasks:
        raise BadInput("the sweep has no points: give at least one parameter set and number of threads")
    return tasks


def key_of(parameters: Mapping[str, object], threads: int) -> str:
    """What makes a point one and the same."""
    return json.dumps([parameters, threads], sort_keys=True)


@functools.cache
def simulator() -> str:
    """The version of the simulator and its models, of which a point's bits are a function."""
    from lockscale.sim.engine.compiled import source_hash  # imports numba, which planning does without

    here = Path(__file__).parent
    return "".join(source_hash(folder) for folder in (here, here / "engine", here / "models"))


def version_of(model: Model) -> str:
    """The simulator's version and that of a user's model file; raises BadInput for a model of neither."""
    if not (model.source or is_shipped(model)):
        raise BadInput(
            f"model {model.name} is not in a file, so a change to it would go unnoticed: write it to a "
            f"file and give its path"
        )
    return simulator() + model.source


def simulate_point(
    version: str,
    model: AnyModel,
    seed: int,
    replications: int,
    operations: int,
    parameters: Any,
    threads: int,
) -> Point:
    """One point; on a worker it refuses to run another version of the simulator than the caller's."""
    if simulator() != version:
        raise RunFailed(
            "a Dask worker has a different version of the simulator: install this lockscale on every worker"
        )
    try:
        found = simulate(
            model,
            threads,
            parameters,
            seed=seed,
            replications=replications,
            operations=operations,
            workers=1,  # the sweep keeps all CPUs busy
        )
    except BadInput as error:
        raise BadInput(f"{_place(load_model(model), parameters, threads)}: {error}") from None
    point = {
        "parameters": found.parameters,
        **found.to_json(),
        "rates_per_s": found.rates_per_s,
        "transitions": found.transitions,
        "calibration": found.calibration,
    }
    same_everywhere: Point = json.loads(json.dumps(point))  # lists, not tuples
    return same_everywhere


def _run(
    work: Callable[..., Point],
    tasks: Mapping[str, Task],
    workers: Threads | Dask,
    found: dict[str, Point],
    on_point: Callable[[Point], None],
) -> None:
    def take(key: str, point: Point) -> None:
        on_point(point)  # first, so that an interrupt within it gives the point twice rather than never
        found[key] = point

    # A finished future is dropped, or Dask would compute it again when the worker that has it dies.
    pending: dict[Any, str] = {}
    # Those of many threads take longest: begun last, one of them would run alone at the end.
    order = sorted(tasks, key=lambda key: -tasks[key][1])
    try:
        pending.update(zip(workers.submit(work, [tasks[key] for key in order]), order, strict=True))
        for future, point in workers.finished(list(pending)):
            take(pending[future], point)
            del pending[future]
    finally:
        for future, point in workers.stop(pending):
            take(pending[future], point)


def _place(model: Model, values: Mapping[str, object], threads: int) -> str:
    default = model.bind({})
    changed = [f"{name}={value}" for name, value in values.items() if value != default.get(name)]
    return ", ".join([f"{model.name} with {threads} threads", *changed])
