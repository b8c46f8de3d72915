# SPDX-License-Identifier: MIT
"""The machine repairman in every engine: how fast each is, and whether they agree.

Engines agree with each other and with exact theory within 3 standard errors. They run in turn, round by
round, so that whatever else the machine does falls on all of them, and all in this process. Child processes
were tried: SimPy and Ciw alone run no faster than beside the compiled engine (0.542 against 0.539 and 0.176
against 0.178 M events/s, within the noise). The garbage of one run is collected before the next is timed.
"""

import gc
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from benchmarks.engines import Engine, RepairmanCase, Replication, transitions_per_repair
from benchmarks.rows import Amount, BenchRow, Done

STANDARD_ERRORS = 3.0
THREADS = 48
KNEE = 11
"""(Z + s) / s: here Z and s both decide the rate; at 48 threads only s does."""
EVENTS_PER_S, TIMES_SIMPY = 40e6, 150.0  # targets


@dataclass(frozen=True)
class MeasuredEngine:
    """An engine's rate in each replication, and its speed: medians over the rounds.

    ``seconds`` is the wall time of a round.
    """

    engine: str
    rates_per_s: tuple[float, ...]
    repairs_per_wall_s: float
    seconds: float


@dataclass(frozen=True)
class RateEstimate:
    """An engine's rate: mean of independent replications and its standard error; origin: simulated."""

    engine: str
    rate_per_s: float
    standard_error_per_s: float


def repairman_rows(engines: Mapping[str, Engine], amount: Amount, done: Done) -> list[BenchRow]:
    """One row an engine: timed at 48 threads, compared there and at the knee."""
    timed = {name: RepairmanCase(THREADS, amount.counted_us[name]) for name in engines}
    knee = {name: RepairmanCase(KNEE, amount.counted_us[name] * amount.knee_share) for name in engines}
    for name, run in engines.items():
        run(replace(timed[name], counted_us=100.0), 1)  # compiled code is loaded before the clock runs
    replications = amount.replications
    measured = interleave(engines, timed, amount.rounds, replications, done)
    at_knee = interleave(engines, knee, 1, amount.rounds * replications, done)
    compared = [_compare(timed, measured), _compare(knee, at_knee)]
    per_repair = transitions_per_repair(timed["lockscale"])
    speeds = {m.engine: m.repairs_per_wall_s * per_repair for m in measured}
    return [_row(m, speeds, [points[m.engine] for points in compared]) for m in measured]


def _compare(cases: Mapping[str, RepairmanCase], measured: list[MeasuredEngine]) -> dict[str, dict[str, Any]]:
    estimates = [estimate(m.engine, m.rates_per_s) for m in measured]
    return {e.engine: _point(cases[e.engine], e, estimates) for e in estimates}


def _point(case: RepairmanCase, one: RateEstimate, estimates: list[RateEstimate]) -> dict[str, Any]:
    exact = case.exact_rate_per_s()
    return {
        "threads": case.threads,
        "rate_per_s": one.rate_per_s,
        "standard_error_per_s": one.standard_error_per_s,
        "exact_per_s": exact,
        "errors_from_exact": errors_apart(one, RateEstimate("exact", exact, 0.0)),
        "agrees": agrees(one, estimates, exact),
    }


def _row(measured: MeasuredEngine, speeds: Mapping[str, float], points: list[dict[str, Any]]) -> BenchRow:
    speed = speeds[measured.engine]
    ratio = speed / speeds["simpy"]
    ours = measured.engine == "lockscale"
    return BenchRow(
        case=f"machine_repairman_{THREADS}",
        engine=measured.engine,
        seconds=measured.seconds,
        events_per_s=speed,
        ratio_to_simpy=ratio,
        agrees=all(point["agrees"] for point in points),
        target=f">= {EVENTS_PER_S / 1e6:.0f} M events/s, >= {TIMES_SIMPY:.0f} x SimPy" if ours else None,
        met=speed >= EVENTS_PER_S and ratio >= TIMES_SIMPY if ours else None,
        agreement=points,
        note=f"{measured.engine} {version(measured.engine)}, one core",
    )


def interleave(
    engines: Mapping[str, Engine],
    cases: Mapping[str, RepairmanCase],
    rounds: int,
    replications: int,
    done: Done,
) -> list[MeasuredEngine]:
    """``replications`` of every engine in each round, no seed used twice; ``done`` is told after each."""
    runs: dict[str, list[list[Replication]]] = {name: [] for name in engines}
    for turn in range(rounds):
        for name, run in engines.items():
            gc.collect()
            seeds = range(1 + turn * replications, 1 + (turn + 1) * replications)
            runs[name].append([run(cases[name], seed) for seed in seeds])
            done(f"{name}, {cases[name].threads} threads")
    return [_measured(name, found) for name, found in runs.items()]


def _measured(engine: str, rounds: list[list[Replication]]) -> MeasuredEngine:
    repairs = [sum(run.repairs for run in runs) for runs in rounds]
    seconds = [sum(run.seconds for run in runs) for runs in rounds]
    return MeasuredEngine(
        engine=engine,
        rates_per_s=tuple(run.rate_per_s for runs in rounds for run in runs),
        repairs_per_wall_s=statistics.median(r / s for r, s in zip(repairs, seconds, strict=True)),
        seconds=statistics.median(seconds),
    )


def estimate(engine: str, rates_per_s: Sequence[float]) -> RateEstimate:
    """From the rates of at least two replications."""
    error = statistics.stdev(rates_per_s) / math.sqrt(len(rates_per_s))
    return RateEstimate(engine, statistics.fmean(rates_per_s), error)


def errors_apart(one: RateEstimate, other: RateEstimate) -> float:
    """The difference in combined standard errors."""
    difference = abs(one.rate_per_s - other.rate_per_s)
    combined = math.hypot(one.standard_error_per_s, other.standard_error_per_s)
    if not combined:
        return math.inf if difference else 0.0
    return difference / combined


def agrees(one: RateEstimate, all_of_them: Iterable[RateEstimate], exact_per_s: float) -> bool:
    """Whether the engine is near the exact rate and near every other engine."""
    theory = RateEstimate("exact", exact_per_s, 0.0)
    others = [e for e in all_of_them if e.engine != one.engine]
    return all(errors_apart(one, other) <= STANDARD_ERRORS for other in [theory, *others])
