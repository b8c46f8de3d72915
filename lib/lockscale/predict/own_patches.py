# SPDX-License-Identifier: MIT
"""What each switch of a model, fitted to a user's base, would give: the rates with their intervals."""

import numpy as np

from lockscale.errors import BadInput
from lockscale.predict import verdict
from lockscale.predict.answer import Predicted
from lockscale.predict.case import MOST, Case, simulated_sd
from lockscale.predict.posterior import Posterior
from lockscale.progress import progress

NORMAL_95 = 1.96

Sets = list[dict[str, float]]


def switches(case: Case) -> list[str]:
    """Those that the base has not thrown and that the model takes beside what is held."""
    return [
        p.name
        for p in case.model.parameters
        if not p.unit and not case.held.get(p.name, p.default) and _runs(case, p.name)
    ]


def _runs(case: Case, switch: str) -> bool:
    try:
        case.model.program({**case.held, switch: True}, case.threads[-1])
    except BadInput:
        return False
    return True


def predictions(case: Case, found: Posterior, naive: float | None) -> list[Predicted]:
    """naive: by what factor the rate would grow without the profile's waits, at the most threads."""
    names, sets = switches(case), found.points()
    rows: list[Predicted] = []
    with progress("simulate the patches", len(names) * len(case.threads)) as shown:
        for name in names:
            alone_per_s = _alone(case, name, sets)
            for n in case.threads:
                rows.append(_at(case, found, name, n, sets, n * alone_per_s, naive))
                shown.update(len(rows), f"{name}, {n} threads")
    return rows


def _at(
    case: Case, found: Posterior, name: str, n: int, sets: Sets, most: float, naive: float | None
) -> Predicted:
    """At n threads, no end above `most`."""
    mean, sd = found.spread_of([case.patched(free, n, name).rate_per_s for free in sets])
    half = NORMAL_95 * float(np.hypot(sd, simulated_sd(MOST))) + _off(case, found)
    low, value, high = (min(float(np.exp(mean + k * half)), most) for k in (-1, 0, 1))
    base = case.base_per_s[case.threads.index(n)]
    wished = None if naive is None or n != case.threads[-1] else naive * base
    said = verdict.sign(low, high, base)
    return Predicted(name, n, "throughput", case.unit, value, low, high, wished, said)


def _alone(case: Case, name: str, sets: Sets) -> float:
    """At most the rate of one thread of the patched kernel; infinite where the base's was not measured.

    Threads only hinder each other: N of them do no more than N times one. One thread of the base was
    measured, and what the switch saves it of its work is the model's.
    """
    if case.threads[0] != 1:
        return float("inf")
    one = case.observations[0]
    saved = max(case.patched(free, 1, name).rate_per_s / case.simulate(free, 1).rate_per_s for free in sets)
    return float(one.value * saved * np.exp(NORMAL_95 * np.sqrt(2) * one.sd))


def _off(case: Case, found: Posterior) -> float:
    """By how much the model misses a number of the base: it is not trusted closer than that."""
    each = zip(found.misses, case.observations, strict=True)
    return float(max(max(abs(miss) - NORMAL_95, 0.0) * one.sd for miss, one in each))
