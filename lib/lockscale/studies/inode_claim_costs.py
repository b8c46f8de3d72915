# SPDX-License-Identifier: MIT
"""The check that nothing was fitted to: S1's function-cost table against the calibrated model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lockscale.errors import BadInput
from lockscale.fitting.scoreboard_rows import simulated_targets
from lockscale.sim import Result, load_model
from lockscale.studies.hooks import ModelBesidePublished, extra_calls_bounds
from lockscale.study.file import Constant, Study, load_study
from lockscale.tables.function_costs import Cost, costs

NAME = "inode-claim"
COST = "s1_function_cost"
THREADS = 48
ATTEMPTS, SPIN, ACCESS = "attempts", "_raw_spin_lock", "jbd2_journal_get_write_access"
ITERATIONS = 20
TOLERANCE = 1e-3


@dataclass(frozen=True)
class FunctionCostCheck:
    """The one number solved for (the traced hold) and what then follows without any freedom."""

    rate_per_s: float
    traced_hold_ns: float
    simulated: Result
    rows: tuple[ModelBesidePublished, ...]


def function_cost_check(
    table: Mapping[str, Cost],
    without_retry: float,
    *,
    parameters: Mapping[str, object] | None = None,
    seed: int = 1,
) -> FunctionCostCheck:
    """Predict S1's traced run: get_write_access calls, attempts and mean spin.

    table: costs by function, of which ext4_create, SPIN and ACCESS are read. without_retry: calls of ACCESS
    in a create without retries (the first attempt's own with them), measured elsewhere.

    The traced rate is THREADS over ext4_create's average: a closed loop with every thread in it. The hold
    time is solved so that the simulated rate equals it within 0.1%; all else stays as calibrated without a
    tracer. Spin time is the wait for the group lock alone, divided by all spin calls of the table: other
    locks are taken to be free.

    Not modelled: threads that wait in jbd2__journal_start (the model has them spin: its spin is
    too long), the tracer's cost outside the lock, waiting for other locks.
    Raises BadInput where no hold time gives the rate.
    """
    create, spin, access = table["ext4_create"], table[SPIN], table[ACCESS]
    numbers = (create.avg_us, create.calls, spin.total_us, spin.calls, access.calls, without_retry)
    if not all(math.isfinite(x) and x > 0 for x in numbers):
        raise BadInput("a number of the function cost table is not above zero: check its rows")
    rate_per_s = THREADS / create.avg_us * 1e6
    hold_ns, run = _solve_hold(rate_per_s, parameters or {}, seed)
    calls = access.calls / create.calls
    wait_us = run.attempts_per_op * (run.locks["group lock"].wait_ns_mean or 0.0) / 1e3
    a_create = access_calls_a_create(run, without_retry)
    attempted = 1 + (calls - without_retry)
    rows = (
        _compare(ACCESS, "calls/create", a_create, calls),
        _compare(ATTEMPTS, "attempts/create", run.attempts_per_op, attempted, derived_from=ACCESS),
        _compare(SPIN, "us/call", wait_us / (spin.calls / create.calls), spin.total_us / spin.calls),
    )
    return FunctionCostCheck(rate_per_s, hold_ns, run, rows)


def _solve_hold(rate_per_s: float, parameters: Mapping[str, object], seed: int) -> tuple[float, Result]:
    """In the storm the rate goes nearly as 1 / hold, so the ratio of rates is the next step."""
    from lockscale.sim import simulate  # imports the compiler, which what else is said of S1 does without

    hold_ns = float(load_model("inode_claim").bind(parameters)["hold_ns"])
    for _ in range(ITERATIONS):
        given = {**parameters, "hold_ns": hold_ns}
        run = simulate("inode_claim", THREADS, given, seed=seed, operations=10_000)
        if abs(run.rate_per_s / rate_per_s - 1) < TOLERANCE:
            return hold_ns, run
        hold_ns *= run.rate_per_s / rate_per_s
    raise BadInput(
        f"no hold time of the group lock gives {rate_per_s:.0f} creates/s at {THREADS} threads: "
        "check the table's average and the parameters"
    )


def _compare(
    name: str, unit: str, predicted: float, published: float, derived_from: str = ""
) -> ModelBesidePublished:
    error_pct = 100 * (predicted / published - 1)
    return ModelBesidePublished(name, unit, predicted, published, error_pct, derived_from)


def check(study: Study) -> FunctionCostCheck:
    """S1's function cost table against the calibrated model; nothing of it but its rate is used."""
    return function_cost_check(costs(COST), one_process_constant(study).value, seed=study.parameters.seed)


def one_process_constant(study: Study) -> Constant:
    """get_write_access calls of a create that loses no claim. Raises BadInput where the study lacks it."""
    if study.calls_without_retry is None:
        raise BadInput(
            f"study {study.name} lacks calls_without_retry, which the check needs: add it to its file"
        )
    return study.calls_without_retry


def calls_without_retry() -> float:
    """The number of S1's study file, which S2's tables of the same function take too."""
    return one_process_constant(load_study(NAME)).value


def access_calls_a_create(run: Result, without_retry: float) -> float:
    """get_write_access calls a create: each attempt is one, the others as in a create without retries."""
    return run.attempts_per_op - 1 + without_retry


def cost_rows(rates: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The function cost table that nothing is fitted to, from the parameters of the rows of the fit.

    Free: elsewhere_us of the patched rate, the traced hold of the traced rate, and the model's access_ns,
    assumed; four figures stand against them: those two rates, attempts and spin.
    """
    parameters = {one["name"]: one["value"] for one in rates[0]["parameters"]}
    found = function_cost_check(costs(COST), calls_without_retry(), parameters=parameters)
    targets = simulated_targets()
    rows = []
    for one in (row for row in found.rows if row.name in (ATTEMPTS, SPIN)):
        name = f"steal-retry {one.name}"
        target, error_pct = targets.get((COST, name)), abs(one.error_pct)
        point = {"threads": float(THREADS), "value": one.published, "model": one.predicted}
        rows.append(
            {
                **rates[0],
                "table": COST,
                "column": name,
                "unit": one.unit,
                "free_parameters": 3,
                "points": 4,
                "noise_pct": None,
                "noise_from": None,
                "mape_pct": error_pct,
                "loo_pct": None,
                "calibrated": False,
                "target_pct": target.target_pct if target else None,
                "met": None if target is None else target.is_met(error_pct, None, False),
                "curve": [{**point, "low": None, "high": None, "residual_pct": -one.error_pct}],
            }
        )
    return rows


def lost_claims(study: Study) -> list[dict[str, Any]]:
    """Extra get_write_access calls a create under the before arm, for each point of the guests.

    Every lost claim has a winner on another processor, and the loser queues behind at most the
    others: on c processors n processes lose more than 0 and at most min(n, c) - 1 claims a create,
    and one process alone loses none. How far below the bound depends on the window between search
    and lock, which no profile of another machine tells.
    """
    return extra_calls_bounds(
        study,
        study.unpatched.name,
        study.called_function,
        "calls/create",
        lambda cpus, n: float(min(n, cpus) - 1),
    )
