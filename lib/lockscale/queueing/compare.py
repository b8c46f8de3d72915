# SPDX-License-Identifier: MIT
"""Rank models by how well they predict a thread count they have not seen, and say who ties."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.evidence import (
    LEVEL,
    Candidate,
    NoiseFloor,
    extrapolation_pct,
    noise_floor,
    p_same,
    tell_apart,
)
from lockscale.queueing.fit import Table, as_points, fit_model
from lockscale.queueing.fitted import LARGEST_HELD_OUT_PCT, Fit, html_table
from lockscale.queueing.model import QueueingModel


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
        """The least bad where none fits (`Fit.misfit`)."""
        return self.fits[0]

    @property
    def is_ranked(self) -> bool:
        """Whether there are thread counts enough to leave one out, by which the first is the first."""
        return self.best.held_out_pct is not None

    @cached_property
    def extrapolation_pct(self) -> tuple[float | None, ...]:
        """Of each fit: fitted to the smaller half of thread counts, its error at the larger."""
        return tuple(extrapolation_pct(one) for one in self.fits)

    @cached_property
    def p_same(self) -> tuple[float, ...]:
        """Of each fit: how easily chance makes it fit so much worse than the best (`evidence.p_same`)."""
        return tuple(p_same(self.best, one, len(self.fits) - 1) for one in self.fits)

    @property
    def within_noise(self) -> tuple[str, ...]:
        """Models whose error in sample, as printed, is no larger than a perfect model's: less fits noise."""
        floor_pct = round(self.noise.pct, 1) if self.noise else 0.0
        near = [one for one in self.fits if round(one.mape_pct, 1) <= floor_pct]
        return tuple(one.model for one in near if not one.calibrated)

    @property
    def not_told_apart(self) -> tuple[str, ...]:
        """Models that may be right for all the best one tells (p >= 5%), the best included."""
        return tuple(one.model for one, p in zip(self.fits, self.p_same, strict=True) if p >= LEVEL)

    def where_to_measure(self, threads: npt.ArrayLike) -> tuple[Candidate, ...]:
        """Thread counts from a list, first the one that best tells the two best models apart."""
        if len(self.fits) < 2:
            raise BadInput("there is only one model: compare two or more.")
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
        """One line a model, best first, then the findings."""
        lines = [
            "".join(f"{c:{way}{w}}" for c, way, w in zip(cells, "<>>>>", (20, 5, 11, 15, 14), strict=True))
            for cells in [HEADER, *self._rows()]
        ]
        return "\n".join(lines + findings(self))

    def _repr_html_(self) -> str:
        n = self.best.points.threads
        title = f"Models of {len(n)} thread counts, {n[0]:g} to {n[-1]:g}: mean absolute error"
        return html_table(title, HEADER, self._rows(), findings(self))

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (one.model, str(one.free_parameters), _pct(one.mape_pct), _pct(one.loo_pct), _pct(far))
            for one, far in zip(self.fits, self.extrapolation_pct, strict=True)
        ]


EXACT_PCT = 0.05
"""Leave-one-out: what is shown as 0.0% is not told from 0."""
HEADER = ("model", "free", "in sample", "leave-one-out", "from small N")


def compare_models(table: Table, models: Iterable[QueueingModel]) -> Comparison:
    """Fit every model to one table, as `fit_model` takes it.

    A model with more parameters than the table has thread counts is left out. Raises BadInput if
    that leaves none.
    """
    known = as_points(table)
    fits: list[Fit] = []
    left_out: dict[str, str] = {}
    for model in models:
        if len(model.parameters) > len(known):
            plural = "" if len(known) == 1 else "s"
            left_out[model.name] = f"more free parameters than {len(known)} thread count{plural}"
            continue
        try:
            fits.append(fit_model(known, model))
        except BadInput as refused:
            left_out[model.name] = str(refused)
    if not fits:
        why = "; ".join(dict.fromkeys(left_out.values())) or "no model was given"
        raise BadInput(f"nothing to compare: {why}.")
    return rank(fits, left_out)


def rank(fits: Sequence[Fit], left_out: dict[str, str]) -> Comparison:
    """Fits of one and the same table in their order; `fits` must not be empty.

    Of those that are all exact, the fewest parameters come first.
    """

    def key(one: Fit) -> tuple[bool, float, bool, int, float]:
        error_pct = max(one.loo_pct or 0.0, EXACT_PCT)
        return one.loo_pct is None, error_pct, one.calibrated, one.free_parameters, one.mape_pct

    best_first = sorted(fits, key=key)
    return Comparison(tuple(best_first), left_out, noise_floor(fits[0].points))


def findings(all_of_them: Comparison) -> list[str]:
    """Sentences: the noise floor, who ties with the best, who predicts large N, who was left out."""
    said = [
        _floor(all_of_them),
        _ties(all_of_them),
        _ahead(all_of_them),
        *map(_not_determined, all_of_them.fits),
    ]
    return [*filter(None, said), *all_of_them.best.points.warnings, *_left_out(all_of_them.left_out)]


def _pct(error: float | None) -> str:
    return "-" if error is None else f"{error:.1f}%"


def _floor(all_of_them: Comparison) -> str:
    noise = all_of_them.noise
    if noise is None:
        return "No repeats: how near a perfect model would come is not known."
    if all_of_them.within_noise:
        names = _and(list(all_of_them.within_noise))
        enough = "" if all_of_them.best.misfit else " A smaller error would fit the noise, so stop here."
        through = [one.model for one in all_of_them.fits if one.calibrated]
        has = "has" if len(through) == 1 else "have"
        freely = f" ({_and(through)} {has} a parameter for each point, which says nothing)" if through else ""
        return f"{noise}; in sample within it: {names}{freely}.{enough}"
    if all(one.calibrated for one in all_of_them.fits):
        return f"{noise}; every model has a parameter for each point, so a small error says nothing."
    those = " that is not calibrated" if any(one.calibrated for one in all_of_them.fits) else ""
    return f"{noise}; the error in sample of every model{those} is larger."


def _ties(all_of_them: Comparison) -> str:
    best, *others = all_of_them.not_told_apart or (all_of_them.best.model,)
    if not all_of_them.is_ranked:
        return "There are too few thread counts to leave one out: these models are not ranked."
    if all_of_them.best.misfit_on_average:
        return (
            f"None fits within {LARGEST_HELD_OUT_PCT:g}% leave-one-out; the least bad is "
            f"{all_of_them.best.model} ({_pct(all_of_them.best.loo_pct)}): no law here describes this table."
        )
    if all_of_them.best.misses_fall:
        return (
            f"The rate falls at the most threads, and {all_of_them.best.model}, the least bad, does not: no "
            "law here describes this table."
        )
    if others:
        return f"The data cannot tell {best} from {_and(others, 'or')} (F tests of misfit, 5%)."
    if len(all_of_them.fits) > 1:
        return f"The data exclude every other model, if {best} is right (F tests of misfit, 5%)."
    return ""


def _ahead(all_of_them: Comparison) -> str:
    known = [(e, f.model) for e, f in zip(all_of_them.extrapolation_pct, all_of_them.fits, strict=True) if e]
    if not known:
        return ""
    error, model = min(known)
    halves = "Fitted to the smaller half of thread counts,"
    if error > LARGEST_HELD_OUT_PCT:
        return f"{halves} no model predicts the larger; the least bad is {model}, {error:.0f}% off."
    return f"{halves} {model} predicts the larger best: {error:.1f}%."


def _not_determined(one: Fit) -> str:
    """Why a fit has no leave-one-out error, where a ridge is the reason."""
    if not one.not_determined:
        return ""
    where = ", ".join(map(str, one.not_determined))
    return (
        f"Leave-one-out of {one.model}: not determined at N = {where} (equally good fits of the rest differ)."
    )


def _left_out(reasons: dict[str, str]) -> list[str]:
    """One sentence for each reason."""
    names = {why: [name for name, its in reasons.items() if its == why] for why in reasons.values()}
    return [f"Left out: {_and(left)}: {why.rstrip('.')}." for why, left in names.items()]


def _and(names: list[str], word: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
