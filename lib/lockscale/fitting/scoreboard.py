# SPDX-License-Identifier: MIT
"""Every published curve: its best model by `compare`, the errors, and the target."""

from typing import Any

from lockscale.fitting.column import Column
from lockscale.fitting.published_table import all_published_columns
from lockscale.fitting.table_fit import compare_columns
from lockscale.fitting.targets import ColumnTarget, TableTargets, fit_targets
from lockscale.queueing.comparison.compare import Comparison
from lockscale.queueing.comparison.held_out import coverage_pct
from lockscale.queueing.inference.fitted import Fit


def scoreboard() -> list[dict[str, Any]]:
    """The `scoreboard` shape of the command line, queueing part: a row for each curve.

    Errors are mean absolute percentages. `met`: the model has fewer free parameters than there are
    thread counts, and both errors are within their targets; None where no target is set. `n_min` and
    `n_min_because` say which thread counts are left out.
    """
    targets = fit_targets()
    none = TableTargets(table="", columns=[])
    chosen = [(one, targets.get(one.table, none)) for one in all_published_columns()]
    columns = [one.between(of_table.n_min, None) for one, of_table in chosen]
    ranked = compare_columns("scoreboard", columns)
    return [_row(one, of_table, found) for (one, of_table), found in zip(chosen, ranked, strict=True)]


def _row(column: Column, of_table: TableTargets, found: Comparison) -> dict[str, Any]:
    target = next((one for one in of_table.columns if one.column == column.name), None)
    best = found.best
    return {
        "table": column.table,
        "column": column.name,
        "kind": "queueing",
        "model": best.model,
        "free_parameters": best.free_parameters,
        "points": len(best.points),
        "n_min": of_table.n_min,
        "n_min_because": of_table.because,
        "calibrated": best.calibrated,
        "noise_pct": found.noise.pct if found.noise else None,
        "noise_from": found.noise.source if found.noise else None,
        "mape_pct": best.mape_pct,
        "loo_pct": best.loo_pct,
        "extrapolation_pct": found.extrapolation_pct[0],
        "coverage_pct": coverage_pct(best),
        "target_pct": target.target_pct if target else None,
        "target_loo_pct": target.target_loo_pct if target else None,
        "met": None if target is None else meets(best, target),
        "not_told_apart": list(found.not_told_apart[1:]),
    }


def meets(one: Fit, target: ColumnTarget) -> bool:
    """Both errors within their targets; a calibrated fit has shown nothing and meets none."""
    if one.calibrated or one.loo_pct is None:
        return False
    return one.mape_pct <= target.target_pct and one.loo_pct <= target.target_loo_pct
