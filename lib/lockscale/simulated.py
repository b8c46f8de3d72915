# SPDX-License-Identifier: MIT
"""A study's arms in the simulator: points beside which those of its table can stand."""

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
from lockscale.study_tables import EXTREMES, StudyTable
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
        study.model_of(arm),
        threads,
        arm.model_parameters,
        seed=study.parameters.seed,
        replications=study.parameters.replications,
    )


def simulated_points(study: Study) -> pd.DataFrame:
    """Every simulated arm at every `simulated_threads`: arm, threads, value, low, high, attempts_per_op."""
    arms = [arm for arm in study.arms if arm.simulated]
    wanted = [(arm, n) for arm in arms for n in study.parameters.simulated_threads]
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


def table_points(study: Study, points: pd.DataFrame, table: StudyTable) -> pd.DataFrame:
    """A table of the study in the unit of simulated `points`: arm, threads, value, origin, note.

    Of containers the sum. A time T of N threads is N / T; the amount of work behind it, unpublished, is the
    one that makes the floor, or else the upstream arm, at its fewest threads equal the simulated one.
    """
    frame = table.frame
    said: pd.DataFrame = frame[(frame.metric == frame.metric.iloc[0]) & ~frame.statistic.isin(EXTREMES)]
    said = said[["arm", "threads", "metric", "statistic", "value", "origin"]].reset_index(drop=True)
    note = ""
    if (said.statistic == "mean_per_container").all():
        said["value"], note = said.threads * said.value, "containers x rate of one"
    elif (said.metric == "time").all():
        said["value"] = said.threads / said.value
        at = _reference(study, said, points)
        said["value"] *= at.value_simulated / at.value
        note = f"threads / time, scaled at {at.arm} of {at.threads}"
    return said[["arm", "threads", "value", "origin"]].assign(note=note)


def _reference(study: Study, said: pd.DataFrame, points: pd.DataFrame) -> Any:
    """The point, published and simulated, at which the two scales meet."""
    floors = [arm.name for arm in study.arms if arm.role == "floor"]
    both = said.merge(points, on=["arm", "threads"], suffixes=("", "_simulated")).sort_values("threads")
    here = both[both.arm == (floors or [study.arm("upstream").name])[0]]
    if here.empty:
        raise BadInput("no number of threads is both published and simulated: name one in simulated_threads")
    return next(here.itertuples())


def calibration(study: Study) -> str:
    """Which of the models' numbers were calibrated, and to what."""
    models = dict.fromkeys(study.model_of(arm) for arm in study.arms if arm.simulated)
    return "\n".join(f"{name}: {load_model(name).calibration}" for name in models)


def errors(points: pd.DataFrame, said: pd.DataFrame) -> pd.DataFrame:
    """Each of the table's points that was simulated: arm, threads, simulated, in_table, origin, error_pct."""
    grouped = said.groupby(["arm", "threads", "origin"], sort=False)
    mean = grouped.value.mean().rename("in_table").reset_index()
    both: pd.DataFrame = (
        points[["arm", "threads", "value"]].rename(columns={"value": "simulated"}).merge(mean)
    )
    both["error_pct"] = 100 * (both.simulated / both.in_table - 1)
    return both


def unfitted_check(study: Study) -> pd.DataFrame | None:
    """S1's function cost table, to which no model was fitted; None where the study has no such table."""
    known = "s1_function_cost" in study.tables
    return check_table(s1_function_cost_check(study)) if known else None


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
