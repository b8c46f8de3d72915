# SPDX-License-Identifier: MIT
"""What every other arm gives on the run's own machine, from the rates of its unpatched arm alone.

Each arm's model is fitted to the unpatched arm's rates with that arm's own parameters (predict/posterior.py),
and simulated with those of the other arm: a gain, patched over unpatched at the same number of processes, and
how far the fit leaves it open. Two things are in no model of one lock. The next limit: some rate that the
patched kernel does not exceed. All that the unpatched rates show of it is that it is not below their highest;
how far above is open (BEYOND). And what the model lacks: the more of the processes' time is lost to waiting,
the more of the gain is the model's word (predict/discrepancy.py), and no gain is known closer than the fit
meets the unpatched rate at the same number of processes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lockscale.fitting.column import Column
from lockscale.measure.compare_arms import rate_repeats
from lockscale.measure.rows import origin_of
from lockscale.predict.discrepancy import Discrepancy
from lockscale.predict.history import SUPERLINEAR
from lockscale.predict.observed import Profile
from lockscale.predict.posterior import Floats, Posterior, of_one_machine, posterior
from lockscale.predict.user_case import LONGER, REST, TIMES, Case, case_of, free_numbers, with_others
from lockscale.predict.wait_shares import WaitShare, of_wait_shares, wait_shares
from lockscale.progress import progress
from lockscale.sim import load_model
from lockscale.study.file import Study

DRAWS = 4000
BEYOND = 1.0
"""Assumed: the mean of ln(next limit / highest unpatched rate), exponential: a factor of 2.7, 20 at 95%."""
MODEL_SD = 0.1
"""Assumed, of a rate's logarithm: no model of a few locks is closer. Boots repeat within 1%, and a fit that
follows them as closely bends its parameters to what the model lacks. One that misses a rate by more frees
what an operation takes beside others, then all times of the model."""
LEVEL = 0.90

NO_MODEL = "no model of the simulator has this arm"
ONE_POINT = "one number of processes says nothing of how they hinder each other"


@dataclass(frozen=True)
class ArmGain:
    """A gain: the arm's rate over the unpatched arm's at the same number of processes; 90% interval.

    naive_gain: of deleting all waiting, each process as fast as one alone.
    """

    arm: str
    model: str
    cpus: int
    threads: int
    value: float
    low: float
    high: float
    naive_gain: float


@dataclass(frozen=True)
class UnpatchedFit:
    """A model at the unpatched arm's rates. off_pct: how far it is off, by number of processes."""

    model: str
    parameters: Mapping[str, float]
    off_pct: Mapping[int, float]


@dataclass(frozen=True)
class GainsTold:
    """All arms but the unpatched one; why_none: of those that are not predicted."""

    origin: str
    unpatched: str
    unit: str
    unpatched_rates: Sequence[Mapping[str, Any]]
    fits: Sequence[UnpatchedFit]
    gains: Sequence[ArmGain]
    why_none: Mapping[str, str]
    discrepancy: Discrepancy

    def as_json(self) -> dict[str, Any]:
        """As JSON reads it back, whose names are text: a hash of it is then that of the file."""
        said: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return said


@dataclass
class _Curve:
    """The unpatched arm's mean rates per s on so many CPUs, by number of processes."""

    cpus: int
    column: Column
    waits: dict[int, WaitShare]
    rates: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        means = pd.Series(self.column.rates_per_s).groupby(self.column.threads.astype(int)).mean()
        self.rates = {int(str(n)): float(rate) for n, rate in means.items()}

    @property
    def peak(self) -> float:
        return max(self.rates.values())

    @property
    def alone(self) -> float:
        """What each process would do that met nobody, as far as the rates show it."""
        return max(rate / n for n, rate in self.rates.items())

    def lost(self, n: int) -> float:
        """The share of n processes' time in which they wait, or work slower than one alone."""
        return 1 - self.rates[n] / (n * self.alone)


def predict_gains(study: Study, rows: pd.DataFrame, discrepancy: Discrepancy) -> GainsTold:
    """rows: of the unpatched arm alone, as read_first_rates() has them. Raises BadInput without a rate."""
    curves = _curves(study, rows)
    arms = [arm for arm in study.arms if arm.name != study.unpatched.name]
    why = {arm.name: NO_MODEL for arm in arms if not arm.simulated}
    told = [arm for arm in arms if arm.simulated]
    enough = [curve for curve in curves if len(curve.rates) > 1]
    if not enough:
        why |= {arm.name: ONE_POINT for arm in told}
    rng = np.random.default_rng(study.parameters.seed)
    fits: list[UnpatchedFit] = []
    gains: list[ArmGain] = []
    for curve in enough:
        fitted = {name: _fit(study, name, curve) for name in sorted({study.model_of(arm) for arm in told})}
        off_by_model = {name: _off(case, found, curve) for name, (case, found) in fitted.items()}
        fits += [
            UnpatchedFit(case.model.name, found.best, {n: 100 * off for n, off in off_by_model[name].items()})
            for name, (case, found) in fitted.items()
        ]
        with progress(f"simulate the arms of {study.name}", len(told) * len(curve.rates)) as shown:
            for done, arm in enumerate(told):
                case, found = fitted[study.model_of(arm)]
                off = off_by_model[study.model_of(arm)]
                of_arm: dict[int, tuple[float, float]] = {}
                for n in curve.rates:  # ascending: the first meet nobody, or the fewest
                    of_arm[n] = _simulated_gain(case, found, arm.model_parameters, n)
                    lacks = discrepancy.draws(curve.lost(n), DRAWS, rng)
                    lacks += np.log1p(off[n]) * rng.standard_normal(DRAWS)
                    ends = _interval(curve, n, of_arm[n], of_arm[min(of_arm)], lacks, rng)
                    naive = n * curve.alone / curve.rates[n]
                    gains.append(ArmGain(arm.name, case.model.name, curve.cpus, n, *ends, naive))
                    shown.update(done * len(curve.rates) + len(of_arm), f"{arm.name}, {n} processes")
    return GainsTold(
        origin=origin_of(rows),
        unpatched=study.unpatched.name,
        unit=study.metric,
        unpatched_rates=[
            {"cpus": curve.cpus, "threads": n, "rate_per_s": rate, "lost": curve.lost(n)}
            for curve in curves
            for n, rate in curve.rates.items()
        ],
        fits=fits,
        gains=gains,
        why_none=why,
        discrepancy=discrepancy,
    )


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
        )
        for cpus, here in repeats.groupby("cpus")
    ]


def _fit(study: Study, model: str, curve: _Curve) -> tuple[Case, Posterior]:
    """The model with the unpatched arm's switches, as far as it has them, at the unpatched arm's rates."""
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
    fitted: list[Posterior] = []
    for free in (calibrated, few, every):
        if fitted and len(free) == len(fitted[-1].names):
            continue
        with progress(f"fit {known.name} to {study.unpatched.name}") as shown:
            told = lambda n, shown=shown: shown.update(n, f"{n} sets of parameters simulated")  # noqa: E731
            spread = of_one_machine(len(free))
            fitted.append(posterior(free, case.misses, partial(case.misses, longer=LONGER), told, spread))
        if max(abs(off) for off in _off(case, fitted[-1], curve).values()) < MODEL_SD:
            break
    return case, min(fitted, key=_akaike)


def _akaike(found: Posterior) -> float:
    """H. Akaike's criterion, IEEE Trans. Automatic Control 19, 1974: misses, and 2 for each free number."""
    return float(found.misses @ found.misses) + 2 * len(found.names)


def _off(case: Case, found: Posterior, curve: _Curve) -> dict[int, float]:
    """The simulated rate over the measured one, less one."""
    return {n: case.simulate(found.best, n).rate_per_s / rate - 1 for n, rate in curve.rates.items()}


def _simulated_gain(
    case: Case, found: Posterior, thrown: Mapping[str, object], n: int
) -> tuple[float, float]:
    """Mean and standard deviation of the logarithm of the gain, over what the fit leaves open.

    thrown: the other arm's own parameters, in place of the unpatched arm's.
    """
    kept = {name: value for name, value in case.held.items() if not isinstance(value, bool)}
    patched = Case(case.model, {**kept, **thrown}, case.threads, case.observations, case.unit)
    gains = [
        patched.simulate(free, n).rate_per_s / case.simulate(free, n).rate_per_s for free in found.points()
    ]
    return found.spread_of(gains)


def _interval(
    curve: _Curve,
    n: int,
    gain: tuple[float, float],
    alone: tuple[float, float],
    lacks: Floats,
    rng: np.random.Generator,
) -> tuple[float, float, float]:
    """Median, low and high of the gain at n processes; alone: where they meet nobody, the patch's own work.

    gain, alone: mean and standard deviation of its logarithm; lacks: draws of what the model has not.
    """
    base, saved = curve.rates[n], np.exp(alone[0] + alone[1] * rng.standard_normal(DRAWS))
    rates: Floats = base * np.exp(gain[0] + gain[1] * rng.standard_normal(DRAWS))
    next_limit = curve.peak * np.exp(BEYOND * rng.exponential(size=DRAWS))
    most = SUPERLINEAR * n * curve.alone * np.maximum(saved, 1.0)
    reached = np.minimum(np.minimum(rates, next_limit), most)
    logs = np.log(reached / base) + lacks
    tail = (1 - LEVEL) / 2
    low, value, high = np.exp(np.quantile(logs, [tail, 0.5, 1 - tail]))
    return float(value), float(low), float(high)
