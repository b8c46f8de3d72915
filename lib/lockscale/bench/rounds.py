# SPDX-License-Identifier: MIT
"""Engines in turn, round by round, so that whatever else the machine does falls on all of them.

All run in this process. Child processes were tried: SimPy and Ciw alone run no faster than beside
the compiled engine (0.542 against 0.539 and 0.176 against 0.178 M events/s, within the noise). The
garbage of one run is collected before the next is timed.
"""

import gc
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lockscale.bench.repairman import Case, Run
from lockscale.bench.setting import Done
from lockscale.errors import BadInput

Engine = Callable[[Case, int], Run]


@dataclass(frozen=True)
class Measured:
    """An engine's rate in each replication, and its speed: medians over the rounds.

    ``seconds`` is the wall time of a round.
    """

    engine: str
    rates_per_s: tuple[float, ...]
    repairs_per_wall_s: float
    seconds: float


def engines() -> dict[str, Engine]:
    """The engines to compare; raises BadInput where the extra ``bench`` is not installed."""
    try:
        from lockscale.bench import in_ciw, in_simpy
    except ModuleNotFoundError as error:
        raise BadInput(f"lockscale bench needs {error.name}: pip install 'lockscale[bench]'") from None
    from lockscale.bench import in_lockscale

    return {"generic": in_lockscale.run, "simpy": in_simpy.run, "ciw": in_ciw.run}


def interleave(
    engines: Mapping[str, Engine],
    cases: Mapping[str, Case],
    rounds: int,
    replications: int,
    done: Done,
) -> list[Measured]:
    """``replications`` of every engine in each round, no seed used twice; ``done`` is told after each."""
    runs: dict[str, list[list[Run]]] = {name: [] for name in engines}
    for turn in range(rounds):
        for name, run in engines.items():
            gc.collect()
            seeds = range(1 + turn * replications, 1 + (turn + 1) * replications)
            runs[name].append([run(cases[name], seed) for seed in seeds])
            done(f"{name}, {cases[name].threads} threads")
    return [_measured(name, found) for name, found in runs.items()]


def _measured(engine: str, rounds: list[list[Run]]) -> Measured:
    repairs = [sum(run.repairs for run in runs) for runs in rounds]
    seconds = [sum(run.seconds for run in runs) for runs in rounds]
    return Measured(
        engine=engine,
        rates_per_s=tuple(run.rate_per_s for runs in rounds for run in runs),
        repairs_per_wall_s=statistics.median(r / s for r, s in zip(repairs, seconds, strict=True)),
        seconds=statistics.median(seconds),
    )
