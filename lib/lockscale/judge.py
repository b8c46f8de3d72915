# SPDX-License-Identifier: MIT
"""Models fitted to what was measured, and the prediction beside the truth."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from lockscale.errors import BadInput
from lockscale.experiment.compare import extra_calls, proof_of, rate_repeats
from lockscale.experiment.where import is_benchmark, origin_of
from lockscale.fitting.column import Column
from lockscale.fitting.table_fit import compare_column
from lockscale.queueing.comparison.compare import Comparison
from lockscale.study import Study
from lockscale.tables import published


@dataclass(frozen=True)
class Fitted:
    """One arm's measured rates, each repeat a row, and every queueing model on them.

    `comparison` is None where there are too few numbers of processes for any model.
    """

    column: Column
    comparison: Comparison | None


def fit_rates(rows: pd.DataFrame, study: Study, cpus: int) -> Fitted:
    """The upstream arm's rates on a guest of `cpus` CPUs. Raises BadInput where none were measured."""
    arm = study.arm("upstream").name
    repeats = rate_repeats(rows)
    here = repeats[(repeats.arm == arm) & (repeats.cpus == cpus)]
    if here.empty:
        raise BadInput(f"the run measured nothing of {arm} on {cpus} CPUs: choose cpus of its points")
    origin = origin_of(here)
    column = Column(
        table=str(here.run.iloc[0]),
        name=f"{arm} on {cpus} CPUs",
        threads=here.threads.to_numpy(float),
        rates_per_s=here.value.to_numpy(float),
        runs=None,
        unit="ops/s",
        origin=origin,
        made_of="" if is_benchmark(origin) else "not a benchmark",
    )
    try:
        return Fitted(column, compare_column(column))
    except BadInput:
        return Fitted(column, None)


def fullest_guest(study: Study) -> int:
    """The virtual CPUs of the guest that is measured at the most numbers of processes."""
    return max(study.parameters.guests, key=lambda guest: len(guest.processes)).cpus


def judge_published(prediction: dict[str, Any], study: Study) -> pd.DataFrame:
    """Each prediction for the published machine, its interval, and the published value.

    `published`, `error_pct` and `inside` are None where nobody published that arm.
    """
    truths, found = _published_means(study), []
    for said in prediction.get("predictions") or [prediction["published_machine"]]:
        truth = truths.get((said["arm"], said["threads"], said["metric"]))
        found.append(
            {
                "arm": said["arm"],
                "threads": said["threads"],
                "metric": said["metric"],
                "predicted": said["value"],
                "low": said["low"],
                "high": said["high"],
                "published": truth,
                "error_pct": truth and 100 * (said["value"] / truth - 1),
                "inside": truth and said["low"] <= truth <= said["high"],
                "naive_value": said["naive_value"],
                "unit": said["unit"],
            }
        )
    return pd.DataFrame(found)


def _published_means(study: Study) -> dict[tuple[str, int, str], float]:
    """Arm, threads, metric -> the mean of what the study's tables have of it; no extremes."""
    tables = [table for table in map(published, study.tables) if "metric" in table]
    rows = pd.concat([table[~table.statistic.isin(["min", "max"])] for table in tables])
    means = rows.groupby(["arm", "threads", "metric"]).value.mean().reset_index()
    cells = zip(means.arm, means.threads, means.metric, means.value, strict=True)
    return {(str(arm), int(n), str(metric)): float(value) for arm, n, metric, value in cells}


def judge_guests(prediction: dict[str, Any], rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Predicted bounds of more of the proof's counter, the measured interval, and whether they overlap.

    Where no bound of that counter was predicted the bounds and `holds` are empty.
    """
    counter = proof_of(rows, study)
    said = [one for one in prediction["guests"] if one["metric"] == f"extra {counter}"]
    bounds = pd.DataFrame(said, columns=["cpus", "threads", "low", "high"])
    bounds = bounds.rename(columns={"low": "predicted_low", "high": "predicted_high"})
    found = extra_calls(rows, study)[["cpus", "threads", "extra", "low", "high", "spread", "origin"]]
    table = bounds.merge(found, on=["cpus", "threads"], how="right" if bounds.empty else "inner")
    if bounds.empty:
        return table.assign(holds=None)
    above = (table.low > table.spread) | (table.predicted_high == 0)
    table["holds"] = above & (table.extra - table.spread <= table.predicted_high)
    return table
