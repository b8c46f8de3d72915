# SPDX-License-Identifier: MIT
"""Sweeps for people: progress with time left, points that survive an interrupt, a data frame."""

import contextlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from lockscale.keep_file import KeepFile
from lockscale.progress import Progress, progress
from lockscale.sim.model import plain
from lockscale.sim.models import AnyModel, load_model
from lockscale.sim.parallel import Client
from lockscale.sim.sweep import Point, key_of, plan, sweep, version_of


def sweep_points(
    model: AnyModel,
    threads: Sequence[int],
    design: Sequence[Mapping[str, object]],
    *,
    seed: int = 1,
    replications: int = 5,
    operations: int = 20_000,
    client: Client | None = None,
    keep: Path | None = None,
) -> list[Point]:
    """As ``lockscale.sim.sweep.sweep``, with progress; ``keep`` names a file for finished points.

    A second call with the same file simulates only what it lacks. Raises BadInput for a file of
    other settings or of another version of the simulator or of the model's file.
    """
    known = load_model(model)
    tasks = plan(known, threads, design)
    given = {"seed": seed, "replications": replications, "operations": operations}
    numbers = {name: plain(number) for name, number in given.items()}
    settings = {"model": known.name, **numbers}
    file = KeepFile(keep, {**settings, "simulator": version_of(known)}) if keep else None
    with file.in_use() if file else contextlib.nullcontext():
        kept = file.read() if file else []
        missing = len(tasks.keys() - {key_of(p["parameters"], p["threads"]) for p in kept})
        with progress(f"sweep {known.name}", missing) as shown:
            return sweep(
                known,
                threads,
                design,
                **numbers,
                client=client,
                done=kept,
                on_point=_each(file, shown, len(tasks) - missing),
            )


def _each(file: KeepFile | None, shown: Progress, kept: int) -> Callable[[Point], None]:
    """What to do with a finished point: keep it, then show how far the sweep is."""
    finished = itertools.count(1)
    note = f"points, {kept} kept from before" if kept else "points"

    def on_point(point: Point) -> None:
        if file:
            file.add(point)
        shown.update(next(finished), note)

    return on_point


def sweep_table(model: AnyModel, points: Sequence[Point]) -> pd.DataFrame:
    """Long form: model, one column a parameter, threads, metric, unit, value, low, high,
    attempts_per_op, calibration, origin."""
    columns = ("threads", "metric", "unit", "value", "low", "high", "attempts_per_op", "calibration")
    name = load_model(model).name
    rows = [
        {
            "model": name,
            **point["parameters"],
            **{name: point[name] for name in columns},
            "origin": "simulated",
        }
        for point in points
    ]
    return pd.DataFrame(rows)
