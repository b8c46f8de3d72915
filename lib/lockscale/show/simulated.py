# SPDX-License-Identifier: MIT
"""A study's arms in the simulator: points beside which those of its table can stand."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from lockscale.errors import BadInput
from lockscale.progress import progress
from lockscale.sim import Result, load_model, simulate
from lockscale.sim.model import Model
from lockscale.sim.models import AnyModel, is_shipped
from lockscale.sim.replicate import MAX_THREADS, OPERATIONS
from lockscale.studies.hooks import ModelBesidePublished, Scene, StudyParts
from lockscale.studies.registry import collected, studies
from lockscale.study.file import Study, load_study
from lockscale.study.tables import EXTREMES, StudyTable, published_table


def simulate_points(
    model: AnyModel,
    threads: Sequence[int],
    parameters: Mapping[str, object],
    *,
    replications: int,
    operations: int = OPERATIONS,
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
    if is_shipped(known) and (points := _published_of(known, parameters, found)):
        value["published"] = points
    if is_shipped(known) and found[0].calibration and (rows := _unfitted_of(known.name, seed)):
        value["unfitted_check"] = [vars(row) for row in rows]
    return value


def _published_of(
    model: Model, parameters: Mapping[str, object], results: Sequence[Result]
) -> list[dict[str, Any]]:
    """Each published rate of an arm that is this model with these parameters, at a simulated thread count."""
    values = model.bind(parameters)
    simulated = pd.DataFrame([{"threads": one.threads, "value": one.rate_per_s} for one in results])

    def of_one(parts: StudyParts) -> list[dict[str, Any]]:
        study = load_study(parts.name)
        scenes = [one for one in parts.scenes(study) if not one.any_kind] if parts.scenes else []
        arms = {arm.name: arm.model_parameters for arm in study.arms if study.model_of(arm) == model.name}
        for one in scenes:
            arms |= {name: dict(given) for name, given in one.arms.items() if one.model == model.name}
        here = [name for name, given in arms.items() if model.bind(given) == values]
        points = [simulated.assign(arm=name) for name in here]
        names = [name for name in study.published_tables if _is_of(name, model.name, scenes)] if here else []
        tables = [published_table(name) for name in names]
        # neither of function costs nor of times of an unpublished amount of work
        tables = [one for one in tables if "metric" in one.frame and (one.frame.metric != "time").all()]
        both = [
            errors(of_arm, table_points(study, of_arm, table)).assign(study=study.name, table=table.name)
            for table in tables
            for of_arm in points
        ]
        named = [part.rename(columns={"in_table": "published"})[PUBLISHED] for part in both]
        return [dict(zip(PUBLISHED, row, strict=True)) for part in named for row in part.to_numpy().tolist()]

    return collected(of_one)


def _is_of(table: str, model: str, scenes: Sequence[Scene]) -> bool:
    """Not of a table of another load, which another model of the study has."""
    models = {one.model for one in scenes if one.table == table}
    return not models or model in models


PUBLISHED = ["study", "table", "arm", "threads", "simulated", "published", "error_pct"]


def _unfitted_of(model: str, seed: int) -> list[ModelBesidePublished]:
    """What the studies of this model say of tables that it was not fitted to."""

    def of_one(parts: StudyParts) -> list[ModelBesidePublished]:
        if not parts.unfitted or (study := load_study(parts.name, {"seed": seed})).model != model:
            return []
        return [row for check in parts.unfitted.values() for row in check(study)]

    return collected(of_one)


POINTS = ["arm", "threads", "metric", "unit", "value", "low", "high", "runs", "attempts_per_op", "origin"]


def simulated_points(study: Study) -> pd.DataFrame:
    """Every simulated arm at every `simulated_threads`, with the columns POINTS; no row where there is none.

    `runs`: the rate of each run, with a blank between them.
    """
    arms = [arm for arm in study.arms if arm.simulated]
    asked = study.parameters
    wanted = [(arm, n) for arm in arms for n in asked.simulated_threads]
    numbers = {"seed": asked.seed, "replications": asked.replications}
    rows = []
    with progress(f"simulate {study.model}", len(wanted)) as shown:
        for done, (arm, threads) in enumerate(wanted, start=1):
            found = simulate(study.model_of(arm), threads, arm.model_parameters, **numbers)
            rows.append(
                {
                    "arm": arm.name,
                    "threads": threads,
                    "metric": "rate",
                    "unit": found.unit,
                    "value": found.rate_per_s,
                    "low": found.low,
                    "high": found.high,
                    "runs": " ".join(f"{rate:.6g}" for rate in found.rates_per_s),
                    "attempts_per_op": found.attempts_per_op,
                    "origin": "simulated",
                }
            )
            shown.update(done, f"{arm.name}, {threads} threads")
    points = pd.DataFrame(rows, columns=POINTS)
    return points.astype({"arm": str, "threads": int, "value": float, "runs": str})


def table_points(study: Study, points: pd.DataFrame, table: StudyTable) -> pd.DataFrame:
    """A table of the study in the unit of simulated `points`: arm, threads, value, origin, note.

    Of containers the sum. A time T of N threads is N / T; the amount of work behind it, unpublished, is the
    one that makes the floor, or else the patched arm, at its fewest threads equal the simulated one.
    """
    frame = table.frame
    if "metric" not in frame:
        raise BadInput(f"{study.name}.yaml: tables: {table.name} has no rates: name one that has them first")
    rows: pd.DataFrame = frame[(frame.metric == frame.metric.iloc[0]) & ~frame.statistic.isin(EXTREMES)]
    rows = rows[["arm", "threads", "metric", "statistic", "value", "origin"]].reset_index(drop=True)
    note = ""
    if (rows.statistic == "mean_per_container").all():
        rows["value"], note = rows.threads * rows.value, "containers x rate of one"
    elif (rows.metric == "time").all():
        rows["value"] = rows.threads / rows.value
        at = _reference(study, rows, points)
        rows["value"] *= at.value_simulated / at.value
        note = f"threads / time, scaled at {at.arm} of {at.threads}"
    return rows[["arm", "threads", "value", "origin"]].assign(note=note)


def _reference(study: Study, rows: pd.DataFrame, points: pd.DataFrame) -> Any:
    """The point, published and simulated, at which the two scales meet."""
    floors = [arm.name for arm in study.arms if arm.role == "bound"]
    both = rows.merge(points, on=["arm", "threads"], suffixes=("", "_simulated")).sort_values("threads")
    arm = (floors or [study.patched.name])[0]
    here = both[both.arm == arm]
    if here.empty:
        raise BadInput(
            f"no thread count of {arm}, by which times are scaled, is both published and simulated: "
            "add one to simulated_threads, or name a table of rates first"
        )
    return next(here.itertuples())


def calibration(study: Study) -> str:
    """Which of the models' numbers were calibrated, and to what."""
    models = dict.fromkeys(study.model_of(arm) for arm in study.arms if arm.simulated)
    return "\n".join(f"{name}: {load_model(name).calibration}" for name in models)


def errors(points: pd.DataFrame, in_table: pd.DataFrame) -> pd.DataFrame:
    """Each point of the table that was simulated.

    Columns arm, threads, simulated, in_table, origin_of_table, error_pct.
    """
    grouped = in_table.groupby(["arm", "threads", "origin"], sort=False)
    mean = grouped.value.mean().rename("in_table").reset_index()
    mean = mean[["arm", "threads", "in_table", "origin"]].rename(columns={"origin": "origin_of_table"})
    simulated = points[["arm", "threads", "value"]].rename(columns={"value": "simulated"})
    both: pd.DataFrame = simulated.merge(mean)
    both["error_pct"] = 100 * (both.simulated / both.in_table - 1)
    return both


def unfitted_check(study: Study) -> pd.DataFrame | None:
    """The study's table to which no model was fitted, if any: name, unit, predicted, published, error_pct."""
    checks = {table: check for one in studies() for table, check in one.unfitted.items()}
    known = next((checks[table] for table in study.tables if table in checks), None)
    return pd.DataFrame(map(vars, known(study))) if known else None
