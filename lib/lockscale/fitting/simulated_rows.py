# SPDX-License-Identifier: MIT
"""Rows of the scoreboard that the simulator explains: one table at a time, all its columns at once."""

from collections.abc import Collection
from typing import Any

import numpy as np

from lockscale.fitting.column import Column
from lockscale.fitting.simulated_tables import Simulated
from lockscale.fitting.table_fit import fit_columns
from lockscale.fitting.targets import SimulatedTarget, simulated_targets
from lockscale.queueing.comparison.evidence import noise_floor
from lockscale.queueing.inference.fitted import Fit

SMALL_N = 8
"""Extrapolation: fitted to so many threads and fewer, compared with the rest."""


def simulated_rows(of: Simulated) -> list[dict[str, Any]]:
    """A row for each column of the table, as `scoreboard` has them; `curve` is what the figure draws."""
    model = of.simulated_model()
    columns = of.columns()
    whole = fit_columns(columns, model, list(of.free), of.fixed())
    small = None
    if max(one.threads.min() for one in columns) <= SMALL_N:
        few = [one.between(1, SMALL_N) for one in columns]
        small = fit_columns(few, model, list(of.free), of.fixed())
    targets = simulated_targets()
    return [
        _row(arm.depends_on, one, whole, small, targets.get((one.table, one.name)))
        for one, arm in zip(columns, model.each_arm, strict=True)
    ]


def _row(
    depends_on: Collection[str], one: Column, whole: Fit, small: Fit | None, target: SimulatedTarget | None
) -> dict[str, Any]:
    column, points = one.name, whole.points
    mine = points.column == points.names.index(column)
    single = int(mine.sum()) == 1  # a figure at one number of threads: all figures share the parameters
    free = whole.free_parameters if single else len(depends_on)
    noise = noise_floor(points.keep(mine))
    held_out = whole.held_out_pct
    mape_pct = _mean_of(whole.residuals_pct[mine])
    loo_pct = None if held_out is None else _mean_of(held_out[mine])
    calibrated = free >= (len(points) if single else int(mine.sum()))
    return {
        "table": one.table,
        "column": column,
        "unit": one.unit,
        "kind": "simulator",
        "model": whole.model,
        "free_parameters": free,
        "points": len(points) if single else int(mine.sum()),
        "free_parameters_of_all_columns": whole.free_parameters,
        "points_of_all_columns": len(points),
        "noise_pct": noise.pct if noise else None,
        "noise_from": noise.source if noise else None,
        "mape_pct": mape_pct,
        "loo_pct": loo_pct,
        "calibrated": calibrated,
        **_ahead(whole, small, column),
        "target_pct": target.target_pct if target else None,
        "target_loo_pct": target.target_loo_pct if target else None,
        "met": None if target is None else target.is_met(mape_pct, loo_pct, calibrated),
        "parameters": [vars(one) for one in whole.parameters if one.name in depends_on],
        "not_determined": {whole.model: list(whole.not_determined)} if whole.not_determined else {},
        "logs": _logs(whole),
        "curve": _curve(whole, column),
    }


def _logs(whole: Fit) -> dict[str, Any]:
    """Of the logarithms of all free parameters: names (k,), mean (k,), covariance (k, k) and bounds (2, k).

    The covariance is the linear model's at the best: a direction that the data leave open has a wide one,
    and only the bounds end it.
    """
    ends = np.log(whole.problem.ends)
    jacobian, noise = whole.best.jacobian, whole.noise
    spread = np.linalg.pinv(jacobian.T @ jacobian) * (noise.unit if noise else np.nan)
    return {
        "names": [one.name for one in whole.problem.free],
        "mean": (whole.best.x + ends).tolist(),
        "covariance": spread.tolist() if noise else None,
        "bounds": (np.array(whole.problem.bounds) + ends).tolist(),
    }


def _mean_of(errors_pct: Any) -> float:
    return float(np.mean(np.abs(errors_pct)))


def _ahead(whole: Fit, small: Fit | None, column: str) -> dict[str, Any]:
    """Error at more than SMALL_N threads of the fit to fewer, and how many rates are in its intervals."""
    points = whole.points
    there = points.keep((points.column == points.names.index(column)) & (points.threads > SMALL_N))
    if small is None or not len(there):
        return {"extrapolation_pct": None, "coverage_pct": None, "extrapolated": []}
    ahead = small.predict(there.threads, column)
    inside = (ahead.low <= there.rate_per_s) & (there.rate_per_s <= ahead.high)
    rows = zip(*map(_plain, (ahead.threads, ahead.value, ahead.low, ahead.high)), strict=True)
    return {
        "extrapolation_pct": _mean_of(there.error_pct(np.log(ahead.value) - there.log_rate)),
        "coverage_pct": 100 * float(np.mean(inside)),
        "extrapolated": [dict(zip(("threads", "value", "low", "high"), row, strict=True)) for row in rows],
    }


def _curve(whole: Fit, column: str) -> list[dict[str, float | None]]:
    """threads, value, model, low, high, residual_pct of each point; the interval is of one more run."""
    mine = whole.points.column == whole.points.names.index(column)
    found = whole.points.keep(mine)
    band = whole.predict(found.threads, column)
    names = ("threads", "value", "model", "low", "high", "residual_pct")
    values = (found.threads, found.rate_per_s, band.value, band.low, band.high, whole.residuals_pct[mine])
    return [dict(zip(names, row, strict=True)) for row in zip(*map(_plain, values), strict=True)]


def _plain(values: Any) -> list[float | None]:
    """For JSON, which has no infinity: None where an end is open."""
    return [float(v) if np.isfinite(v) else None for v in values]
