# SPDX-License-Identifier: MIT
"""The machine repairman in every engine: how fast each is, and whether they agree."""

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from lockscale.bench.agreement import Estimate, agrees, errors_apart, estimate
from lockscale.bench.in_lockscale import transitions_per_repair
from lockscale.bench.repairman import Case
from lockscale.bench.rounds import Engine, Measured, interleave
from lockscale.bench.row import Row
from lockscale.bench.setting import Done, Setting

THREADS = 48
KNEE = 11
"""(Z + s) / s: here Z and s both decide the rate; at 48 threads only s does."""
EVENTS_PER_S, TIMES_SIMPY = 40e6, 150.0  # targets of the generic engine


def repairman_rows(engines: Mapping[str, Engine], setting: Setting, done: Done) -> list[Row]:
    """One row an engine: timed at 48 threads, compared there and at the knee."""
    timed = {name: Case(THREADS, setting.counted_us[name]) for name in engines}
    knee = {name: Case(KNEE, setting.counted_us[name] * setting.knee_share) for name in engines}
    for name, run in engines.items():
        run(replace(timed[name], counted_us=100.0), 1)  # compiled code is loaded before the clock runs
    replications = setting.replications
    measured = interleave(engines, timed, setting.rounds, replications, done)
    at_knee = interleave(engines, knee, 1, setting.rounds * replications, done)
    compared = [_compare(timed, measured), _compare(knee, at_knee)]
    per_repair = transitions_per_repair(timed["generic"])
    speeds = {m.engine: m.repairs_per_wall_s * per_repair for m in measured}
    return [_row(m, speeds, [points[m.engine] for points in compared]) for m in measured]


def _compare(cases: Mapping[str, Case], measured: list[Measured]) -> dict[str, dict[str, Any]]:
    estimates = [estimate(m.engine, m.rates_per_s) for m in measured]
    return {e.engine: _point(cases[e.engine], e, estimates) for e in estimates}


def _point(case: Case, one: Estimate, estimates: list[Estimate]) -> dict[str, Any]:
    exact = case.exact_rate_per_s()
    return {
        "threads": case.threads,
        "rate_per_s": one.rate_per_s,
        "standard_error_per_s": one.standard_error_per_s,
        "exact_per_s": exact,
        "errors_from_exact": errors_apart(one, Estimate("exact", exact, 0.0)),
        "agrees": agrees(one, estimates, exact),
    }


def _row(measured: Measured, speeds: Mapping[str, float], points: list[dict[str, Any]]) -> Row:
    speed = speeds[measured.engine]
    ratio = speed / speeds["simpy"]
    ours = measured.engine == "generic"
    package = "lockscale" if ours else measured.engine
    return Row(
        case=f"machine_repairman_{THREADS}",
        engine=measured.engine,
        seconds=measured.seconds,
        events_per_s=speed,
        ratio_to_simpy=ratio,
        agrees=all(point["agrees"] for point in points),
        target=f">= {EVENTS_PER_S / 1e6:.0f} M events/s, >= {TIMES_SIMPY:.0f} x SimPy" if ours else None,
        met=speed >= EVENTS_PER_S and ratio >= TIMES_SIMPY if ours else None,
        agreement=points,
        note=f"{package} {version(package)}, one core",
    )
