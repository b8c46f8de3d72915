# SPDX-License-Identifier: MIT
"""Every published curve: its best model by `compare`, the errors, and the target."""

from typing import Any

import numpy as np

from lockscale.fitting.column import Column
from lockscale.fitting.published_table import all_published_columns
from lockscale.fitting.table_fit import compare_columns
from lockscale.fitting.targets import ColumnTarget, TableTargets, fit_targets
from lockscale.queueing.comparison.compare import Comparison, rank
from lockscale.queueing.comparison.evidence import coverage_pct, extrapolation_pct
from lockscale.queueing.inference.fitted import Fit


def scoreboard() -> list[dict[str, Any]]:
    """The `scoreboard` shape of the command line, queueing part: a row for each curve.

    Errors are mean absolute percentages. `met`: the model has fewer free parameters than there are
    thread counts, and both errors are within their targets; None where no target is set. `n_min` and
    `n_min_because` say which thread counts are left out, and `all_points` what the same procedure gives
    with them. `not_determined`: thread counts at which a model without a leave-one-out error has
    none, because equally good fits of the others differ there.
    `not_laws`: models that are no candidates, the errors that they have, and why.
    """
    return [column_row(one) for one in all_published_columns()]


def column_row(column: Column) -> dict[str, Any]:
    """The row of one published curve."""
    of_table = fit_targets().get(column.table, TableTargets(table="", columns=[]))
    used = column.between(of_table.n_min, None)
    asked = [used, column] if of_table.n_min > 1 else [used]
    found, *whole = compare_columns(f"compare {column.name}", asked)
    return _row(column, of_table, found, whole[0] if whole else None)


def _row(
    column: Column, of_table: TableTargets, found: Comparison, whole: Comparison | None
) -> dict[str, Any]:
    target = next((one for one in of_table.columns if one.column == column.name), None)
    candidates = _candidates(found, target)
    return {
        "table": column.table,
        "column": column.name,
        "kind": "queueing",
        **_figures(candidates, target),
        "points_in_table": len(set(column.threads.tolist())),
        "n_min": of_table.n_min,
        "n_min_because": of_table.because,
        "coverage_pct": coverage_pct(candidates.best),
        "target_pct": target.target_pct if target else None,
        "target_loo_pct": target.target_loo_pct if target else None,
        "not_told_apart": list(candidates.not_told_apart[1:]),
        "candidates": len(candidates.fits),
        "not_determined": {one.model: list(one.not_determined) for one in found.fits if one.not_determined},
        "not_laws": _not_laws(found, target),
        "not_laws_because": target.not_laws.because if target and target.not_laws else "",
        "curve": _curve(candidates.best),
        "all_points": None if whole is None else _figures(_candidates(whole, target), target),
    }


def _candidates(found: Comparison, target: ColumnTarget | None) -> Comparison:
    """Without the laws that contradict what the arm does."""
    laws = target.not_laws.laws if target and target.not_laws else []
    return rank([one for one in found.fits if one.model not in laws], found.left_out) if laws else found


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
        "met": None if target is None else meets(best, target),
    }


def _curve(best: Fit) -> list[dict[str, float]]:
    """What a figure draws of the model at each thread count."""
    table = best.points
    rates = np.exp(table.log_rate + best.problem.misses(best.best.x))
    values = zip(table.threads.tolist(), rates.tolist(), best.residuals_pct.tolist(), strict=True)
    return [{"threads": n, "model": rate, "residual_pct": off} for n, rate, off in values]


def _not_laws(found: Comparison, target: ColumnTarget | None) -> list[dict[str, Any]]:
    laws = target.not_laws.laws if target and target.not_laws else []
    return [
        {"model": one.model, "mape_pct": one.mape_pct, "loo_pct": one.loo_pct}
        for one in found.fits
        if one.model in laws
    ]


def meets(one: Fit, target: ColumnTarget) -> bool:
    """Both errors within their targets; a calibrated fit has shown nothing and meets none."""
    if one.calibrated or one.loo_pct is None:
        return False
    return one.mape_pct <= target.target_pct and one.loo_pct <= target.target_loo_pct
