# SPDX-License-Identifier: MIT
"""A study's arms in the simulator: points beside which the published ones can stand."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from lockscale.errors import BadInput
from lockscale.progress import progress
from lockscale.sim import Result, load_model, simulate
from lockscale.sim.function_cost import FunctionCostCheck, function_cost_check
from lockscale.sim.models import AnyModel, is_shipped
from lockscale.sim.replicate import MAX_THREADS
from lockscale.study import Arm, Study, load_study
from lockscale.tables import function_cost


def simulate_points(
    model: AnyModel,
    threads: Sequence[int],
    parameters: Mapping[str, object],
    *,
    replications: int,
    operations: int = 20_000,
    seed: int,
) -> dict[str, Any]:
    """What `lockscale sim` prints: one point for each number of threads, and the unfitted check."""
    for n in threads:
        if not 1 <= n <= MAX_THREADS:
            raise BadInput(f"threads is {n}: give whole numbers from 1 to {MAX_THREADS}")
    known = load_model(model)
    numbers = {"replications": replications, "operations": operations, "seed": seed}
    found = []
    with progress(f"simulate {known.name}", len(threads)) as shown:
        for done, n in enumerate(threads, start=1):
            found.append(simulate(known, n, parameters, **numbers))
            shown.update(done, f"{n} threads")
    value = {
        "model": known.name,
        "origin": "simulated",
        "calibration": found[0].calibration,
        "parameters": found[0].parameters,
        "points": [result.to_json() for result in found],
    }
    if known.name == "inode_claim" and is_shipped(known) and found[0].calibration:
        study = load_study("inode-claim", {"seed": seed})
        value["unfitted_check"] = [vars(row) for row in s1_function_cost_check(study).rows]
    return value


def simulate_arm(study: Study, arm: Arm, threads: int) -> Result:
    """One arm at one number of threads, with the study's seed and replications."""
    return simulate(
        study.model,
        threads,
        arm.model_parameters,
        seed=study.parameters.seed,
        replications=study.parameters.replications,
    )


def simulated_points(study: Study) -> pd.DataFrame:
    """Every arm at every `simulated_threads`: arm, threads, value, low, high, attempts_per_op."""
    wanted = [(arm, n) for arm in study.arms for n in study.parameters.simulated_threads]
    rows = []
    with progress(f"simulate {study.model}", len(wanted)) as shown:
        for done, (arm, threads) in enumerate(wanted, start=1):
            found = simulate_arm(study, arm, threads)
            rows.append(
                {
                    "arm": arm.name,
                    "threads": threads,
                    "metric": "rate",
                    "unit": found.unit,
                    "value": found.rate_per_s,
                    "low": found.low,
                    "high": found.high,
                    "attempts_per_op": found.attempts_per_op,
                    "origin": "simulated",
                }
            )
            shown.update(done, f"{arm.name}, {threads} threads")
    return pd.DataFrame(rows)


def calibration(study: Study) -> str:
    """Which of the model's numbers were calibrated, and to what."""
    return load_model(study.model).calibration


def s1_function_cost_check(study: Study, threads: int = 48) -> FunctionCostCheck:
    """S1's function cost table against the calibrated model; nothing of it but its rate is used."""
    cost = function_cost("s1_function_cost").set_index("function")
    if study.calls_without_retry is None:
        raise BadInput(f"study {study.name} lacks calls_without_retry: the check needs that number")
    return function_cost_check(
        threads=threads,
        create_avg_us=float(cost.avg_us["ext4_create"]),
        creates=int(cost["count"]["ext4_create"]),
        spin_total_us=float(cost.total_us["_raw_spin_lock"]),
        spin_calls=int(cost["count"]["_raw_spin_lock"]),
        access_calls=int(cost["count"]["jbd2_journal_get_write_access"]),
        access_calls_without_retry=study.calls_without_retry.value,
        seed=study.parameters.seed,
    )


def check_table(check: FunctionCostCheck) -> pd.DataFrame:
    """name, unit, predicted, published, error_pct."""
    return pd.DataFrame([vars(row) for row in check.rows])
