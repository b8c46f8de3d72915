# SPDX-License-Identifier: MIT
"""What a view shows, said in words: below the explorer's figure, and for whoever cannot see it."""

from lockscale.show.explore.setting import LOCK_KINDS, OPERATIONS_FINE, REPLICATIONS, TIMES, Setting, model_of
from lockscale.show.explore.view import View, busiest, depends, locks_of_name, wait_us_per_operation
from lockscale.sim import Result
from lockscale.sim.results import LockStatistics


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
        f"{name}: {meanings[name]}"
        if depends(setting.scene, setting.arm, name)
        else f"{name}: {setting.arm} has no such {'section' if slider == 'hold' else 'work'}"
        for slider, name in TIMES.items()
    ]
    if setting.shares_cpus:
        said.append(
            "host CPUs: of a guest whose waiters do not halt, as paravirtual spin locks would have them; on "
            "x86 such a guest has the unfair lock"
        )
    return "; ".join([*said, "the holds above are of all that is done under a lock"])


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
        times = "no difference" if alike else "the 95% intervals overlap: too few runs for a ratio"
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
        f"{name}: {_wait_and_hold(lock.wait_ns_mean, lock.hold_ns_mean)}, "
        f"busy {_busy(view, name, lock.busy)}{_wakes(lock)}"
        for name, lock in view.at.locks.items()
        if lock.acquisitions
    ]


def _wait_and_hold(wait_ns: float | None, hold_ns: float | None) -> str:
    """Both in us where duration() would give one of them another unit: so they compare at sight."""
    wait, hold = duration(wait_ns), duration(hold_ns)
    if wait_ns is not None and hold_ns is not None and wait.split()[1] != hold.split()[1]:
        wait, hold = (f"{digits(time_ns / 1e3)} us" for time_ns in (wait_ns, hold_ns))
    return f"wait {wait}, hold {hold}"


def _wakes(lock: LockStatistics) -> str:
    """Of locks whose waiters sleep: a spinner holds one that is handed over, or the sleeper that wakes up."""
    if not lock.wakes:
        return ""
    meanwhile = "it is held meanwhile" if lock.handovers else "it is free meanwhile"
    return f"; wake-ups per acquisition {lock.wakes / lock.acquisitions:.2g} ({meanwhile})"


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
