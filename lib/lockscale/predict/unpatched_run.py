# SPDX-License-Identifier: MIT
"""What every other arm gives on the run's own machine, from the rates of its unpatched arm alone.

Each arm's model is fitted to the unpatched arm's rates with that arm's own parameters (predict/posterior.py),
and simulated with those of the other arm: a gain, patched over unpatched at the same number of processes, and
how far the fit leaves it open. That takes minutes; what no model has is added afterwards
(predict/gain_interval.py).

A rate says how long an operation takes, not for what it waits. ftrace's function costs say it for two kinds
of locks: those that spin, and those whose waiters may sleep. Entering a lock's function costs the tracer's
time as well; one process alone, which waits for nobody, shows how much a call.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from lockscale.fitting.column import Column
from lockscale.measure.compare_arms import function_costs, rate_repeats
from lockscale.measure.rows import origin_of
from lockscale.measure.where_time_went import moved_lines
from lockscale.predict.gain_interval import (
    Discrepancy,
    GainsSimulated,
    GainsTold,
    SimulatedGain,
    UnpatchedFit,
    tell_gains,
)
from lockscale.predict.observed import LOCK_FUNCTIONS, Observation, Profile, Results, slow_paths
from lockscale.predict.posterior import Posterior, of_one_machine
from lockscale.predict.user_case import REST, TIMES, Case, case_of, free_numbers, with_others
from lockscale.progress import progress
from lockscale.sim import load_model
from lockscale.sim.model import Model
from lockscale.study.file import Study
from lockscale.tools import ftrace_cost

MODEL_SD = 0.1
"""Assumed, of a rate's logarithm: no model of a few locks is closer. Most boots repeat within 1%, and a
fit that follows them as closely bends its parameters to what the model lacks. One that misses a rate by more
frees what an operation takes beside others, then all times of the model."""
NO_MODEL = "no model of the simulator has this arm"
MOST_OCCUPIED = 0.999
"""Of the time that a cache line is on its way: what is counted as more is full as well."""
ONE_POINT = "one number of processes does not show how processes slow each other down"
SPIN, SLEEP = re.compile(r"spin_(?:try)?lock|queued_spin"), re.compile(r"mutex_lock|\bdown_(?:read|write)")
LEAST_SHARE = 0.02
"""Added to shares, so that none measured and none simulated agree."""
SHARE_SD = 0.2
"""Assumed, of the logarithm: a tracer stretches what it times."""


class WaitShare(NamedTuple):
    """Of the operations' time: waiting for locks that spin, and for those whose waiters may sleep."""

    spin: float
    sleep: float


@dataclass
class _Curve:
    """The unpatched arm's mean rates per s on so many CPUs, by number of processes.

    full: of the cache lines that are no part of the study, how much of the time the fullest is on its way.
    replaced: the share of one process's time in functions that other arms replace.
    """

    cpus: int
    column: Column
    waits: dict[int, WaitShare]
    full: dict[int, float]
    replaced: float

    @cached_property
    def rates(self) -> dict[int, float]:
        means = pd.Series(self.column.rates_per_s).groupby(self.column.threads.astype(int)).mean()
        return {int(str(n)): float(rate) for n, rate in means.items()}

    @property
    def alone(self) -> float:
        """What each process would do that met nobody, as far as the rates show it."""
        return max(rate / n for n, rate in self.rates.items())


def predict_gains(study: Study, rows: pd.DataFrame, discrepancy: Discrepancy) -> GainsTold:
    """rows: of the unpatched arm alone, as read_first_rates() has them. Raises BadInput without a rate."""
    return tell_gains(simulate_gains(study, rows), discrepancy, study.parameters.seed)


def simulate_gains(study: Study, rows: pd.DataFrame) -> GainsSimulated:
    """rows: of the unpatched arm alone, as read_first_rates() has them. Raises BadInput without a rate."""
    curves = _curves(study, rows)
    arms = [arm for arm in study.arms if arm.name != study.unpatched.name]
    why = {arm.name: NO_MODEL for arm in arms if not arm.simulated}
    told_of = [arm for arm in arms if arm.simulated]
    enough = [curve for curve in curves if len(curve.rates) > 1]
    if not enough:
        why |= {arm.name: ONE_POINT for arm in told_of}
    fits: list[UnpatchedFit] = []
    gains: list[SimulatedGain] = []
    for curve in enough:
        fitted = {name: _fit(study, name, curve) for name in sorted({study.model_of(arm) for arm in told_of})}
        fits += [
            UnpatchedFit(case.model.name, found.best, {n: 100 * by for n, by in off.items()})
            for case, found, off in fitted.values()
        ]
        with progress(f"simulate the arms of {study.name}", len(told_of) * len(curve.rates)) as shown:
            for done, arm in enumerate(told_of):
                case, found, off = fitted[study.model_of(arm)]
                of_arm: dict[int, tuple[float, float]] = {}
                for n in curve.rates:
                    of_arm[n] = _simulated_gain(case, found, arm.model_parameters, n)
                    shown.update(done * len(curve.rates) + len(of_arm), f"{arm.name}, {n} processes")
                gains += _of_curve(curve, arm.name, case.model.name, of_arm, off)
    return GainsSimulated(
        origin=origin_of(rows),
        unpatched=study.unpatched.name,
        unit=study.metric,
        unpatched_rates=[
            {
                "cpus": curve.cpus,
                "threads": n,
                "rate_per_s": rate,
                "lost": 1 - rate / (n * curve.alone),
                "full": curve.full.get(n, 0.0),
            }
            for curve in curves
            for n, rate in curve.rates.items()
        ],
        fits=fits,
        gains=gains,
        why_none=why,
    )


def _of_curve(
    curve: _Curve, arm: str, model: str, of_arm: Mapping[int, tuple[float, float]], off: Mapping[int, float]
) -> list[SimulatedGain]:
    """of_arm: mean and standard deviation of ln gain; off: simulated over measured unpatched rate, less 1."""
    naive = {n: n * curve.alone / rate for n, rate in curve.rates.items()}
    alone, alone_sd = of_arm[min(of_arm)]  # the first meet nobody, or the fewest
    changes = max(abs(mean) for mean, _ in of_arm.values())
    return [
        SimulatedGain(
            arm=arm,
            model=model,
            cpus=curve.cpus,
            threads=n,
            mean=mean,
            sd=sd,
            alone=alone,
            alone_sd=alone_sd,
            off=float(np.log1p(off[n])),
            naive=naive[n],
            beside=naive[min(n for n in naive if n > 1)],
            changes=changes,
            full=curve.full.get(n, 0.0),
            replaced=curve.replaced,
        )
        for n, (mean, sd) in of_arm.items()
    ]


def _curves(study: Study, rows: pd.DataFrame) -> list[_Curve]:
    repeats = rate_repeats(rows[rows.arm == study.unpatched.name], study.operation)
    return [
        _Curve(
            int(str(cpus)),
            Column(
                table=study.name,
                name=study.unpatched.name,
                threads=here.threads.to_numpy(float),
                rates_per_s=here.value.to_numpy(float),
                runs=None,
                unit="ops/s",
                origin=origin_of(rows),
            ),
            wait_shares(rows, study.unpatched.name, int(str(cpus))),
            fullest_untouched_line(rows, study, int(str(cpus))),
            replaced_share(rows, study, int(str(cpus))),
        )
        for cpus, here in repeats.groupby("cpus")
    ]


def fullest_untouched_line(rows: pd.DataFrame, study: Study, cpus: int) -> dict[int, float]:
    """By number of processes, the share of the time; empty where the study names no lines of its own.

    A machine in virtual time counts of each cache line how long it is on its way to a CPU; meanwhile no other
    gets it. A line that is on its way for a share u of the time ends what a patch of other lines can give at
    1 / u.
    """
    if not study.own_lines:
        return {}
    moved = moved_lines(rows)
    here = (moved.arm == study.unpatched.name) & (moved.cpus == cpus) & (moved.test == study.operation)
    others = moved[here & ~moved.function.isin(study.own_lines)]
    return {
        int(str(n)): min(float(share) / 100, MOST_OCCUPIED)
        for n, share in others.groupby("threads").occupied_pct.max().items()
    }


def replaced_share(rows: pd.DataFrame, study: Study, cpus: int) -> float:
    """The costliest function encloses an operation; 0 where one process's function costs were not taken."""
    arm = study.unpatched.name
    traced = (rows.tool == ftrace_cost.TOOL) & (rows.arm == arm) & (rows.cpus == cpus) & (rows.threads == 1)
    if not study.replaced or not traced.any():
        return 0.0
    costs = function_costs(rows, arm, cpus, 1)
    return float(costs[costs.function.isin(study.replaced)].total_us.sum() / costs.total_us.iloc[0])


def wait_shares(rows: pd.DataFrame, arm: str, cpus: int) -> dict[int, WaitShare]:
    """By number of processes, above one; empty where no function was costed that encloses an operation."""
    here = rows[(rows.tool == ftrace_cost.TOOL) & (rows.arm == arm) & (rows.cpus == cpus)]
    profiles = {int(n): function_costs(rows, arm, cpus, int(n)) for n in sorted(set(here.threads))}
    if 1 not in profiles or profiles[1].empty:
        return {}
    alone = profiles[1].set_index("function").avg_us
    found = {n: _shares(costs, alone) for n, costs in profiles.items() if n > 1}
    return {n: shares for n, shares in found.items() if shares}


def _shares(costs: pd.DataFrame, alone_us: "pd.Series[float]") -> WaitShare | None:
    """None where the costliest function is a lock's: then none encloses all of an operation."""
    if costs.empty or LOCK_FUNCTIONS.search(str(costs.function.iloc[0])):
        return None
    whole_us = float(costs.total_us.iloc[0])
    waited_us = (costs.total_us - costs["count"] * costs.function.map(alone_us).fillna(0.0)).clip(lower=0.0)
    waited_us = waited_us[~costs.function.isin(slow_paths([*costs.function]))]
    functions = costs.function[waited_us.index]
    spin, sleep = (float(waited_us[functions.str.contains(of)].sum()) / whole_us for of in (SPIN, SLEEP))
    return WaitShare(spin, sleep)


def of_wait_shares(
    shares: dict[int, WaitShare], model: Model, given: Mapping[str, object]
) -> list[Observation]:
    """One for each kind of lock that the model has, at each number of processes."""
    found = []
    for n, share in shares.items():
        program = model.program(given, n)
        sleeps = {lock.name: bool(program.locks[lock.first]["wake_ps"]) for lock in program.names["lock"]}
        for kind, value in (("spin", share.spin), ("sleep", share.sleep)):
            names = tuple(name for name, may_sleep in sleeps.items() if may_sleep == (kind == "sleep"))
            if names:
                said = f"share of the time waiting for locks that {kind}, {n} threads"
                simulated = partial(_simulated, threads=n, names=names)
                found.append(Observation(said, LEAST_SHARE + min(value, 1.0), SHARE_SD, simulated))
    return found


def _simulated(results: Results, threads: int, names: tuple[str, ...]) -> float:
    """Little's law: waits times acquisitions, of all the threads' time."""
    locks = [results[threads].locks[name] for name in names]
    waited_ns = sum((one.wait_ns_mean or 0.0) * one.acquisitions for one in locks)
    return LEAST_SHARE + waited_ns / float(np.sum(results[threads].in_state_ns))


def _fit(study: Study, model: str, curve: _Curve) -> tuple[Case, Posterior, dict[int, float]]:
    """The model with the unpatched arm's switches, as far as it has them, at the unpatched arm's rates.

    And by how much it is off: the simulated rate over the measured one, less one.
    """
    known = load_model(model)
    names = {parameter.name for parameter in known.parameters}
    held = {name: value for name, value in study.unpatched.model_parameters.items() if name in names}
    rates = case_of(known, curve.column, Profile({}, {}), held, {})
    waits = of_wait_shares(curve.waits, known, held)
    loose = [one._replace(sd=float(np.hypot(one.sd, MODEL_SD))) for one in rates.observations]
    case = replace(rates, observations=[*loose, *waits])
    all_times = {p.name: float(p.default) for p in known.parameters if p.unit in TIMES and p.default}
    calibrated = free_numbers(known, held)
    few = with_others(calibrated | {k: v for k, v in all_times.items() if k == REST})
    every = with_others({k: v for k, v in all_times.items() if k not in held})
    fitted: list[tuple[Posterior, dict[int, float]]] = []
    for free in (calibrated, few, every):
        if fitted and len(free) == len(fitted[-1][0].names):
            continue
        found = case.fitted(free, study.unpatched.name, of_one_machine(len(free)))
        off = {n: case.simulate(found.best, n).rate_per_s / rate - 1 for n, rate in curve.rates.items()}
        fitted.append((found, off))
        if max(map(abs, off.values())) < MODEL_SD:
            break
    return case, *min(fitted, key=lambda one: _akaike(one[0]))


def _akaike(found: Posterior) -> float:
    """H. Akaike's criterion, IEEE Trans. Automatic Control 19, 1974: misses, and 2 for each free number."""
    return float(found.misses @ found.misses) + 2 * len(found.names)


def _simulated_gain(
    case: Case, found: Posterior, thrown: Mapping[str, object], n: int
) -> tuple[float, float]:
    """Mean and standard deviation of the logarithm of the gain, over what the fit leaves open.

    thrown: the other arm's own parameters, in place of the unpatched arm's and of what was fitted to it.
    """
    kept = {name: value for name, value in case.held.items() if not isinstance(value, bool)}
    patched = Case(case.model, {**kept, **thrown}, case.threads, case.observations, case.unit)
    gains = []
    for free in found.points():
        left = {name: value for name, value in free.items() if name not in thrown}
        gains.append(patched.simulate(left, n).rate_per_s / case.simulate(free, n).rate_per_s)
    return found.spread_of(gains)
