# SPDX-License-Identifier: MIT
"""Rows of the scoreboard: each published curve, its best queueing model or the simulator, and the target.

How well a model should describe each curve stands in data/fit-targets.yaml.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from pydantic import PositiveFloat, PositiveInt, ValidationError

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.fitting.column import Column
from lockscale.fitting.simulated_model import Simulated
from lockscale.fitting.table_fit import compare_columns, fit_columns_together
from lockscale.queueing.compare import Comparison, rank
from lockscale.queueing.evidence import coverage_pct, extrapolation_pct, noise_floor
from lockscale.queueing.fitted import Fit, error_pct
from lockscale.yaml_text import Strict, read_yaml

FILE = paths.DATA / "fit-targets.yaml"
Row = dict[str, float | None]


class NotLaws(Strict):
    """Laws that contradict what the arm is known to do, `because` of what: no candidates for its curve."""

    laws: list[str]
    because: str


class ColumnTarget(Strict):
    """Largest mean absolute percentage error: in sample, and with each thread count left out."""

    column: str
    target_pct: PositiveFloat
    target_loo_pct: PositiveFloat | None = None
    not_laws: NotLaws | None = None

    def is_met(self, mape_pct: float, loo_pct: float | None, calibrated: bool) -> bool:
        """Within what is set; a calibrated fit has shown nothing and meets none."""
        held_out = self.target_loo_pct is None or (loo_pct is not None and loo_pct <= self.target_loo_pct)
        return not calibrated and mape_pct <= self.target_pct and held_out


class SimulatedTarget(ColumnTarget):
    """Of a column that the simulator explains."""

    table: str


class TableTargets(Strict):
    """`n_min`: the smallest thread count of the table that is fitted, `because` of what."""

    table: str
    n_min: PositiveInt = 1
    because: str = ""
    columns: list[ColumnTarget]


class _Simulated(Strict):
    source: str
    columns: list[SimulatedTarget]


class _File(Strict):
    source: str
    tables: list[TableTargets]
    simulated: _Simulated


def fit_targets() -> dict[str, TableTargets]:
    """By table, in the order of the file. Raises BadInput where the file does not fit its shape."""
    return {found.table: found for found in _read().tables}


def simulated_targets() -> dict[tuple[str, str], SimulatedTarget]:
    """By table and column; likewise."""
    return {(one.table, one.column): one for one in _read().simulated.columns}


def _read() -> _File:
    try:
        return _File.model_validate(read_yaml(FILE))
    except (OSError, BadInput, ValidationError) as error:
        raise BadInput(f"{FILE} cannot be used: restore it from git") from error


def column_row(column: Column) -> dict[str, Any]:
    """The row of one published curve in the `scoreboard` shape of the command line.

    Errors are mean absolute percentages. `met`: the model has fewer free parameters than there are
    thread counts, and both errors are within their targets; None where no target is set. `n_min` and
    `n_min_because` say which thread counts are left out, and `all_points` what the same procedure gives
    with them. `not_determined`: thread counts at which a model without a leave-one-out error has
    none, because equally good fits of the others differ there.
    `not_laws`: models that are no candidates, the errors that they have, and why.
    """
    of_table = fit_targets().get(column.table, TableTargets(table="", columns=[]))
    used = column.between(of_table.n_min, None)
    asked = [used, column] if of_table.n_min > 1 else [used]
    found, *whole = compare_columns(f"compare {column.name}", asked)
    target = next((one for one in of_table.columns if one.column == column.name), None)
    not_laws = target.not_laws if target and target.not_laws else NotLaws(laws=[], because="")
    best = (candidates := _candidates(found, not_laws)).best
    return {
        "table": column.table,
        "column": column.name,
        "kind": "queueing",
        **_figures(candidates, target),
        "points_in_table": len(set(column.threads.tolist())),
        "n_min": of_table.n_min,
        "n_min_because": of_table.because,
        "coverage_pct": coverage_pct(best),
        "target_pct": target.target_pct if target else None,
        "target_loo_pct": target.target_loo_pct if target else None,
        "not_told_apart": list(candidates.not_told_apart[1:]),
        "candidates": len(candidates.fits),
        "not_determined": {one.model: list(one.not_determined) for one in found.fits if one.not_determined},
        "not_laws": [
            {"model": one.model, "mape_pct": one.mape_pct, "loo_pct": one.loo_pct}
            for one in found.fits
            if one.model in not_laws.laws
        ],
        "not_laws_because": not_laws.because,
        "curve": _curve(best),
        "all_points": _figures(_candidates(whole[0], not_laws), target) if whole else None,
    }


def _candidates(found: Comparison, not_laws: NotLaws) -> Comparison:
    """Without the laws that contradict what the arm does."""
    if not not_laws.laws:
        return found
    return rank([one for one in found.fits if one.model not in not_laws.laws], found.left_out)


def _figures(found: Comparison, target: ColumnTarget | None) -> dict[str, Any]:
    best = found.best
    return {
        "model": best.model,
        "free_parameters": best.free_parameters,
        "points": len(best.points),
        "calibrated": best.calibrated,
        "noise_pct": found.noise.pct if found.noise else None,
        "noise_from": found.noise.source if found.noise else None,
        "mape_pct": best.mape_pct,
        "loo_pct": best.loo_pct,
        "extrapolation_pct": extrapolation_pct(best),
        "met": None if target is None else target.is_met(best.mape_pct, best.loo_pct, best.calibrated),
    }


def _curve(best: Fit) -> list[Row]:
    """What a figure draws of the model at each thread count."""
    table = best.points
    rates = np.exp(table.log_rate + best.problem.misses(best.best.x))
    return _rows({"threads": table.threads, "model": rates, "residual_pct": best.residuals_pct})


FLAT = 1e-15
"""Of the largest curvature of a fit: a direction with no more has none."""

SMALL_N = 8
"""Extrapolation: fitted to so many threads and fewer, compared with the rest."""


def simulated_rows(of: Simulated) -> list[dict[str, Any]]:
    """A row for each column of the table, as `scoreboard` has them; `curve` is what the figure draws."""
    model = of.simulated_model()
    columns = of.columns()
    whole = fit_columns_together(columns, model, list(of.free), of.fixed())
    small = None
    if max(one.threads.min() for one in columns) <= SMALL_N:
        few = [one.between(1, SMALL_N) for one in columns]
        small = fit_columns_together(few, model, list(of.free), of.fixed())
    targets = simulated_targets()
    return [
        _simulated_row(arm.depends_on, one, whole, small, targets.get((one.table, one.name)))
        for one, arm in zip(columns, model.each_arm, strict=True)
    ]


def _simulated_row(
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
        "curve": _simulated_curve(whole, column),
    }


def _logs(whole: Fit) -> dict[str, Any]:
    """Of the logarithms of all free parameters: names (k,), mean (k,), covariance (k, k) and bounds (2, k).

    The covariance is the linear model's at the best: a direction that the data leave open has a wide one,
    and only the bounds end it; one of which they say nothing at all has the width of the bounds.
    """
    ends = np.log(whole.problem.ends)
    jacobian, noise = whole.best.jacobian, whole.noise
    curvature = jacobian.T @ jacobian
    spread = np.linalg.pinv(curvature, rcond=FLAT) * (noise.unit if noise else np.nan)
    steep, directions = np.linalg.eigh(curvature)
    flat = directions[:, steep <= FLAT * steep.max()]  # to pinv() these have no spread
    spread += np.ptp(whole.problem.bounds, axis=0).max() ** 2 * flat @ flat.T
    return {
        "names": [one.name for one in whole.problem.free],
        "mean": (whole.best.x + ends).tolist(),
        "covariance": spread.tolist() if noise else None,
        "bounds": (np.array(whole.problem.bounds) + ends).tolist(),
    }


def _mean_of(errors_pct: Any) -> float:
    return float(np.mean(np.abs(errors_pct)))


def _ahead(whole: Fit, small: Fit | None, column: str) -> dict[str, Any]:
    """Error at more than SMALL_N threads of the fit to fewer, and the coverage of its intervals.

    Each interval is of the mean of as many runs as the point is of; a calibrated fit has none.
    """
    points = whole.points
    there = points.keep((points.column == points.names.index(column)) & (points.threads > SMALL_N))
    if small is None or not len(there):
        return {"extrapolation_pct": None, "coverage_pct": None, "extrapolated": []}
    ahead = small.predict(there.threads, column, runs=there.weight)
    held = (ahead.low <= there.rate_per_s) & (there.rate_per_s <= ahead.high)
    return {
        "extrapolation_pct": _mean_of(error_pct(np.log(ahead.value) - there.log_rate)),
        "coverage_pct": 100 * float(np.mean(held)) if small.noise else None,
        "extrapolated": _rows(vars(ahead)),
    }


def _simulated_curve(whole: Fit, column: str) -> list[Row]:
    """threads, value, model, low, high, residual_pct of each point; the interval is of one more run."""
    mine = whole.points.column == whole.points.names.index(column)
    found = whole.points.keep(mine)
    band = whole.predict(found.threads, column)
    curve = {
        "model": band.value,
        "low": band.low,
        "high": band.high,
        "residual_pct": whole.residuals_pct[mine],
    }
    return _rows({"threads": found.threads, "value": found.rate_per_s, **curve})


def _rows(columns: Mapping[str, Any]) -> list[Row]:
    """For JSON, which has no infinity: None where an end is open."""
    plain = [[float(v) if np.isfinite(v) else None for v in values] for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True)]
