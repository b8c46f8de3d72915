# SPDX-License-Identifier: MIT
"""Whether engines agree: with each other and with exact theory, within 3 standard errors."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

STANDARD_ERRORS = 3.0


@dataclass(frozen=True)
class Estimate:
    """An engine's rate: mean of independent replications and its standard error; origin: simulated."""

    engine: str
    rate_per_s: float
    standard_error_per_s: float


def estimate(engine: str, rates_per_s: Sequence[float]) -> Estimate:
    """From the rates of at least two replications."""
    error = statistics.stdev(rates_per_s) / math.sqrt(len(rates_per_s))
    return Estimate(engine, statistics.fmean(rates_per_s), error)


def errors_apart(one: Estimate, other: Estimate) -> float:
    """The difference in combined standard errors."""
    difference = abs(one.rate_per_s - other.rate_per_s)
    combined = math.hypot(one.standard_error_per_s, other.standard_error_per_s)
    if not combined:
        return math.inf if difference else 0.0
    return difference / combined


def agrees(one: Estimate, all_of_them: Iterable[Estimate], exact_per_s: float) -> bool:
    """Whether the engine is near the exact rate and near every other engine."""
    theory = Estimate("exact", exact_per_s, 0.0)
    others = [e for e in all_of_them if e.engine != one.engine]
    return all(errors_apart(one, other) <= STANDARD_ERRORS for other in [theory, *others])
