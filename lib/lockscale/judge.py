# SPDX-License-Identifier: MIT
"""Models fitted to what was measured, and the prediction beside the truth."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from lockscale.errors import BadInput
from lockscale.experiment.compare import extra_calls, rate_repeats
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


def judge_published(prediction: dict[str, Any]) -> pd.DataFrame:
    """The predicted rate of S1's machine, its interval, and the published rate."""
    said = prediction["published_machine"]
    table = published("s1_rates")
    truth = table[(table.arm == said["arm"]) & (table.metric == said["metric"])].value.mean()
    return pd.DataFrame(
        [
            {
                "predicted": said["value"],
                "low": said["low"],
                "high": said["high"],
                "published": truth,
                "error_pct": 100 * (said["value"] / truth - 1),
                "inside": said["low"] <= truth <= said["high"],
                "naive_value": said["naive_value"],
                "unit": said["unit"],
            }
        ]
    )


def judge_guests(prediction: dict[str, Any], rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Predicted bounds of the extra calls, the measured interval, and whether they overlap."""
    bounds = pd.DataFrame(prediction["guests"])[["cpus", "threads", "low", "high"]]
    bounds = bounds.rename(columns={"low": "predicted_low", "high": "predicted_high"})
    found = extra_calls(rows, study)[["cpus", "threads", "extra", "low", "high", "spread", "origin"]]
    table = bounds.merge(found, on=["cpus", "threads"])
    above = (table.low > table.spread) | (table.predicted_high == 0)
    table["holds"] = above & (table.extra - table.spread <= table.predicted_high)
    return table
