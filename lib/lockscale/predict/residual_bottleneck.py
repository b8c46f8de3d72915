# SPDX-License-Identifier: MIT
"""Tables without a profile: what an unpatched curve alone allows, and what one measured queue then gives.

From rates alone, a patched kernel that takes waits away and adds little work lies between the unpatched side
and threads that never wait: N times the rate of one. Which queue comes next is open. Its time for one
operation, as a share of the operation of one thread, closes it: when the queue is free (hold) and when
it is never idle (hold and hand-over). A lock profile of the unpatched side with two threads has both. It does
not have cache-line transfers: an operation that never waits may still slow down when others run. The
unpatched side has such transfers too, so they cannot cost a patch more than the unpatched side loses: the
unpatched side stays the low end.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lockscale.errors import BadInput
from lockscale.predict.answer import OWN_WORK, Open, ParameterEstimate, Waiting
from lockscale.predict.unpatched_columns import UnpatchedCurve, factor_of_two_values
from lockscale.progress import progress
from lockscale.queueing.laws.machine_repairman import HAND_OVER, MACHINE_REPAIRMAN

SHARE, ALONE = "left_share", "left_alone_share"
WHENCE = "derived from the unpatched rates: N - X(N) / X(1), all that does not scale"
GIVEN = {
    SHARE: "time of the queue left for one operation when it is never idle, over one thread's operation",
    ALONE: "the same when it is free; without it taken to be left_share",
}
MOVED = Open(
    "cache-line transfers",
    "an operation may take longer when others run, although it never waits for them",
    "the function cost of the operation with two threads, minus its waits",
)
TRIED = (
    f"{SHARE} leaves out cache-line transfers: the value is what this queue alone allows, and the low end "
    f"stays at the unpatched rate. Tried on S3's own patched column, 7 published values of a goal per inode: "
    f"with 0.2, "
    "which fits that of 64 containers, all 7 lie in the interval, but for 2 containers the value is 2.4 "
    "times too high; with 0.5 only 4 lie in it."
)
OPERATION_US = 100.0  # any: only shares of it count


class Band(NamedTuple):
    """Rates at each thread count of the unpatched side: prediction, and its interval."""

    value: list[float]
    low: list[float]
    high: list[float]


def between(unpatched: UnpatchedCurve, cpus: int | None = None, *, less_work: float = 0.0) -> Band:
    """Between the unpatched side and threads that never wait, each missed by scatter at most.

    unpatched: rates of all threads together. less_work: the share of one thread's operation that the patch
    may take away. Beyond `cpus` threads do not run at once.
    """
    by = OWN_WORK * factor_of_two_values(unpatched.values)
    most = [n if cpus is None else min(n, cpus) for n in unpatched.threads]
    low = [rate / by for rate in unpatched.values]
    high = [
        max(n * alone(unpatched) / (1 - less_work), rate) * by
        for n, rate in zip(most, unpatched.values, strict=True)
    ]
    return Band([float(np.sqrt(a * b)) for a, b in zip(low, high, strict=True)], low, high)


def behind(unpatched: UnpatchedCurve, given: Mapping[str, float]) -> Band:
    """With the residual bottleneck known: simulated; from the unpatched side, as lines may move, to that
    queue at best.

    Each end is missed by scatter and the patch's own work at most.
    """
    if SHARE not in given:
        raise BadInput(f"{ALONE} is given without {SHARE}: give both, or {SHARE} alone")
    share = given[SHARE]
    free = given.get(ALONE, share)
    if not 0 < free <= share or free >= 1:
        raise BadInput(f"{SHARE} is {share:g} and {ALONE} {free:g}: give 0 < {ALONE} <= {SHARE} < 1")
    times = {
        "elsewhere_us": OPERATION_US * (1 - free),
        "alone_us": OPERATION_US * free,
        "handover_us": OPERATION_US * (share - free),
    }
    # Near its knee the curve also depends on how times vary: the laws for exponential ones bound it.
    always = MACHINE_REPAIRMAN(unpatched.threads, Z_us=1 - free, s_us=share)
    waited = HAND_OVER(unpatched.threads, Z_us=1 - free, s_us=free, h_us=share - free)
    ends = zip(_simulated(unpatched.threads, times), always, waited, strict=True)
    rates = [(r * OPERATION_US / 1e6, a / 1e6, w / 1e6) for r, a, w in ends]
    by, one = OWN_WORK * factor_of_two_values(unpatched.values), alone(unpatched)
    low = [
        float(min(rate, *(r * one for r in three)) / by)
        for rate, three in zip(unpatched.values, rates, strict=True)
    ]
    high = [float(max(three) * one * by) for three in rates]
    return Band([value * one for value, _, _ in rates], low, high)


def alone(unpatched: UnpatchedCurve) -> float:
    """The rate of one thread. Raises BadInput where it was not measured."""
    if 1 not in unpatched.threads:
        raise BadInput("the unpatched curve has no rate of one thread, to which it is compared: add it")
    return unpatched.values[unpatched.threads.index(1)]


def notes(given: Mapping[str, float]) -> list[str]:
    """What a queue that is given leaves out, and how far that was off where it could be tried."""
    return [TRIED] if given else []


def estimates(
    unpatched: UnpatchedCurve, given: Mapping[str, float], prefix: str = ""
) -> list[ParameterEstimate]:
    """What is known unpatched, at the most threads, and of the queue behind; names begin with `prefix`."""
    n, rate = unpatched.threads[-1], unpatched.values[-1]
    waiting = n - rate / alone(unpatched)
    # The unpatched side passes that queue too: it takes no more than the unpatched side's own time for one
    # operation.
    low, high = (
        given.get(SHARE, 0.0),
        given.get(SHARE, min(alone(unpatched) / max(unpatched.values[1:]), 1.0)),
    )
    said = "given" if given else "not in the rates: up to all of the unpatched kernel's time for an operation"
    return [
        ParameterEstimate(
            f"{prefix}waiting", f"threads of {n}", waiting, waiting, waiting, "identified", "N - X(N) / X(1)"
        ),
        ParameterEstimate(
            prefix + SHARE, "operations", (low + high) / 2, low, high, "outside" if given else "open", said
        ),
    ]


def waits(unpatched: UnpatchedCurve, operation: str, locks: Sequence[str]) -> list[Waiting]:
    """By Little's law at the most threads: who does not work as one thread alone does."""
    n, working = unpatched.threads[-1], unpatched.values[-1] / alone(unpatched)
    cycle_us = 1e6 * n / unpatched.values[-1]
    whom = f"owners of {' and '.join(locks)}, cache lines, too few CPUs, or a queue behind: not in the rates"
    rows = [
        (operation, "", n, ""),
        (f"{operation} as one thread alone", operation, working, ""),
        (f"{operation}, waiting or slower", operation, n - working, whom),
    ]
    return [Waiting(place, within, at, cycle_us * at / n, why) for place, within, at, why in rows]


def open_share(given: Mapping[str, float], locks: Sequence[str], prefix: str = "") -> list[Open]:
    """The one measurement that closes it."""
    if given:
        return [MOVED]
    return [
        Open(
            prefix + SHARE,
            f"no unpatched profile is published: what waits behind {' and '.join(locks)} is not known",
            "lock_stat, unpatched, with two threads: of the busiest other lock, hold and wait of a contended "
            "acquisition, times its acquisitions for one operation, over one thread's time of an operation",
            prefix + SHARE,
        )
    ]


def _simulated(threads: Sequence[int], times: Mapping[str, float]) -> list[float]:
    from lockscale.predict.residual_model import residual_bottleneck
    from lockscale.sim import simulate  # imports the compiler, which all else here does without

    rates = []
    with progress("simulate the residual bottleneck", len(threads)) as shown:
        for done, n in enumerate(threads, start=1):
            rates.append(simulate(residual_bottleneck, n, times, operations=4000, replications=3).rate_per_s)
            shown.update(done, f"{n} threads")
    return rates
