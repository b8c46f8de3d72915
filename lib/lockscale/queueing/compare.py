# SPDX-License-Identifier: MIT
"""Rank models by how well they predict a thread count they have not seen."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.fit import fit_points
from lockscale.queueing.fitted import Fit
from lockscale.queueing.model import Model
from lockscale.queueing.points import Points, points


@dataclass(frozen=True, repr=False)
class Comparison:
    """Fits, best leave-one-out error first; left_out says which models the table cannot carry."""

    fits: tuple[Fit, ...]
    left_out: dict[str, str]

    def to_json(self, table: str, column: str) -> list[dict[str, Any]]:
        """The `compare` shape of the command line; table and column are the caller's names."""
        return [
            {
                "table": table,
                "column": column,
                "model": one.model,
                "free_parameters": one.free_parameters,
                "mape_pct": one.mape_pct,
                "loo_pct": one.loo_pct,
                "extrapolation_pct": extrapolation_pct(one),
                "rank": rank,
            }
            for rank, one in enumerate(self.fits, start=1)
        ]

    def __repr__(self) -> str:
        lines = [f"{'model':<20}{'free':>5}{'in sample':>11}{'leave-one-out':>15}"]
        for one in self.fits:
            held_out = "-" if one.loo_pct is None else f"{one.loo_pct:.1f}%"
            lines.append(f"{one.model:<20}{one.free_parameters:>5}{one.mape_pct:>10.1f}%{held_out:>15}")
        return "\n".join(lines + [f"left out: {why}" for why in self.left_out.values()])


def compare(
    threads: npt.ArrayLike,
    values: npt.ArrayLike,
    models: Iterable[Model],
    *,
    n_min: int = 1,
    weights: npt.ArrayLike | None = None,
) -> Comparison:
    """Fit every model to one table; columns as in `fit`.

    A model with more parameters than the table has thread counts is left out. Raises BadInput if
    that leaves none.
    """
    table = points(threads, values, weights=weights, n_min=n_min)
    fits: list[Fit] = []
    left_out: dict[str, str] = {}
    for model in models:
        try:
            fits.append(fit_points(table, model, {}))
        except BadInput as too_few:
            left_out[model.name] = str(too_few)
    if not fits:
        raise BadInput(next(iter(left_out.values()), "compare needs at least one model."))
    fits.sort(key=lambda one: (one.loo_pct is None, one.loo_pct or 0.0, one.mape_pct))
    return Comparison(tuple(fits), left_out)


def extrapolation_pct(one: Fit) -> float | None:
    """Mean absolute percentage error at the larger half of thread counts, fitted to the smaller.

    None where the smaller half (rounded up) has fewer thread counts than free parameters.
    """
    table: Points = one.points
    small = np.arange(len(table)) < (len(table) + 1) // 2
    if small.all() or small.sum() < max(one.free_parameters, 1):
        return None
    half = fit_points(table.keep(small), one.problem.model, one.problem.fixed)
    ahead = one.problem.model.rate(table.threads[~small], half.params)
    return float(100 * np.mean(np.abs(ahead / table.rate_per_s[~small] - 1)))
