# SPDX-License-Identifier: MIT
"""Models fitted to what was measured, and the prediction beside the truth."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lockscale.errors import BadInput
from lockscale.experiment.compare import extra_calls, rates
from lockscale.queueing import MODELS
from lockscale.queueing.fit import fit
from lockscale.study import Study
from lockscale.tables import published


@dataclass(frozen=True)
class Fitted:
    """Fits of every model to one arm's rates: parameters, ranking, points and curves as frames."""

    arm: str
    parameters: pd.DataFrame
    ranking: pd.DataFrame
    points: pd.DataFrame
    curves: pd.DataFrame


def fit_rates(rows: pd.DataFrame, study: Study, cpus: int) -> Fitted:
    """Every model that has fewer parameters than there are points, on the upstream arm's rates.

    With too few numbers of processes for any model the frames are empty: nothing is fitted.
    """
    arm = study.arm("upstream").name
    table = rates(rows)
    points = table[(table.arm == arm) & (table.cpus == cpus)]
    if points.empty:
        raise BadInput(f"the run measured nothing of {arm} on {cpus} CPUs: choose cpus of its points")
    fits = [
        fit(points.threads.to_numpy(), points.value.to_numpy(), model)
        for model in MODELS.values()
        if len(model.parameters) < len(points)
    ]
    grid = np.unique(np.round(np.geomspace(1, points.threads.max(), 40)))
    parameters = [{"model": f.model, **vars(estimate)} for f in fits for estimate in f.parameters]
    ranking = [{"model": f.model, "mape_pct": f.mape_pct, "loo_pct": f.loo_pct} for f in fits]
    curves = [
        {"model": f.model, "threads": n, "value": value, "origin": "fitted"}
        for f in fits
        for n, value in zip(grid, f.predict(grid).value, strict=True)
    ]
    ranked = pd.DataFrame(ranking, columns=["model", "mape_pct", "loo_pct"])
    return Fitted(
        arm,
        pd.DataFrame(parameters, columns=["model", "name", "unit", "value", "low", "high", "status"]),
        ranked.sort_values("loo_pct", ignore_index=True),
        points[["threads", "value", "origin"]],
        pd.DataFrame(curves, columns=["model", "threads", "value", "origin"]),
    )


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
