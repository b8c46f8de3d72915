# SPDX-License-Identifier: MIT
"""``simulate``: a model at a number of threads, replicated."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from lockscale.sim.delays import PS_PER_NS, PS_PER_S
from lockscale.sim.engine.layout import HOLDS, STATES, WAITS
from lockscale.sim.executors import cpus
from lockscale.sim.model import plain
from lockscale.sim.models import AnyModel, load_model
from lockscale.sim.primitives import Primitive, whole_number
from lockscale.sim.program import Program
from lockscale.sim.replicate import MAX_THREADS, OPERATIONS, Counts, bucket_edge_ns, replicate
from lockscale.sim.results import (
    ClassStatistics,
    GateStatistics,
    Histogram,
    LineStatistics,
    LockStatistics,
    Result,
    mean_interval,
    rate_interval,
)

MAX_REPLICATIONS = 10_000


def simulate(
    model: AnyModel,
    threads: int,
    parameters: Mapping[str, object] | None = None,
    *,
    seed: int = 1,
    replications: int = 5,
    operations: int = OPERATIONS,
    warm_up: int | None = None,
    workers: int | None = None,
) -> Result:
    """Simulate a model; every replication counts ``operations`` after its warm-up.

    ``warm_up``: operations that are cut off before, by default a quarter of those that count. With 0 the
    start counts, as in a load that begins on a file system made anew.

    ``model``: a name of ``list_models()``, the path of a file of your own that ends in .py, or the
    model itself.

    The interval is by Student's t over the replications; of a single one over 20 batches of its
    operations (batch means, which takes batches to be long against the model's memory).
    ``workers``: OS threads for the replications, by default one a CPU. The same arguments give the
    same bits with any number of them. Raises BadInput for an unknown model or parameter and for
    numbers out of range.
    """
    numbers = (replications, threads, seed, operations, warm_up)
    replications, threads, seed, operations, warm_up = map(plain, numbers)
    workers = cpus() if workers is None else plain(workers)
    whole_number("replications", replications, 1, MAX_REPLICATIONS)
    whole_number("threads", threads, 1, MAX_THREADS)
    whole_number("workers", workers, 1, MAX_REPLICATIONS)
    known = load_model(model)
    values = known.bind(parameters or {})
    program = known.program(values, threads)

    def one(replication: int) -> Counts:
        return replicate(program, seed=seed, replication=replication, operations=operations, warm_up=warm_up)

    counts = _in_parallel(one, replications, workers)
    rates = tuple(c.operations * PS_PER_S / c.window_ps for c in counts)
    mean, low, high = rate_interval(rates)
    if replications == 1:
        low, high = _batch_interval(counts[0])
    return Result(
        model=known.name,
        unit=known.unit,
        calibration=known.calibration_of(values),
        parameters=values,
        threads=threads,
        seed=seed,
        operations=operations,
        rates_per_s=rates,
        rate_per_s=mean,
        low=low,
        high=high,
        interval="replications" if replications > 1 else "batch means",
        attempts_per_op=1 + sum(c.retries for c in counts) / sum(c.operations for c in counts),
        transitions=sum(c.transitions for c in counts),
        **statistics(program, counts),
    )


def _in_parallel(one: Any, replications: int, workers: int) -> list[Counts]:
    if workers == 1 or replications == 1:
        return [one(r) for r in range(replications)]
    with ThreadPoolExecutor(min(workers, replications)) as pool:
        return list(pool.map(one, range(replications)))


def _batch_interval(counts: Counts) -> tuple[float | None, float | None]:
    """The interval of the time an operation takes, over batches, as one of the rate."""
    batches = len(counts.batches_ps)
    if counts.operations < batches:
        return None, None
    sizes = -np.diff(-np.arange(batches + 1) * counts.operations // batches)  # as run_ops.first_of_batch
    _, low, high = mean_interval([float(b) / n for b, n in zip(counts.batches_ps, sizes, strict=True)])
    if low is None or high is None or low <= 0:
        return None, None
    return PS_PER_S / high, PS_PER_S / low


def statistics(program: Program, counts: Sequence[Counts]) -> dict[str, Any]:
    """What ``Result`` says of primitives, classes and steps, over all replications."""
    window_ps = sum(c.window_ps for c in counts)
    operations = sum(c.operations for c in counts)
    visits = np.sum([c.world.ops["visits"] for c in counts], axis=0)
    in_state_ps = np.sum([c.world.in_state_ps for c in counts], axis=0)
    calls: dict[str, float] = {}
    for step, n in zip(program.steps, visits, strict=True):
        calls[step] = calls.get(step, 0.0) + int(n) / operations
    return {
        "locks": {p.name: _lock(p, k, counts, window_ps) for k, p in enumerate(program.names["lock"])},
        "lines": {p.name: _line(p, counts) for p in program.names["line"]},
        "gates": {p.name: _gate(p, counts) for p in program.names["gate"]},
        "classes": _classes(program, counts, in_state_ps, window_ps),
        "calls_per_op": calls,
        "in_state_ns": tuple(tuple(float(t) / PS_PER_NS for t in row) for row in in_state_ps),
    }


def _total(p: Primitive, table: str, counts: Sequence[Counts]) -> Any:
    """Sums over a primitive's shards and all replications, by the column's name."""
    rows = [getattr(c.world, table)[p.first : p.first + p.shards] for c in counts]
    return lambda column: sum(int(r[column].sum()) for r in rows)


def _mean_ns(total_ps: int, n: int) -> float | None:
    return total_ps / n / PS_PER_NS if n else None


def _histogram(counts: Sequence[Counts], lock: int, which: int) -> Histogram:
    sums = np.sum([c.world.histograms[lock, which] for c in counts], axis=0)
    return tuple((bucket_edge_ns(int(k)), int(sums[k])) for k in np.flatnonzero(sums))


def _lock(p: Primitive, index: int, counts: Sequence[Counts], window_ps: int) -> LockStatistics:
    of = _total(p, "locks", counts)
    taken = of("acquisitions")
    return LockStatistics(
        acquisitions=taken,
        wait_ns_mean=_mean_ns(of("wait_ps"), taken),
        hold_ns_mean=_mean_ns(of("hold_area_ps"), taken),
        **{name: of(name) for name in ("requests", "failed_tries", "handovers", "remote_handovers", "wakes")},
        busy=of("hold_area_ps") / window_ps / p.shards,
        waiting_mean=of("wait_area_ps") / window_ps,
        wait_histogram=_histogram(counts, index, WAITS),
        hold_histogram=_histogram(counts, index, HOLDS),
    )


def _line(p: Primitive, counts: Sequence[Counts]) -> LineStatistics:
    of = _total(p, "lines", counts)
    n = of("requests")
    return LineStatistics(
        operations=n,
        wait_ns_mean=_mean_ns(of("wait_ps"), n),
        cost_ns_mean=_mean_ns(of("hold_ps"), n),
        **{name: of(name) for name in ("from_own", "from_socket", "from_remote", "lost")},
    )


def _gate(p: Primitive, counts: Sequence[Counts]) -> GateStatistics:
    of = _total(p, "gates", counts)
    return GateStatistics(of("entered"), of("commits"), _mean_ns(of("wait_ps"), of("entered")))


def _classes(
    program: Program, counts: Sequence[Counts], in_state_ps: Any, window_ps: int
) -> dict[str, ClassStatistics]:
    of_thread = np.array(program.classes())
    found = {}
    for k, name in enumerate(program.path_names):
        times = in_state_ps[of_thread == k].sum(axis=0)
        done = sum(int(c.world.paths["done"][k]) for c in counts)
        total = max(1, int(times.sum()))
        shares = {state: int(t) / total for state, t in zip(STATES, times, strict=True)}
        found[name] = ClassStatistics(int((of_thread == k).sum()), done, done * PS_PER_S / window_ps, shares)
    return found
