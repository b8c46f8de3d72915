# SPDX-License-Identifier: MIT
"""`lockscale sweep` and `scale`: a model over many parameters and numbers of threads."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lockscale.cli.completion import models
from lockscale.cli.output import (
    INTERRUPTED,
    as_json,
    named_values,
    operations,
    replications,
    say,
    seed,
    show,
    table,
    thread_counts,
    threads_list,
)
from lockscale.errors import BadInput

if TYPE_CHECKING:
    from lockscale.sim.sweep import Design, Point


@click.command()
@click.argument("model", shell_complete=models)
@threads_list
@click.option(
    "--grid", "grids", multiple=True, metavar="NAME=VALUE,...", help="Every combination of these values."
)
@click.option(
    "--latin", "ranges", multiple=True, metavar="NAME=LOW:HIGH", help="Range for a Latin hypercube."
)
@click.option("--samples", type=int, help="Number of points of the Latin hypercube.")
@replications
@operations
@seed
@click.option(
    "--keep",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for finished points; the sweep resumes from it.",
)
@click.option("--dask", metavar="ADDRESS", help="Run on this Dask scheduler's workers.")
@as_json
def sweep(
    model: str,
    threads: str,
    grids: tuple[str, ...],
    ranges: tuple[str, ...],
    samples: int | None,
    replications: int,
    operations: int,
    seed: int,
    keep: Path | None,
    dask: str | None,
) -> int:
    """Simulate a model over a grid or a Latin hypercube of its parameters.

    MODEL is a name from `lockscale sim --list`, or the path of your own .py file. You can interrupt it at
    any time: finished points are printed, and with --keep the same command resumes.
    """
    from lockscale.files import need_place_for_file
    from lockscale.sim import load_model
    from lockscale.sim.sweep import SweepInterrupted, version_of
    from lockscale.sweeps import dask_client, sweep_points

    counts, design = thread_counts(threads), _design(grids, ranges, samples, seed)
    known = load_model(model)
    if keep:
        need_place_for_file(keep)
    status, numbers = 0, {"seed": seed, "replications": replications, "operations": operations}
    try:
        with dask_client(dask) if dask else contextlib.nullcontext() as client:
            points = sweep_points(known, counts, design, **numbers, client=client, keep=keep)
    except SweepInterrupted as stopped:
        points, status = stopped.points, INTERRUPTED
        goes_on = (
            "the same command continues from there" if keep else "--keep FILE keeps them for a second run"
        )
        say(f"lockscale: {stopped}; {goes_on}")
    value = {
        "model": known.name,
        "origin": "simulated",
        **numbers,
        "simulator": version_of(known),
        "complete": status == 0,
        "points": points,
    }
    show(value, f"{table(_rows(points))}\n\nsimulated")
    return status


def _design(grids: tuple[str, ...], ranges: tuple[str, ...], samples: int | None, seed: int) -> "Design":
    """The grid, the hypercube, or every set of the one with every set of the other."""
    from lockscale.sim.sweep import cross, grid, latin_hypercube

    given = named_values("--grid", grids)
    found = grid({name: [_value(name, v) for v in text.split(",")] for name, text in given.items()})
    if bool(ranges) != (samples is not None):
        raise BadInput("a Latin hypercube needs both --latin NAME=LOW:HIGH and --samples N: give both")
    if samples is None:
        return found
    bounds = dict(_range(name, text) for name, text in named_values("--latin", ranges).items())
    return cross(found, latin_hypercube(bounds, samples, seed))


def _value(name: str, text: str) -> float | bool:
    from lockscale.sim.model import read_parameters

    return read_parameters([f"{name}={text}"])[name]


def _range(name: str, text: str) -> tuple[str, tuple[float, float]]:
    low, colon, high = text.partition(":")
    if not colon:
        raise BadInput(f"--latin '{name}={text}' has no range: write {name}=LOW:HIGH")
    return name, (_value(name, low), _value(name, high))


def _rows(points: "list[Point]") -> "list[dict[str, Any]]":
    """What a person reads of each point: the parameters that vary, then the result."""
    first = points[0]["parameters"] if points else {}
    varied = [name for name in first if any(p["parameters"][name] != first[name] for p in points)]
    columns = ("threads", "unit", "value", "low", "high", "attempts_per_op")
    return [{**{n: p["parameters"][n] for n in varied}, **{c: p[c] for c in columns}} for p in points]


@click.command()
@click.option("--dask", metavar="ADDRESS", help="Run on this Dask scheduler's workers.")
@click.option("--keep", is_flag=True, help="Save the result in data/, for the figure and the notebook.")
@as_json
def scale(dask: str | None, keep: bool) -> None:
    """Simulate where ext4's create, allocation and orphan paths saturate next, up to 1024 CPUs.

    Parameters are drawn from the uncertainty of the scoreboard's fits. After an interrupt, the same command
    resumes.
    """
    from lockscale import paths
    from lockscale.files import need_clone
    from lockscale.show.scale import keep_scale, scale_study, scale_text
    from lockscale.studies.registry import studies
    from lockscale.sweeps import dask_client

    if keep:
        need_clone("the scale study is kept in data/", paths.DATA)
    with dask_client(dask) if dask else contextlib.nullcontext() as client:
        found = scale_study([path for one in studies() for path in one.scale], client)
    if keep:
        keep_scale(found)
    rows = found.astype(object).where(found.notna(), None).to_dict("records")
    show(rows, scale_text(found))
