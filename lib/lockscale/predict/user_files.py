# SPDX-License-Identifier: MIT
"""A user's own files: any profile that `lockscale parse` reads, rates, and a model of the simulator.

The model's calibrated parameters are fitted to the unpatched side; each switch that the unpatched side has
not thrown is a patch. Numbers that are held keep the model's values: the patch models stand and fall with
them.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from lockscale.errors import BadInput
from lockscale.predict.answer import (
    Answer,
    Idea,
    Open,
    ParameterEstimate,
    Predicted,
    Waiting,
    gains_over,
    idea_by_gain,
)
from lockscale.predict.observed import LOCK_FUNCTIONS, Profile, not_together, profile_of, slow_paths
from lockscale.predict.posterior import SD, Posterior
from lockscale.predict.unpatched_columns import NORMAL_95, waits
from lockscale.predict.user_case import Case, case_of, free_numbers, predictions, switches
from lockscale.predict.user_rates import rate_curve
from lockscale.sim import load_model
from lockscale.sim.model import Model
from lockscale.sim.models import AnyModel
from lockscale.tools.registry import parse_file

FAR_OFF = 4.0
"""Times their scatter: a model that misses by more what it was fitted to explains nothing."""
IDENTIFIED = 0.25  # of the prior's deviation: the data say at least this much more

NAIVE = (
    "it subtracts the time that threads wait for locks, but not the time that others wait for these "
    "threads, and ignores the queue behind the lock"
)


def ask_files(
    profile: str | Path,
    rates: str | Path,
    model: AnyModel,
    *,
    held: Mapping[str, object] | None = None,
    given: Mapping[str, float] | None = None,
    tool: str | None = None,
) -> Answer:
    """What the model's switches would give on the kernel of these files; rates may be typed: `1:35k,4:140k`.

    held: parameters and switches of the unpatched side that are known. given: calls for one operation of one
    thread, by function. tool: that printed the profile, by default the one that is recognised. The profile is
    taken to be of the most threads in the rates. Raises BadInput for files that cannot be used and for names
    that the model does not have.
    """
    known, column = load_model(model), rate_curve(str(rates))
    seen, printed_by = _read(Path(profile), tool)
    case = case_of(known, column, seen, held or {}, given or {})
    apart = not_together(seen, case.threads[-1], case.base_per_s[-1])
    if apart and given:
        raise BadInput(f"{apart}: profile the run of the rates, or leave out --given and use the rates alone")
    found = case.fitted(free_numbers(known, case.held), "the unpatched kernel")
    waiting = [] if apart else _waits(case, seen, found)
    patched = predictions(case, found, _naive(waiting))
    return Answer(
        study=known.name,
        used=[f"{profile} ({printed_by}; {_fitted(case)})", f"rates {rates}", f"model {known.name}"],
        parameters=_estimates(known, found),
        waits=waiting,
        predictions=patched,
        open=_open(case, known, seen, found, given or {}, apart),
        ideas=_ideas(case, patched, _in_doubt(found, apart)),
        naive_reason=NAIVE,
        notes=_notes(case, found),
        waits_origin="the profile",
        origin=column.origin,
    )


def _read(profile: Path, tool: str | None) -> tuple[Profile, str]:
    """And the tool that printed it; every refusal names the file."""
    try:
        parsed = parse_file(profile, tool)
        return profile_of(parsed.rows), parsed.tool
    except BadInput as said:
        raise BadInput(f"{profile}: {said}") from None


def _of_profile(case: Case) -> list[str]:
    """The numbers of the profile to which the model is fitted."""
    return [one.name for one in case.observations[len(case.threads) :]]


def _fitted(case: Case) -> str:
    names = _of_profile(case)
    return f"in the fit: {', '.join(names)}" if names else "not used in the fit, which is to rates only"


def _naive(waiting: list[Waiting]) -> float | None:
    """By what factor the rate grows if the time in which threads wait is deleted."""
    if not waiting:
        return None
    everybody = waiting[0].threads
    left = everybody - sum(one.threads for one in waiting if one.waits_for)
    return everybody / left if left > 0 else None


def _estimates(model: Model, found: Posterior) -> list[ParameterEstimate]:
    units = {p.name: p.unit for p in model.parameters}
    rows = []
    for name, mean, sd in zip(found.names, found.mean, found.spread, strict=True):
        low, value, high = (float(np.exp(mean + k * NORMAL_95 * sd)) for k in (-1, 0, 1))
        status = "identified" if sd < IDENTIFIED * SD else "open"
        rows.append(ParameterEstimate(name, units[name], value, low, high, status, "fitted by simulation"))
    return rows


def _waits(case: Case, seen: Profile, found: Posterior) -> list[Waiting]:
    """From function costs where there are any, else from the fitted model's locks."""
    n = case.threads[-1]
    if seen.costs:
        locks = [name for name in seen.costs if LOCK_FUNCTIONS.search(name)]
        whom = {name: "owners of the lock" for name in locks if name not in slow_paths(locks)}
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
    case: Case, model: Model, seen: Profile, found: Posterior, given: Mapping[str, float], apart: str
) -> list[Open]:
    notes = {p.name: p for p in model.parameters}
    rows = [
        Open(
            name,
            f"not known from the unpatched kernel: {notes[name].meaning}",
            f"measure it separately, and fix it with -p {name}=VALUE",
        )
        for name, sd in zip(found.names, found.spread, strict=True)
        if sd >= IDENTIFIED * SD
    ]
    steps = case.simulate(found.best, case.threads[0]).calls_per_op
    uncounted = [name for name in steps if name in seen.costs and name not in given and steps[name]]
    for name in uncounted:
        why = "the profile does not show how often an uncontended operation calls it"
        how = f"its calls per operation with one thread: --given {name}=CALLS"
        rows.append(Open(f"calls of {name}", why, how, name))
    if apart:
        rows.append(Open("who waits", apart, "a profile of the same run with the whole operation"))
    elif not (uncounted or _of_profile(case)):
        why = "no function or lock in the profile has the name of a step or lock of the model"
        rows.append(Open("the profile", why, "a profile with locks or functions of the model"))
    if not switches(case):
        why = "the model has no switch that is off, so it has no patch"
        rows.append(Open("patches", why, "a model file with a parameter that is false when unpatched"))
    return rows


def _in_doubt(found: Posterior, apart: str) -> str:
    """Why no gain can be promised, whatever the intervals of the model are; empty where one can."""
    if found.inflation > FAR_OFF:
        return f"the model misses the unpatched kernel by {found.inflation:.1f} times its scatter"
    return apart


def _ideas(case: Case, patched: list[Predicted], doubt: str) -> list[Idea]:
    n, unpatched = case.threads[-1], case.base_per_s[-1]
    ideas = [idea_by_gain(p.arm, gains_over(p.low, p.high, unpatched), n) for p in patched if p.threads == n]
    return (
        [replace(one, worth="not known", why=f"{one.why}, but {doubt}") for one in ideas] if doubt else ideas
    )


def _notes(case: Case, found: Posterior) -> list[str]:
    said = [
        f"Fitted to {len(case.observations)} numbers: {', '.join(one.name for one in case.observations)}.",
        "The intervals assume that the model is exact: they cover the uncertainty of its free parameters, "
        "and nothing that the model leaves out.",
    ]
    if found.inflation > 1.5:
        said.append(
            f"The model misses them by {found.inflation:.1f} times their scatter: they are weighted down "
            f"accordingly, and another model may fit better."
        )
    return said
