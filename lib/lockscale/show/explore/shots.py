# SPDX-License-Identifier: MIT
"""A stretch of simulated time of some arms at some numbers of threads, and what is counted in it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from lockscale.show.explore.setting import SEED, Setting, model_of
from lockscale.sim.delays import PS_PER_US
from lockscale.sim.trace import Hold, Span, Trace, trace
from lockscale.studies.scene import Scene

STRETCH_US = 100.0
REST = "the rest of "
"""How every scene's path begins: with the work that needs nothing of what is shared."""
STATES = ("running", "holding", "spinning", "sleeping")


@dataclass(frozen=True)
class Shot:
    """One arm at one number of threads, from the end of the warm-up on."""

    of: Scene
    arm: str
    trace: Trace

    @property
    def threads(self) -> int:
        return self.trace.threads

    @property
    def lock(self) -> str:
        return self.of.lock_of(self.arm)

    @property
    def stretch_us(self) -> float:
        return (self.trace.to_ps - self.trace.from_ps) / PS_PER_US

    def turns(self) -> list[Hold]:
        """The holds of the arm's lock that end within the stretch."""
        return [
            one for one in self.trace.holds if is_at(one.lock, self.lock) and one.end_ps < self.trace.to_ps
        ]

    def finished(self) -> list[Span]:
        """Where a thread goes back to the work of its own: one operation has ended."""
        mine = [one for one in self.trace.spans if one.step.startswith(REST)]
        return [one for one in mine if one.start_ps > self.trace.from_ps]

    def mean_threads(self, state: str) -> float:
        """How many threads are in the state, on average over the stretch."""
        spent_ps = sum(one.end_ps - one.start_ps for one in self.trace.spans if one.state == state)
        return spent_ps / (self.trace.to_ps - self.trace.from_ps)


def shots(
    name: str, arms: Sequence[str], threads: Sequence[int], stretch_us: float = STRETCH_US
) -> list[Shot]:
    """Every arm of the scene at every number of threads: the start of the run that the explorer shows.

    Raises BadInput for a scene, an arm or a number of threads that the explorer does not have.
    """
    return [_shot(Setting(name, arm, n), stretch_us) for arm in arms for n in threads]


def _shot(setting: Setting, stretch_us: float) -> Shot:
    found = trace(
        model_of(setting.of.model), setting.threads, setting.parameters(),
        for_us=stretch_us, seed=SEED, operations=setting.operations,
    )  # fmt: skip
    return Shot(setting.of, setting.arm, found)


def is_at(place: str, name: str) -> bool:
    """Whether "group lock[3]" is a shard of "group lock"."""
    return place.partition("[")[0] == name


def operations(of: Scene) -> str:
    """What the scene's model counts: creates, truncates."""
    return model_of(of.model).unit.partition("/")[0]


def tally(taken: Sequence[Shot]) -> pd.DataFrame:
    """What the shots show, counted. The columns of STATES: how many threads are in each, on average."""
    return pd.DataFrame(
        {
            "arm": one.arm,
            "threads": one.threads,
            "stretch_us": one.stretch_us,
            operations(one.of): len(one.finished()),
            "lock": one.lock,
            "turns": len(one.turns()),
            "turns_an_operation": round(len(one.turns()) / max(1, len(one.finished())), 2),
            "locks_used": len({turn.lock for turn in one.turns()}),
            **{state: round(one.mean_threads(state), 2) for state in STATES},
            "origin": "simulated",
        }
        for one in taken
    )
