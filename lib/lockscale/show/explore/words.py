# SPDX-License-Identifier: MIT
"""A view in words: the numbers at the chosen threads, and what the patch removes."""

from lockscale.show.explore.setting import OPERATIONS_FINE, REPLICATIONS
from lockscale.show.explore.view import View, busiest, locks_of_name, wait_us_per_operation


def numbers(view: View) -> list[str]:
    """What `lockscale sim` prints of the chosen point, a line each."""
    at = view.at
    interval = f" [{figure(at.low)}, {figure(at.high)}]" if at.low is not None else ""
    return [
        f"{view.setting.arm} at {at.threads} threads, simulated: "
        f"{figure(at.rate_per_s)} {at.unit}{interval}, {at.attempts_per_op:.4g} attempts an operation",
        *_locks(view),
    ]


def runs(view: View) -> str:
    """How long the runs are of which the numbers and the 95% are, and whether longer ones follow."""
    long = f"{REPLICATIONS} runs of {view.setting.operations:,} operations"
    if view.setting.fine:
        return f"{long} each; the interval of 95% is over these runs."
    return (
        f"Quick look: {long} each; a storm can begin later than they end. "
        f"It is drawn again with {OPERATIONS_FINE:,} when nothing moves."
    )


def removes(view: View) -> str:
    """What the arm that it is compared with changes; empty where nothing is compared."""
    at, other = view.at, view.other_at
    if other is None:
        return ""
    known = view.setting.of
    before, after = view.setting.arm, known.after(view.setting.arm)
    if known.patch[1] == before:  # the chosen one is the patched one
        before, after, at, other = after, before, other, at
    waits = [
        f"{figure(wait_us_per_operation(result, known.lock_of(arm)))} us at {known.lock_of(arm)}"
        for arm, result in ((before, at), (after, other))
    ]
    return (
        f"{after} in place of {before}: {figure(at.rate_per_s)} to {figure(other.rate_per_s)} {at.unit} "
        f"({other.rate_per_s / at.rate_per_s:.3g}x); attempts an operation {at.attempts_per_op:.4g} to "
        f"{other.attempts_per_op:.4g}; waiting of an operation {waits[0]} to {waits[1]}"
    )


def _locks(view: View) -> list[str]:
    return [
        f"{name}: wait {figure(lock.wait_ns_mean)} ns, hold {figure(lock.hold_ns_mean)} ns, "
        f"busy {_busy(view, name, lock.busy)}"
        for name, lock in view.at.locks.items()
        if lock.acquisitions
    ]


def _busy(view: View, name: str, mean: float) -> str:
    """A mean over many locks says little of the one that all want."""
    locks = locks_of_name(view, name)
    if locks == 1:
        return f"{mean:.0%}"
    return f"{busiest(view, name):.0%} the busiest of its {locks:,} (timeline), their mean {mean:.1%}"


def figure(value: float | None) -> str:
    """To four digits, without an exponent."""
    if value is None:
        return "unknown"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
