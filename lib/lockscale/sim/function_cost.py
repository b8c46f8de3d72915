# SPDX-License-Identifier: MIT
"""The check that nothing was fitted to: S1's function-cost table against the calibrated model."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from lockscale.errors import BadInput
from lockscale.sim.models import load_model
from lockscale.sim.results import Result
from lockscale.sim.simulation import simulate

ITERATIONS = 20
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Comparison:
    """One number of the table; ``error_pct`` is predicted over published, less one."""

    name: str
    unit: str
    predicted: float
    published: float
    error_pct: float


@dataclass(frozen=True)
class FunctionCostCheck:
    """The one number solved for (the traced hold) and what then follows without any freedom."""

    rate_per_s: float
    traced_hold_ns: float
    simulated: Result
    rows: tuple[Comparison, ...]


def function_cost_check(
    *,
    threads: int,
    create_avg_us: float,
    creates: int,
    spin_total_us: float,
    spin_calls: int,
    access_calls: int,
    access_calls_without_retry: float,
    parameters: Mapping[str, object] | None = None,
    seed: int = 1,
) -> FunctionCostCheck:
    """Predict S1's traced run: get_write_access calls, attempts and mean spin.

    Inputs: ext4_create's average and count, _raw_spin_lock's total and count,
    jbd2_journal_get_write_access's count, and that function's calls in a create without retries
    (it includes the first attempt's own), measured elsewhere.

    The traced rate is threads / create_avg_us: a closed loop with every thread in ext4_create.
    The hold time is solved so that the simulated rate equals it within 0.1%; all else stays as
    calibrated without a tracer. Spin time is the wait for the group lock alone, divided by all
    spin calls of the table: other locks are taken to be free.

    Not modelled: threads that wait in jbd2__journal_start (the model has them spin: its spin is
    too long), the tracer's cost outside the lock, waiting for other locks.
    Raises BadInput where no hold time gives the rate.
    """
    numbers = (create_avg_us, creates, spin_total_us, spin_calls, access_calls)
    if not all(math.isfinite(x) and x > 0 for x in (*numbers, access_calls_without_retry)):
        raise BadInput("a number of the function-cost table is not above zero: check its rows")
    rate_per_s = threads / create_avg_us * 1e6
    hold_ns, run = _solve_hold(threads, rate_per_s, parameters or {}, seed)
    retries = access_calls / creates - access_calls_without_retry
    wait_us = run.attempts_per_op * (run.locks["group lock"].wait_ns_mean or 0.0) / 1e3
    rows = (
        _compare(
            "jbd2_journal_get_write_access",
            "calls/create",
            run.attempts_per_op - 1 + access_calls_without_retry,
            access_calls / creates,
        ),
        _compare("attempts", "attempts/create", run.attempts_per_op, 1 + retries),
        _compare(
            "_raw_spin_lock",
            "us/call",
            wait_us / (spin_calls / creates),
            spin_total_us / spin_calls,
        ),
    )
    return FunctionCostCheck(rate_per_s, hold_ns, run, rows)


def _solve_hold(
    threads: int, rate_per_s: float, parameters: Mapping[str, object], seed: int
) -> tuple[float, Result]:
    """In the storm the rate goes nearly as 1 / hold, so the ratio of rates is the next step."""
    hold_ns = float(load_model("inode_claim").bind(parameters)["hold_ns"])
    for _ in range(ITERATIONS):
        given = {**parameters, "hold_ns": hold_ns}
        run = simulate("inode_claim", threads, given, seed=seed, operations=10_000)
        if abs(run.rate_per_s / rate_per_s - 1) < TOLERANCE:
            return hold_ns, run
        hold_ns *= run.rate_per_s / rate_per_s
    raise BadInput(
        f"no hold time of the group lock gives {rate_per_s:.0f} creates/s at {threads} threads: "
        "check the table's average and the parameters"
    )


def _compare(name: str, unit: str, predicted: float, published: float) -> Comparison:
    return Comparison(name, unit, predicted, published, 100 * (predicted / published - 1))
