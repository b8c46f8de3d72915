# SPDX-License-Identifier: MIT
"""What the simulator says of a setting: the curve, the lock at the chosen threads, its timeline.

Beside it stands what was published, and all of it is said in words too. Every number is that of
`lockscale sim` with the same arguments: nothing is computed in another way, smoothed or scaled.
"""

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from lockscale.show.explore.setting import REPLICATIONS, SEED, Setting, default, model_of, scene
from lockscale.sim import Result, simulate
from lockscale.sim.trace import Trace, trace
from lockscale.tables import published

SPANS = 2400
"""Transitions in the timeline, about four a bar; its length follows."""


@dataclass(frozen=True)
class View:
    """`curve`: one result for each of the setting's counts; `other`: the same of the arm that it is compared
    with, empty if it is not asked for. `at` and `other_at` are those of the chosen threads."""

    setting: Setting
    curve: tuple[Result, ...]
    other: tuple[Result, ...]
    timeline: Trace

    @property
    def at(self) -> Result:
        return _at(self.curve, self.setting.threads)

    @property
    def other_at(self) -> Result | None:
        return _at(self.other, self.setting.threads) if self.other else None


def view(setting: Setting) -> View:
    """Simulate what the setting asks for; points that were asked before are not simulated again."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = tuple(pool.map(_result, _points(setting)))
    curve, other = found[: len(setting.counts())], found[len(setting.counts()) :]
    return View(setting, curve, other, _timeline(replace(setting, compare=False)))


def view_while(setting: Setting, wanted: Callable[[], bool]) -> View | None:
    """The same point after point, which leaves a CPU to others; None as soon as it is not wanted any more."""
    for point in _points(setting):
        if not wanted():
            return None
        _result(point)
    return view(setting)


def wait_us_per_operation(result: Result, lock: str) -> float:
    """How long an operation waits for the lock, all its attempts together."""
    found = result.locks.get(lock)
    if found is None or not found.wait_ns_mean:
        return 0.0
    operations = result.operations * len(result.rates_per_s)
    return found.acquisitions * found.wait_ns_mean / operations / 1000


def locks_of_name(view: View, name: str) -> int:
    """How many locks have this name: one a block group, say."""
    return _shards(replace(view.setting, compare=False)).get(name, 1)


def busiest(view: View, name: str) -> float:
    """The share of the timeline in which the busiest lock of this name is held, by one or more."""
    whole_ps = view.timeline.to_ps - view.timeline.from_ps
    held_ps: dict[str, int] = {}
    until_ps: dict[str, int] = {}
    for one in view.timeline.holds:  # by lock and time
        if one.lock.partition("[")[0] == name:
            start_ps = max(one.start_ps, until_ps.get(one.lock, 0))  # readers hold it side by side
            held_ps[one.lock] = held_ps.get(one.lock, 0) + max(0, one.end_ps - start_ps)
            until_ps[one.lock] = max(one.end_ps, start_ps)
    return max(held_ps.values(), default=0) / whole_ps


@functools.lru_cache(maxsize=256)
def _shards(point: Setting) -> dict[str, int]:
    program = model_of(point.of.model).program(_result(point).parameters, point.threads)
    return {lock.name: lock.shards for lock in program.names["lock"]}


def _points(setting: Setting) -> list[Setting]:
    """Each point that it asks for, as a setting that compares nothing."""
    arms = [setting.arm, *([setting.of.after(setting.arm)] if setting.compare else [])]
    return [replace(setting, arm=arm, threads=n, compare=False) for arm in arms for n in setting.counts()]


def _at(curve: tuple[Result, ...], threads: int) -> Result:
    return next(result for result in curve if result.threads == threads)


@functools.lru_cache(maxsize=4096)
def _result(point: Setting) -> Result:
    numbers = {"seed": SEED, "replications": REPLICATIONS, "operations": point.operations}
    model = model_of(point.of.model)
    return simulate(model, point.threads, point.parameters(), **numbers, workers=1)  # points run side by side


@functools.lru_cache(maxsize=256)
def _timeline(point: Setting) -> Trace:
    """The start of the first replication, as long as makes SPANS transitions."""
    at, model = _result(point), model_of(point.of.model)
    transitions_per_us = at.transitions / (at.operations * len(at.rates_per_s)) * at.rate_per_s / 1e6
    for_us, given = float(f"{SPANS / transitions_per_us:.2g}"), point.parameters()
    return trace(model, point.threads, given, for_us=for_us, seed=SEED, operations=point.operations)


Points = tuple[tuple[int, float], ...]
PER_CONTAINER = "mean_per_container"
"""A statistic of which all threads together make so many times more."""


@functools.cache
def published_points(known: str, arm: str) -> Points:
    """(threads, rate per second) of each printed value of the arm; none for an arm that was not published.

    Rates of one container are taken times containers. Times of an unpublished amount of work
    are threads over time, scaled so that the arm `scaled` has its simulated rate at one thread.
    """
    of = scene(known)
    rows = published(of.table)
    rows = rows[(rows.metric == of.metric) & (rows.statistic == of.statistic)]
    here = rows[rows.arm == arm]
    pairs = [(int(n), float(v)) for n, v in zip(here.threads, here.value, strict=True)]
    if of.statistic == PER_CONTAINER:
        return tuple((n, n * rate) for n, rate in pairs)
    if of.scaled:
        time_of_one = float(rows[(rows.arm == of.scaled) & (rows.threads == 1)].value.iloc[0])
        scale = time_of_one * view(Setting(known, of.scaled, 1, compare=False)).at.rate_per_s
        return tuple((n, scale * n / time) for n, time in pairs)
    return tuple(pairs)


@functools.cache
def depends(scene_name: str, arm: str, parameter: str) -> bool:
    """Whether anything that the arm does takes that time: whether operations take longer with more of it."""
    of = scene(scene_name)
    model, few = model_of(of.model), {"seed": SEED, "replications": 1, "operations": 100, "workers": 1}
    more = {**of.arms[arm], parameter: 4 * default(of, parameter)}
    return simulate(model, 2, of.arms[arm], **few).rates_per_s != simulate(model, 2, more, **few).rates_per_s
