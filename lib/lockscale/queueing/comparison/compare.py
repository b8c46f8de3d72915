# SPDX-License-Identifier: MIT
"""Rank models by how well they predict a thread count they have not seen, and say who ties."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.comparison.compare_text import comparison_html, comparison_text, findings
from lockscale.queueing.comparison.equal_worth import LEVEL, p_same
from lockscale.queueing.comparison.held_out import extrapolation_pct
from lockscale.queueing.comparison.noise_floor import NoiseFloor, noise_floor
from lockscale.queueing.comparison.tell_apart import Candidate, tell_apart
from lockscale.queueing.inference.fit import fit_points
from lockscale.queueing.inference.fitted import Fit
from lockscale.queueing.model import Model
from lockscale.queueing.points import points


@dataclass(frozen=True, repr=False)
class Comparison:
    """Fits of one table, best first; left_out says which models the table cannot carry.

    Best is the least leave-one-out error; models without one come last.
    """

    fits: tuple[Fit, ...]
    left_out: dict[str, str]
    noise: NoiseFloor | None

    @property
    def best(self) -> Fit:
        return self.fits[0]

    @cached_property
    def extrapolation_pct(self) -> tuple[float | None, ...]:
        """Of each fit: fitted to the smaller half of thread counts, its error at the larger."""
        return tuple(extrapolation_pct(one) for one in self.fits)

    @cached_property
    def p_same(self) -> tuple[float, ...]:
        """Of each fit: how easily chance makes it fit so much worse than the best (`equal_worth`)."""
        return tuple(p_same(self.best, one, len(self.fits) - 1) for one in self.fits)

    @property
    def within_noise(self) -> tuple[str, ...]:
        """Models whose error in sample is no larger than a perfect model's: any smaller fits the noise."""
        floor = self.noise.pct if self.noise else 0.0
        return tuple(one.model for one in self.fits if one.mape_pct <= floor and not one.calibrated)

    @property
    def not_told_apart(self) -> tuple[str, ...]:
        """Models that may be right for all the best one tells (p >= 5%), the best included."""
        return tuple(one.model for one, p in zip(self.fits, self.p_same, strict=True) if p >= LEVEL)

    def where_to_measure(self, threads: npt.ArrayLike) -> tuple[Candidate, ...]:
        """Thread counts from a list, first the one that best tells the two best models apart."""
        if len(self.fits) < 2:
            raise BadInput("there is one model only: compare two or more.")
        return tell_apart(self.fits[0], self.fits[1], threads)

    def to_json(self, table: str, column: str) -> list[dict[str, Any]]:
        """The `compare` shape of the command line; table and column are the caller's names."""
        by_rank = zip(self.fits, self.extrapolation_pct, self.p_same, strict=True)
        return [
            {
                "table": table,
                "column": column,
                "model": one.model,
                "free_parameters": one.free_parameters,
                "points": len(one.points),
                "calibrated": one.calibrated,
                "noise_pct": self.noise.pct if self.noise else None,
                "mape_pct": one.mape_pct,
                "loo_pct": one.loo_pct,
                "not_determined_threads": list(one.not_determined),
                "extrapolation_pct": ahead,
                "p_same_as_best": p,
                "told_apart": p < LEVEL,
                "rank": rank,
                "findings": findings(self) if rank == 1 else [],
                "warnings": list(one.points.warnings),
            }
            for rank, (one, ahead, p) in enumerate(by_rank, start=1)
        ]

    def __repr__(self) -> str:
        return comparison_text(self)

    def _repr_html_(self) -> str:
        return comparison_html(self)


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
        if len(model.parameters) > len(table):
            plural = "" if len(table) == 1 else "s"
            left_out[model.name] = f"more free parameters than {len(table)} thread count{plural}"
            continue
        try:
            fits.append(fit_points(table, model, {}))
        except BadInput as refused:
            left_out[model.name] = str(refused)
    if not fits:
        why = "; ".join(dict.fromkeys(left_out.values())) or "no model was given"
        raise BadInput(f"nothing to compare: {why}.")
    return rank(fits, left_out)


def rank(fits: Sequence[Fit], left_out: dict[str, str]) -> Comparison:
    """Fits of one and the same table in their order; `fits` must not be empty."""
    best_first = sorted(fits, key=lambda f: (f.loo_pct is None, f.loo_pct or 0.0, f.calibrated, f.mape_pct))
    return Comparison(tuple(best_first), left_out, noise_floor(fits[0].points))
