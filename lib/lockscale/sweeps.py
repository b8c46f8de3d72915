# SPDX-License-Identifier: MIT
"""Sweeps for people: progress with time left, points that survive an interrupt, a data frame, Dask.

A keep file has a header with the settings, then one point a line (lockscale.journal): a line that a kill
tore is simulated again.
"""

import asyncio
import contextlib
import importlib
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lockscale.errors import BadInput
from lockscale.files import locked
from lockscale.journal import add_line, drop_torn_line, line_of, read_lines, whole_part
from lockscale.progress import Progress, progress
from lockscale.sim.executors import Client
from lockscale.sim.model import plain
from lockscale.sim.models import AnyModel, load_model
from lockscale.sim.replicate import OPERATIONS
from lockscale.sim.sweep import POINT_KEYS, Point, key_of, plan, sweep, version_of

KIND = "points of lockscale sweep"
VERSION = "simulator"
NUMBERS = ("value", "low", "high", "attempts_per_op")
MAY_LACK = ("low", "high")


class KeepFile:
    """``settings`` decide a point beside its parameters and threads: model, seed and so on."""

    def __init__(self, path: Path, settings: Mapping[str, object]) -> None:
        self.path = path
        self.header = {"kind": KIND, **settings}

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep a second sweep off the file; beside one that is not a sweep's no lock is left."""
        self._check()
        with locked(self.path.with_name(f".{self.path.name}.lock"), f"the file {self.path}"):
            yield

    def read(self) -> list[dict[str, Any]]:
        """The points kept so far; raises BadInput for another file or other settings."""
        self._check()
        points = read_lines(self.path, _point, "delete the line to compute it again", skip=1)
        drop_torn_line(self.path)
        return points

    def add(self, point: Mapping[str, object]) -> None:
        """Append one point; it is on the disk when this returns."""
        if not self.path.exists() or self.path.stat().st_size == 0:
            add_line(self.path, self.header)
        add_line(self.path, point)

    def _check(self) -> None:
        """Raises BadInput for a file of somebody else's, or of other settings."""
        header, end, _ = whole_part(self.path).partition(b"\n")
        if not end:
            if self.path.exists() and not line_of(self.header).encode().startswith(self.path.read_bytes()):
                raise self._not_ours()
            return
        found = _object(header)
        if not found or found.get("kind") != KIND:
            raise self._not_ours()
        for name, wanted in json.loads(json.dumps(self.header)).items():
            if found.get(name) != wanted:
                of = f"{name} {found.get(name)}, not {wanted}"
                if name == VERSION:  # of two hashes nobody sees which file was edited
                    of = "another version of the model or of the simulator"
                raise BadInput(f"{self.path} keeps points of {of}: name another file or delete this one")

    def _not_ours(self) -> BadInput:
        return BadInput(f"{self.path} is not a file that lockscale sweep wrote: name another one")


def _point(line: bytes) -> dict[str, Any]:
    point = _object(line)
    if not point:
        raise BadInput("is not a point")
    if missing := [key for key in POINT_KEYS if key not in point]:
        raise BadInput(f"is a point without {', '.join(missing)}")
    if wrong := [key for key in NUMBERS if not _is_number(point[key], key in MAY_LACK)]:
        raise BadInput(f"has a point whose {wrong[0]} is {json.dumps(point[wrong[0]])}, not a finite number")
    try:
        json.dumps(point, allow_nan=False)
    except ValueError:
        raise BadInput("has a point with NaN or Infinity") from None
    return point


def _is_number(value: object, may_lack: bool) -> bool:
    if value is None:
        return may_lack
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _object(line: bytes) -> dict[str, Any] | None:
    """The JSON object of one line, or None."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def sweep_points(
    model: AnyModel,
    threads: Sequence[int],
    design: Sequence[Mapping[str, object]],
    *,
    seed: int = 1,
    replications: int = 5,
    operations: int = OPERATIONS,
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
    file = KeepFile(keep, {**settings, VERSION: version_of(known)}) if keep else None
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


@contextlib.contextmanager
def dask_client(address: str) -> Iterator[Client]:
    """A client of the scheduler there. Raises BadInput where none answers or it has no workers."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise BadInput("Dask is not installed: install lockscale with the extra `scale`") from None
    try:
        # tried first without a client: one that fails to start closes 10 s later, with a traceback
        asyncio.run(_reach(distributed, address))
        client = distributed.Client(address, timeout="5s", set_as_default=False)
    except (OSError, ValueError, TypeError) as error:  # TypeError: tls:// without certificates
        raise BadInput(
            f"no Dask scheduler answers at {address} ({error}): start one with `dask scheduler`"
        ) from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise BadInput(f"the Dask scheduler at {address} has no workers: start some with `dask worker`")
        yield client


async def _reach(distributed: Any, address: str) -> None:
    """Connect and hang up; raises as a client would."""
    options = distributed.Security().get_connection_args("client")
    comm = await distributed.comm.connect(address, timeout=5, **options)
    await comm.close()
