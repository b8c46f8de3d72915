# SPDX-License-Identifier: MIT
"""Synthetic tables with known truth: how often intervals cover it, and what the fits call identified.

Truths are drawn over the range that fits of the published columns show: those fits' parameters, each
times 1/2 to 2. A parameter that a published fit puts on its bound stays there in half of the truths
and is anywhere in the search box in the others. A table has the eight thread counts of S4's
stress-orphan and the repeat noise of S4's creat_clo, 4.1 to 5.4%, as a normal error of ln(rate).

What is truly unidentified is decided without any fit of a noisy table: from the curve of the truth
itself. With parameter k put on a physical bound and all others free (scipy's least squares, several
starts), the root of the sum of squares over the noise is the distance d between truth and bound. A
95% interval excludes the bound with probability P(Z > 1.96 - d), known noise: for d <= 0.315 not
more often than the 5% that it is wrong anyway. Such a parameter is unidentified.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import norm

from lockscale.fitting.column import all_published_columns
from lockscale.queueing import MODELS
from lockscale.queueing.fit import fit_model

THREADS = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])
NOISE = (0.041, 0.054)
HARDLY = norm.ppf(0.975) - norm.ppf(0.95)  # 0.315 standard errors
TABLES_A_TRUTH = 5
FAR_LOW = 1e-9  # of a parameter: stands for 0 where that is not allowed, and 1 / it for no end
SPREADS = (0.0, 0.5, 1.5, 3.0)  # of the starts about the truth, standard deviation of ln


@dataclass(frozen=True)
class Outcome:
    """One parameter of one table: did the interval hold it, was it called identified, was it so?"""

    model: str
    parameter: str
    held: bool
    identified: bool
    truly_unidentified: bool


def outcomes(model_name: str, first: int, truths: int) -> list[Outcome]:
    """TABLES_A_TRUTH tables for each of the truths number first, first + 1, ..."""
    return [one for k in range(first, first + truths) for one in _of_truth(model_name, k)]


def _of_truth(model_name: str, number: int) -> Iterator[Outcome]:
    model = MODELS[model_name]
    rng = np.random.default_rng([number, 5])
    truth = _truth(model_name, rng)
    noise = rng.uniform(*NOISE)
    lost = {p.name: _distance(model, truth, p) <= HARDLY * noise for p in model.parameters}
    for _ in range(TABLES_A_TRUTH):
        rates = model.rate(THREADS, truth) * np.exp(rng.normal(0, noise, len(THREADS)))
        for found in fit_model((THREADS, rates), model).parameters:
            low = -np.inf if found.low is None else found.low
            high = np.inf if found.high is None else found.high
            yield Outcome(
                model_name,
                found.name,
                low <= truth[found.name] <= high,
                found.status == "identified",
                lost[found.name],
            )


@cache
def _published_fits(model_name: str):
    model = MODELS[model_name]
    columns = [c for c in all_published_columns() if c.given is None]
    return [
        (fit_model((c.threads, c.rates_per_s), model).params, model.search_box(c.threads, c.rates_per_s))
        for c in columns
    ]


def _truth(model_name: str, rng: np.random.Generator) -> dict[str, float]:
    model = MODELS[model_name]
    while True:
        fits = _published_fits(model_name)
        centre, box = fits[rng.integers(len(fits))]
        truth = {}
        for p in model.parameters:
            value = centre[p.name] * 2 ** rng.uniform(-1, 1)
            on_bound = centre[p.name] in (p.low, p.high) or centre[p.name] > 1e6 * box[p.name][1]
            if on_bound and rng.random() < 0.5:
                value = np.exp(rng.uniform(*np.log(box[p.name])))
            truth[p.name] = float(np.clip(value, p.low, p.high))
        if np.all(np.isfinite(np.log(model.rate(THREADS, truth)))):
            return truth


def _distance(model, truth, p) -> float:
    """Least root of the sum of squares of ln(rate) with parameter p on a bound, in ln units."""
    low = p.low if p.low > 0 or not p.positive else FAR_LOW * truth[p.name]
    high = p.high if np.isfinite(p.high) else max(truth.values()) / FAR_LOW
    return min(_distance_to(model, truth, p.name, end) for end in (low, high))


def _distance_to(model, truth, held, end) -> float:
    goal = np.log(model.rate(THREADS, truth))
    others = [p for p in model.parameters if p.name != held]
    start = np.array([truth[p.name] for p in others])
    unit = np.where(start > 0, start, 1e-3 * max(truth.values()))

    def misses(x):
        params = {held: end} | dict(zip([p.name for p in others], x * unit, strict=True))
        with np.errstate(all="ignore"):
            miss = np.log(model.rate(THREADS, params)) - goal
        return np.where(np.abs(miss) < 300, miss, 300.0)

    low = np.array([max(p.low, FAR_LOW if p.positive else 0.0) for p in others]) / unit
    high = np.array([min(p.high, 1e15) for p in others]) / unit
    rng = np.random.default_rng(0)
    best = np.sum(misses(start / unit) ** 2)
    for spread in SPREADS:
        if best <= (HARDLY * NOISE[0]) ** 2 or not others:
            break
        x = np.clip(start / unit * np.exp(rng.normal(0, spread, len(others))), low + 1e-9, high * (1 - 1e-9))
        found = least_squares(misses, x, bounds=(low, high), x_scale="jac", max_nfev=60)
        best = min(best, 2 * found.cost)
    return float(np.sqrt(best))
