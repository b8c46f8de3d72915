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

from lockscale.show.explore.setting import (
    LOCK_KINDS,
    OPERATIONS_FINE,
    REPLICATIONS,
    SEED,
    TIMES,
    Setting,
    default,
    model_of,
    scene,
)
from lockscale.sim import Result, simulate
from lockscale.sim.results import LockStatistics
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


def numbers(view: View) -> list[str]:
    """What `lockscale sim` prints of the chosen point, a line each."""
    at = view.at
    return [
        f"{view.setting.arm} at {at.threads} thread{'s' * (at.threads > 1)}, simulated: "
        f"{digits(at.rate_per_s)} {at.unit}{_interval(at)}, attempts per operation {at.attempts_per_op:.4g}",
        *([_APART] if _are_apart(at) else []),
        *_lock_lines(view),
        *_line_lines(view.at),
    ]


APART = 2.0
"""The fastest run over the slowest, from which on they are said to differ."""
_APART = (
    "These runs differ: attempts, waits and holds are means over the acquisitions of all of them, so they "
    "are mostly those of the slow runs, and rate x wait is not how many threads wait."
)


def _are_apart(at: Result) -> bool:
    return max(at.rates_per_s) > APART * min(at.rates_per_s)


def _interval(at: Result) -> str:
    """Of the mean; of runs in different states the runs themselves, as they have no mean to speak of."""
    if at.low is None or at.high is None:
        return ""
    if at.low == at.high:
        return " (all runs alike)"
    if _are_apart(at):
        return f" (the mean of runs with {', '.join(map(digits, sorted(at.rates_per_s)))})"
    return f" [{digits(at.low)}, {digits(at.high)}]"


def runs(view: View) -> str:
    """How long the runs are, whether longer ones follow, and of which run the timeline is."""
    long = f"{REPLICATIONS} runs of {view.setting.operations:,} operations"
    begins = _begins(view)
    if not view.setting.is_quick:
        return f"{long} each; a 95% interval is over these runs.{begins}"
    return (
        f"Quick look: {long} each; a storm can begin after they end. "
        f"It is redrawn with {OPERATIONS_FINE:,} once you stop.{begins}"
    )


def _begins(view: View) -> str:
    """That the timeline, which is the first run's start, shows another state than the numbers."""
    name = view.setting.of.lock_of(view.setting.arm)
    lock = view.at.locks.get(name)
    if lock is None or locks_of_name(view, name) > 1:
        return ""
    begun = busiest(view, name)
    if max(begun, lock.busy) < APART * min(begun, lock.busy) or abs(begun - lock.busy) < LEAST_APART:
        return ""
    return (
        f" The timeline is the start of the first run, where {name} is held {begun:.0%} of the time; in all "
        f"runs it is {lock.busy:.0%}."
    )


def calibration(view: View) -> str:
    """Which of the model's numbers were fitted, and to what; none of a model whose sliders were moved."""
    fitted = view.at.calibration or "not calibrated: its numbers were changed"
    setting = view.setting
    also = f"; what only {setting.arm} has is assumed" if setting.arm in setting.of.assumed else ""
    if setting.of.any_kind and setting.kind != LOCK_KINDS[0]:
        also += f"; the kind {setting.kind} is assumed"
    return f"model {setting.of.model}, {fitted}{also}"


def sliders(setting: Setting) -> str:
    """What the two times mean to the model; a lock can be held for more than `hold`, and more than once."""
    meanings = {one.name: one.meaning for one in model_of(setting.of.model).parameters}
    said = [
        f"slider {slider}: {meanings[name]}"
        if depends(setting.scene, setting.arm, name)
        else f"slider {slider}: {setting.arm} has no such {'section' if slider == 'hold' else 'work'}"
        for slider, name in TIMES.items()
    ]
    if setting.of.any_kind and setting.cpus:
        said.append(
            "host CPUs: of a guest whose waiters do not halt, as paravirtual spin locks would have them; on "
            "x86 such a guest has the unfair lock"
        )
    return "; ".join([*said, "the holds above are of all that is done under a lock"])


@functools.cache
def depends(scene_name: str, arm: str, parameter: str) -> bool:
    """Whether anything that the arm does takes that time: whether operations take longer with more of it."""
    of = scene(scene_name)
    model, few = model_of(of.model), {"seed": SEED, "replications": 1, "operations": 100, "workers": 1}
    more = {**of.arms[arm], parameter: 4 * default(of, parameter)}
    return simulate(model, 2, of.arms[arm], **few).rates_per_s != simulate(model, 2, more, **few).rates_per_s


def removes(view: View) -> str:
    """What the arm that it is compared with changes; empty where nothing is compared."""
    at, other = view.at, view.other_at
    if other is None:
        return ""
    known = view.setting.of
    before, after = view.setting.arm, known.after(view.setting.arm)
    if known.is_later(before):
        before, after, at, other = after, before, other, at
    waits = [
        _waits_per_operation(result, known.lock_of(arm)) for arm, result in ((before, at), (after, other))
    ]
    times = f"{digits(float(f'{other.rate_per_s / at.rate_per_s:.3g}'))}x"
    if _overlap(at, other):
        alike = 1 / ALIKE < other.rate_per_s / at.rate_per_s < ALIKE
        why = "no difference" if alike else "the 95% intervals overlap: too few runs for a ratio"
        times = why
    return (
        f"{after} instead of {before}: {digits(at.rate_per_s)} to {digits(other.rate_per_s)} {at.unit} "
        f"({times}); attempts per operation {at.attempts_per_op:.4g} to "
        f"{other.attempts_per_op:.4g}; lock wait per operation {waits[0]} to {waits[1]}"
    )


ALIKE = 1.02
"""Rates of two arms whose intervals overlap and that are nearer than this do not differ."""


def _waits_per_operation(result: Result, lock: str) -> str:
    """At all locks, and at which of them most; `lock` is named where nobody waits."""
    waits_us = {name: wait_us_per_operation(result, name) for name in result.locks}
    total_us = sum(waits_us.values())
    most = max(waits_us, key=lambda name: waits_us[name], default=lock)
    if not total_us:
        return f"0 us at {lock}"
    if waits_us[most] > 0.99 * total_us:
        return f"{digits(total_us)} us at {most}"
    return f"{digits(total_us)} us ({digits(waits_us[most])} of them at {most})"


def _overlap(one: Result, other: Result) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low <= other.high and other.low <= one.high and one.rate_per_s != other.rate_per_s


def _lock_lines(view: View) -> list[str]:
    return [
        f"{name}: wait {duration(lock.wait_ns_mean)}, hold {duration(lock.hold_ns_mean)}, "
        f"busy {_busy(view, name, lock.busy)}{_wakes(lock)}"
        for name, lock in view.at.locks.items()
        if lock.acquisitions
    ]


def _wakes(lock: LockStatistics) -> str:
    """Of locks whose waiters sleep: the hold of one that was handed the lock begins before it is awake."""
    if not lock.wakes:
        return ""
    each = lock.wakes / lock.acquisitions
    return f"; wake-ups per acquisition {each:.2g} (a sleeper that is handed the lock holds it meanwhile)"


LEAST_APART = 0.1
"""Of the time: a timeline whose lock is held by so much more or less than in all runs is another state."""
LEAST_LINE = 0.01
"""Of the threads' time: a cache line for which they wait less is not mentioned."""


def _line_lines(at: Result) -> list[str]:
    """The cache lines for which threads wait, the longest first: they run meanwhile, as a profile has it."""
    threads_s = at.threads * sum(at.operations / rate for rate in at.rates_per_s)
    shares = {
        name: one.operations * (one.wait_ns_mean or 0.0) / 1e9 / threads_s for name, one in at.lines.items()
    }
    return [
        f"cache line {name}: wait {duration(at.lines[name].wait_ns_mean)}, {share:.0%} of the threads' time "
        "(they run while they wait for a line)"
        for name, share in sorted(shares.items(), key=lambda one: -one[1])
        if share >= LEAST_LINE
    ]


def _busy(view: View, name: str, mean: float) -> str:
    """A mean over many locks says little of the one that all want."""
    locks = locks_of_name(view, name)
    if locks == 1:
        return f"{mean:.0%}"
    busy = busiest(view, name)
    return f"{mean:.1%} on average of its {locks:,} locks, {busy:.0%} the busiest in the timeline"


def duration(time_ns: float | None) -> str:
    """In ns, us or ms, whichever has at most five digits before the point."""
    if time_ns is None:
        return "unknown"
    unit, per_unit = next((one for one in (("ns", 1.0), ("us", 1e3)) if time_ns < 1e5 * one[1]), ("ms", 1e6))
    return f"{digits(time_ns / per_unit)} {unit}"


def digits(value: float | None) -> str:
    """To four digits, without an exponent."""
    if value is None:
        return "unknown"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
