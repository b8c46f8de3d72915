# SPDX-License-Identifier: MIT
"""A user's own files: any profile that `lockscale parse` reads, rates, and a model of the simulator.

The model's calibrated parameters are fitted to the base; each switch that the base has not thrown is a
patch. Numbers that are held keep the model's values: the patch models stand and fall with them.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from lockscale.errors import BadInput
from lockscale.fitting.column import Column
from lockscale.fitting.read import read_columns
from lockscale.parsing import parse_file
from lockscale.progress import Progress, progress
from lockscale.sim import load_model
from lockscale.sim.model import Model
from lockscale.sim.models import AnyModel
from lockscale.whatif.answer import Answer, Estimate, Idea, Open, Predicted, Waiting
from lockscale.whatif.case import LONGER, MOST, Case, case_of, free_numbers, simulated_sd
from lockscale.whatif.costs import waits
from lockscale.whatif.observed import LOCK_FUNCTIONS, Profile, profile_of
from lockscale.whatif.posterior import SD, Posterior, posterior

NORMAL_95 = 1.96
IDENTIFIED = 0.25  # of the prior's deviation: the data say at least this much more

NAIVE = (
    "it deletes the time in which threads wait for locks: those who wait for these threads in turn are left "
    "waiting, and the queue behind the lock is not seen"
)


def ask_files(
    profile: Path,
    rates: Path,
    model: AnyModel,
    *,
    held: Mapping[str, object] | None = None,
    given: Mapping[str, float] | None = None,
) -> Answer:
    """What the model's switches would give on the kernel of these files.

    held: parameters and switches of the base that are known. given: calls for one operation of one thread,
    by function. The profile is taken to be of the most threads in the rates. Raises BadInput for files that
    cannot be used and for names that the model does not have.
    """
    known, parsed = load_model(model), parse_file(profile)
    column, seen = _one_curve(rates), profile_of(parsed.rows)
    case = case_of(known, column, seen, held or {}, given or {})
    start = free_numbers(known, case.held)
    with progress(f"fit {known.name} to the base") as shown:
        longer = partial(case.misses, longer=LONGER)
        found = posterior(
            start, case.misses, longer, lambda n: shown.update(n, "sets of parameters simulated")
        )
    waiting = _waits(case, seen, found)
    predictions = _predictions(case, found, _naive(waiting))
    return Answer(
        study=known.name,
        used=[f"{profile} ({parsed.tool})", str(rates), f"model {known.name}"],
        parameters=_estimates(known, found),
        waits=waiting,
        predictions=predictions,
        open=_open(case, known, seen, found, given or {}),
        ideas=_ideas(case, predictions),
        naive_reason=NAIVE,
        notes=_notes(case, found),
    )


def _one_curve(rates: Path) -> Column:
    found = read_columns(rates)
    if len(found) != 1:
        names = ", ".join(one.name for one in found)
        raise BadInput(f"{rates} has {len(found)} curves ({names}): give the base's rates alone")
    return found[0]


def _switches(case: Case) -> list[str]:
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


def _naive(waiting: list[Waiting]) -> float | None:
    """By what factor the rate grows if the time in which threads wait is deleted."""
    everybody = waiting[0].threads
    left = everybody - sum(one.threads for one in waiting if one.waits_for)
    return everybody / left if left > 0 else None


def _predictions(case: Case, found: Posterior, naive: float | None) -> list[Predicted]:
    switches, sets = _switches(case), found.points()
    rows: list[Predicted] = []
    with progress("simulate the patches", len(switches) * len(case.threads)) as shown:
        for name in switches:
            rows += _of_switch(case, found, name, sets, naive, shown, len(rows))
    return rows


def _of_switch(
    case: Case,
    found: Posterior,
    name: str,
    sets: list[dict[str, float]],
    naive: float | None,
    shown: Progress,
    done: int,
) -> list[Predicted]:
    rows = []
    for base, n in zip(case.observations, case.threads, strict=False):
        rates = [case.patched(free, n, name).rate_per_s for free in sets]
        mean, sd = found.spread_of(rates)
        noise = NORMAL_95 * np.hypot(found.inflation * sd, simulated_sd(MOST))
        half = float(noise) + _off(case, found)
        low, high = float(np.exp(mean - half)), float(np.exp(mean + half))
        sign = "faster" if low > base.value else "slower" if high < base.value else "not known"
        wished = None if naive is None or n != case.threads[-1] else naive * base.value
        rows.append(Predicted(name, n, "throughput", case.unit, float(np.exp(mean)), low, high, wished, sign))
        shown.update(done + len(rows), f"{name}, {n} threads")
    return rows


def _off(case: Case, found: Posterior) -> float:
    """By how much the model misses a number of the base: it is not trusted closer than that."""
    each = zip(found.misses, case.observations, strict=True)
    return float(max(max(abs(miss) - NORMAL_95, 0.0) * one.sd for miss, one in each))


def _estimates(model: Model, found: Posterior) -> list[Estimate]:
    units = {p.name: p.unit for p in model.parameters}
    rows = []
    for name, mean, sd in zip(found.names, found.mean, found.inflation * found.spread, strict=True):
        low, value, high = (float(np.exp(mean + k * NORMAL_95 * sd)) for k in (-1, 0, 1))
        status = "identified" if sd < IDENTIFIED * SD else "open"
        rows.append(Estimate(name, units[name], value, low, high, status, "fitted by simulation"))
    return rows


def _waits(case: Case, seen: Profile, found: Posterior) -> list[Waiting]:
    """From function costs where there are any, else from the fitted model's locks."""
    n = case.threads[-1]
    if seen.costs:
        whom = {name: "owners of the lock" for name in seen.costs if LOCK_FUNCTIONS.search(name)}
        return waits(seen.costs, seen.root, n, whom)
    run = case.simulate(found.best, n)
    cycle_us = 1e6 * n / run.rate_per_s
    rows = [Waiting("operation", "", n, cycle_us, "")]
    for name, lock in run.locks.items():
        at = lock.waiting_mean
        rows.append(Waiting(f"wait for {name}", "operation", at, cycle_us * at / n, f"owners of {name}"))
    left = n - sum(one.threads for one in rows[1:])
    return [*rows, Waiting("the rest", "operation", left, cycle_us * left / n, "")]


def _open(
    case: Case, model: Model, seen: Profile, found: Posterior, given: Mapping[str, float]
) -> list[Open]:
    notes = {p.name: p for p in model.parameters}
    rows = [
        Open(
            name,
            f"the base does not say: {notes[name].meaning}",
            f"measure it by itself, and hold it with -p {name}=VALUE",
        )
        for name, sd in zip(found.names, found.inflation * found.spread, strict=True)
        if sd >= IDENTIFIED * SD
    ]
    steps = case.simulate(found.best, case.threads[0]).calls_per_op
    for name in steps:
        if name in seen.costs and name not in given and steps[name]:
            why = "the profile does not say how many of its calls an operation makes when it meets nobody"
            rows.append(Open(f"calls of {name}", why, "its calls for one operation of one thread", name))
    if not any(" of " in one.name and not one.name.startswith("rate") for one in case.observations):
        why = "no function or lock of the profile in use has the name of a step or lock of the model"
        rows.append(Open("the profile", why, "a profile with locks or functions that the model names"))
    if not _switches(case):
        why = "the model has no switch that the base has not thrown, and a switch is what a patch changes"
        rows.append(Open("patches", why, "a model file with a parameter that is false in the base"))
    return rows


def _ideas(case: Case, predictions: list[Predicted]) -> list[Idea]:
    last = {p.arm: p for p in predictions if p.threads == case.threads[-1]}
    base = case.observations[len(case.threads) - 1].value
    worth = {"faster": "yes", "slower": "no", "not known": "not known"}
    return [
        Idea(name, worth[p.sign], f"{p.low / base:.2f} to {p.high / base:.2f} times the base at {p.threads}")
        for name, p in last.items()
    ]


def _notes(case: Case, found: Posterior) -> list[str]:
    said = [
        f"Fitted to {len(case.observations)} numbers: {', '.join(one.name for one in case.observations)}."
    ]
    if found.inflation > 1.5:
        said.append(
            f"The model misses them {found.inflation:.1f} times as far as they scatter: intervals are that "
            "much wider, and another model may fit."
        )
    return said
