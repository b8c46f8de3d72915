# SPDX-License-Identifier: MIT
"""Retry storm: N threads search one bitmap without the lock, then race to claim the same bit.

All waiters of a FIFO lock hold the same stale first zero, so one claim succeeds per pass of the
queue and a create takes as many attempts as there are waiters. With Z the work of a create
outside the lock, s the lock's time per attempt and X the rate of creates:

    W = N - X Z          threads in the queue, and so attempts per create (Little's law on Z)
    X W s = 1            the lock is never idle
    X s (N - X Z) = 1    hence  Z X^2 - N X + 1/s = 0,
    X = [N - sqrt(N^2 - 4 Z/s)] / (2 Z)     real only if s > 4 Z / N^2

Bistable: dW/dt = (N - W)/Z - 1/(s W) has two rest points. The larger W, the storm above, is
stable. The smaller is unstable: a queue shorter than it drains, and the same N, Z and s stay in
the good state, where nobody loses a claim and X = min(N / (Z + s), 1/s). Threads that start
together (mdtest's barrier) fall into the storm, threads that start spread out may not: the law
says what each state gives, not which one is reached. `RETRY_STORM` takes the storm wherever it
exists. A single thread has nobody to lose to: N = 1 is always the good state.

Derived here; reproduced by simulation.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.model import (
    Box,
    FloatArray,
    Law,
    LawParameter,
    as_floats,
    check_params,
    check_threads,
)


def _storms(
    threads: FloatArray, think_us: float | FloatArray, attempt_us: float | FloatArray
) -> npt.NDArray[np.bool_]:
    return (threads >= 2) & (attempt_us * threads**2 > 4 * think_us)


def _good_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    think_us, attempt_us = np.asarray(params["Z_us"]), np.asarray(params["s_us"])
    with np.errstate(divide="ignore"):
        return np.asarray(np.minimum(1e6 * threads / (think_us + attempt_us), 1e6 / attempt_us))


def _storm_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    think_us, attempt_us = np.asarray(params["Z_us"]), np.asarray(params["s_us"])
    with np.errstate(divide="ignore", invalid="ignore"):
        # The root written as 1/(s W): no cancellation, and right for Z = 0 too.
        root = np.sqrt(np.maximum(threads**2 - 4 * think_us / attempt_us, 0.0))
        storm = 2e6 / (attempt_us * (threads + root))
    return np.where(_storms(threads, think_us, attempt_us), storm, _good_per_s(threads, params))


def _search_box(threads: FloatArray, rates: FloatArray) -> Box:
    # 1 / (N X) <= s <= 1 / X in a storm; Z + s <= N / X in both states.
    top = float(np.max(rates))
    cycle_us = 1e6 * float(np.min(threads / rates))
    attempt_us = (1e5 / (top * float(threads.max())), 1e6 / top)
    return {"Z_us": (1e-3 * cycle_us, cycle_us), "s_us": attempt_us}


_TIMES = (LawParameter("Z_us", "us"), LawParameter("s_us", "us"))

RETRY_STORM = Law("retry_storm", _TIMES, _storm_per_s, _search_box)
"""Rate with the storm wherever it exists (synchronised start)."""

GOOD_STATE = Law("good_state", _TIMES, _good_per_s, _search_box)
"""Rate when no claim is ever lost: what the cure gives, from the same Z and s."""


def threshold_us(threads: float, Z_us: float) -> float:
    """Lock time per attempt above which `threads` >= 2 threads can storm: 4 Z / N^2, in us."""
    n = float(check_threads(threads)[0])
    check_params(RETRY_STORM, {"Z_us": Z_us})
    return 4 * Z_us / n**2 if n >= 2 else np.inf


def attempts_per_create(threads: npt.ArrayLike, Z_us: float, s_us: float) -> FloatArray:
    """Claims per create, W = N - X Z in the storm and 1 in the good state, shape (n,)."""
    n = check_threads(threads)
    rate = RETRY_STORM(n, Z_us=Z_us, s_us=s_us)
    return np.where(_storms(n, Z_us, s_us), n - rate * Z_us / 1e6, 1.0)


def gain_from_attempts(threads: float, attempts: float) -> float:
    """Rate after the cure over rate before it, from a count alone: N/Z over (N - W)/Z is N / (N - W).

    The cure (search again under the lock) never loses a claim. That attempts cost the same after it is an
    assumption.

    Valid where s is small beside Z. It grows without end as W nears N: carry the uncertainty of
    W through it, do not quote one number.
    """
    n = float(check_threads(threads)[0])
    waiters = float(as_floats("attempts", attempts)[0])
    if not 0 <= waiters < n:
        raise BadInput(f"{waiters:g} attempts per create with {n:g} threads: give 0 <= W < N.")
    return n / (n - waiters)
