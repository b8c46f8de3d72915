# SPDX-License-Identifier: MIT
"""What a fit found: parameters with intervals, errors in and out of sample, predictions.

Out of sample, a model says something of thread counts that it has not seen. Each such fit is one of its
own, with a search box, a scan and starts of the points that are left: neither the fit of the whole
table nor the points that are out have a say. Where very different rates at a point that is out go with
equally good fits of the others (a ridge), there is no such rate.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.interval import NOISE_FLOOR, Noise, crossing
from lockscale.queueing.model import FloatArray, as_floats, check_threads
from lockscale.queueing.points import Points
from lockscale.queueing.search import Optimum, Problem, problem_of, search
from lockscale.queueing.shared import Shared, rate_of


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str]) -> str:
    """A title, a table of text cells (the first column to the left), and a line for each note."""
    body = "".join(_row("td", row) for row in rows)
    said = "".join(f"<div>{escape(note)}</div>" for note in notes)
    head = f"<thead>{_row('th', header)}</thead>"
    return f"<div><b>{escape(title)}</b></div><table>{head}<tbody>{body}</tbody></table>{said}"


def _row(tag: str, cells: Sequence[str]) -> str:
    sides = ["left"] + ["right"] * (len(cells) - 1)
    inside = [
        f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>'
        for side, cell in zip(sides, cells, strict=True)
    ]
    return f"<tr>{''.join(inside)}</tr>"


def short(number: float | None, digits: int = 4) -> str:
    """`digits` that count, without an exponent where there is room; `open` where there is no number."""
    if number is None:
        return "open"
    text = f"{number:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and number < 1e9 else text


FOLDS = 32
"""Most fits that leave-one-out makes."""
EQUAL = 1e-6  # of a sum of squares: fits that differ by less are equally good
LOOSE = 0.01  # of a rate: what equally good fits may differ by
LARGEST_HELD_OUT_PCT = 25.0
"""A model with a larger leave-one-out error does not describe the table, whatever its rank."""
FALLEN = 0.9  # of the highest rate: less at the most threads is no plateau any more

Mask = npt.NDArray[np.bool_]


def error_pct(misses: FloatArray) -> FloatArray:
    """100 (value - model) / value, from ln(model / value)."""
    return np.asarray(100 * (1 - np.exp(misses)))


@dataclass(frozen=True)
class Without:
    """The best fit without the points of `out`, and what it makes of them.

    misses: ln(model / table) at those points. determined: whether every equally good fit says the same; of a
    column of which no point is left none does, if it has a parameter of its own.
    """

    out: Mask
    problem: Problem
    best: Optimum
    misses: FloatArray
    determined: Mask


def without(whole: Problem, out: Mask) -> Without:
    """The fit of the other points."""
    rest = problem_of(whole.model, whole.points.keep(~out), whole.fixed)
    optima = search(rest)
    floor = optima[0].ss + NOISE_FLOOR * len(rest.points)
    alike = [one.x for one in optima if one.ss - optima[0].ss <= EQUAL * floor]
    left_out = whole.points.keep(out)
    seen = replace(rest, points=left_out).many_misses(np.array(alike))
    determined = np.ptp(seen, axis=0) < LOOSE
    if isinstance(whole.model, Shared):
        lost = {*left_out.column.tolist()} - {*rest.points.column.tolist()}
        determined &= ~np.isin(left_out.column, [k for k in lost if whole.model.has_own(k, whole.fixed)])
    return Without(out, rest, optima[0], seen[0], determined)


@dataclass(frozen=True)
class Estimate:
    """One parameter and its 95% interval.

    status: `identified` (the data exclude both bounds, at 97.5%), `open-low` or `open-high` (they do not
    exclude that one; with both open, `open-high`), `at-bound` (the best value is a physical bound),
    `fixed` (given by the caller), `calibrated` (no degree of freedom left to say how sure). What is shown of
    a `Fit.misfit` says `misfit` in place of `identified`.
    An open end is the physical bound, or None where there is none.
    """

    name: str
    unit: str
    value: float
    low: float | None
    high: float | None
    status: str


@dataclass(frozen=True)
class Prediction:
    """Rates per second with 95% intervals for one more run, or a mean of several; all arrays (n,).

    low and high are NaN where the fit has no degree of freedom left (`calibrated`).
    """

    threads: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, repr=False)
class Fit:
    """A model fitted to a table. Made by `fit_model`."""

    problem: Problem
    best: Optimum
    noise: Noise | None
    parameters: tuple[Estimate, ...]  # every one of the model, in its order

    @property
    def model(self) -> str:
        return self.problem.model.name

    @property
    def points(self) -> Points:
        return self.problem.points

    @property
    def params(self) -> dict[str, float]:
        """Every parameter of the model by name, fixed ones included."""
        return self.problem.params(self.best.x)

    @property
    def free_parameters(self) -> int:
        return len(self.problem.free)

    @property
    def calibrated(self) -> bool:
        """As many free parameters as thread counts: only a bound keeps the curve off some point."""
        return self.free_parameters == len(self.points)

    @property
    def residuals_pct(self) -> FloatArray:
        """100 (value - model) / value at each thread count, shape (points,)."""
        return error_pct(self.problem.misses(self.best.x))

    @property
    def mape_pct(self) -> float:
        """Mean absolute percentage error in sample."""
        return float(np.mean(np.abs(self.residuals_pct)))

    @cached_property
    def left_out(self) -> tuple[Without, ...]:
        """Fits of all but one thread count, for each in turn; beyond FOLDS of all but every FOLDS-th.

        None where what is left has no more points than free parameters: a fit of it says nothing.
        """
        fold = np.arange(len(self.points)) % FOLDS
        if np.count_nonzero(fold) <= self.free_parameters:
            return ()
        return tuple(without(self.problem, fold == k) for k in range(int(fold.max()) + 1))

    @property
    def not_determined(self) -> tuple[int, ...]:
        """Thread counts of which equally good fits of the others say different rates."""
        threads = self.points.threads
        loose = [threads[one.out][~one.determined] for one in self.left_out]
        return tuple(sorted(int(n) for n in np.concatenate([*loose, threads[:0]])))

    @cached_property
    def held_out_pct(self) -> FloatArray | None:
        """`residuals_pct` of each thread count from a fit made without it, shape (points,).

        None where nothing can be `left_out`, and where some rate is `not_determined`.
        """
        if not self.left_out or self.not_determined:
            return None
        misses = np.empty(len(self.points))
        for one in self.left_out:
            misses[one.out] = one.misses
        return error_pct(misses)

    @property
    def loo_pct(self) -> float | None:
        """Mean absolute percentage error at each thread count when that one is left out of the fit."""
        return None if self.held_out_pct is None else float(np.mean(np.abs(self.held_out_pct)))

    @property
    def misfit(self) -> bool:
        """Whether it is no law of this table: on average, or as it misses that the rate falls."""
        return self.misfit_on_average or self.misses_fall

    @property
    def misfit_on_average(self) -> bool:
        """Whether it misses what was held out by more than LARGEST_HELD_OUT_PCT.

        Where nothing can be held out, whether it misses even the values that it was fitted to by as much.
        """
        return (self.mape_pct if self.loo_pct is None else self.loo_pct) > LARGEST_HELD_OUT_PCT

    @property
    def misses_fall(self) -> bool:
        """Whether the rate falls at the most threads, and the model, which is far off there, does not.

        A mean over all thread counts hides it. Of one column alone.
        """
        if len(self.points.names) > 1 or len(self.points) < 2:
            return False
        off, value = self.residuals_pct, self.points.rate_per_s
        model = value * (1 - off / 100)
        falls = value[-1] < FALLEN * value.max() and model[-1] > FALLEN * model.max()
        return bool(falls and abs(off[-1]) > LARGEST_HELD_OUT_PCT)

    @property
    def reported(self) -> tuple[Estimate, ...]:
        """`parameters` as they are shown: of a misfit the data identify none."""
        return tuple(replace(e, status=self.status(e.status)) for e in self.parameters)

    def status(self, of_a_law: str) -> str:
        """The status of a number read off the fit: of a misfit none is `identified`."""
        return "misfit" if self.misfit and of_a_law == "identified" else of_a_law

    def predict(
        self, threads: npt.ArrayLike, column: str | None = None, *, runs: npt.ArrayLike = 1.0
    ) -> Prediction:
        """The model's value and a 95% interval for one more run, from parameters and noise together.

        column: which one, where several were fitted at once. runs: of how many more runs at each number of
        threads the interval is to hold the mean, a number or one for each. A rate y belongs to the interval
        if the best fit to the table *and* y is not worse than the best fit to the table by more than
        its limit: the profile predictive likelihood (J. F. Bjornstad, Statistical Science 5, 1990).
        For a linear model this is the textbook prediction interval; here it keeps the physical
        bounds too.
        """
        n, k, more = check_threads(threads), self._place(column), as_floats("runs", runs)
        if len(more) not in (1, len(n)) or np.any(more <= 0):
            raise BadInput("runs is one number above 0, or one for each number of threads.")
        rates = rate_of(self.problem.model, n, np.full(len(n), k), self.params)
        points = zip(n, np.log(rates), np.broadcast_to(more, n.shape), strict=True)
        ends = np.array([self._interval(*point, k) for point in points]).reshape(-1, 2)
        return Prediction(n, rates, np.exp(ends[:, 0]), np.exp(ends[:, 1]))

    def _place(self, column: str | None) -> int:
        names = self.points.names
        if column is None and len(names) == 1:
            return 0
        if column not in names:
            raise BadInput(f"column = {column!r}: name one of {', '.join(names)}.")
        return names.index(column)

    def _interval(self, threads: float, log_value: float, runs: float, column: int) -> tuple[float, float]:
        if self.noise is None:
            return np.nan, np.nan
        limit, weight = self.noise.limit, self.noise.unit / self.noise.of_mean(runs)
        warm = [self.best.x]

        def excess(log_rate: float) -> float:
            table = self.points.with_row(threads, log_rate, weight, column)
            optimum = replace(self.problem, points=table).minimise_near([warm[-1], self.best.x], {})
            warm.append(optimum.x)
            return float(np.sqrt(max(optimum.ss - self.best.ss, 0.0)) - np.sqrt(limit))

        step = 1.3 * float(np.sqrt(limit / weight))
        low = crossing(excess, log_value, step, log_value - FAR)
        warm.append(self.best.x)
        high = crossing(excess, log_value, step, log_value + FAR)
        return -np.inf if low is None else low, np.inf if high is None else high

    def to_json(self, table: str, column: str) -> dict[str, Any]:
        """The `fit` shape of the command line; table and column are the caller's names."""
        return {
            "table": table,
            "column": column,
            "model": self.model,
            "parameters": [vars(e) for e in self.reported],
            "mape_pct": self.mape_pct,
            "loo_pct": self.loo_pct,
            "not_determined_threads": list(self.not_determined),
            "free_parameters": self.free_parameters,
            "points": len(self.points),
            "calibrated": self.calibrated,
            "warnings": list(self.points.warnings),
        }

    def __repr__(self) -> str:
        """The title, a line for each parameter, and what the fit is worth."""
        width = max(14, *(len(e.name) + 2 for e in self.parameters))
        lines = [
            f"  {name:<{width}}{value:>12} {unit:<4} {interval:<26} {status}"
            for name, value, interval, unit, status in map(_cells, self.reported)
        ]
        return "\n".join([_title(self), *lines, *(f"  {note}" for note in _notes(self))])

    def _repr_html_(self) -> str:
        header = ("parameter", "value", "95% interval", "unit", "status")
        return html_table(_title(self), header, map(_cells, self.reported), _notes(self))


FAR = 50.0
"""ln of the largest factor by which a prediction may be off before its end is called open."""


def _title(one: Fit) -> str:
    n = one.points.threads
    low, high = n.min(), n.max()
    span = f"{low:g} to {high:g} threads" if low < high else f"{low:g} threads"
    return f"{one.model}: {span}, points: {len(n)}, free parameters: {one.free_parameters}"


def _cells(e: Estimate) -> tuple[str, str, str, str, str]:
    interval = ""
    if e.status not in ("fixed", "calibrated"):
        interval = f"[{short(e.low)}, {short(e.high)}]"
    return e.name, short(e.value), interval, e.unit, e.status


def _notes(one: Fit) -> list[str]:
    notes = [f"error {one.mape_pct:.1f}% in sample, {_held_out(one)} leave-one-out"]
    if one.misfit:
        where = "in sample" if one.loo_pct is None else "leave-one-out"
        why = "the rate falls at the most threads, and this law does not"
        if one.misfit_on_average:
            why = f"no fit within {LARGEST_HELD_OUT_PCT:g}% {where}"
        notes.append(f"{why}: its parameters do not describe the machine")
    if one.calibrated:
        notes.append("calibrated: a parameter for each point, so a small error in sample says nothing")
    return [*notes, *one.points.warnings]


def _held_out(one: Fit) -> str:
    if one.not_determined:
        return f"not determined at N = {', '.join(map(str, one.not_determined))}, so no"
    return "not computable" if one.loo_pct is None else f"{one.loo_pct:.1f}%"
