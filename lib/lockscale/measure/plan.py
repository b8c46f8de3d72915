# SPDX-License-Identifier: MIT
"""The order of a run: warm-up blocks, an A/A pair of the patched arm, then the arms in ABBA order."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from lockscale.study.file import GuestPoints, Study

T = TypeVar("T")
WARM_UP = "warm-up"
"""The pair of steps whose rows are kept and compared with nothing."""


@dataclass(frozen=True)
class Step:
    """One boot: which arm, on how many virtual CPUs, at which numbers of processes."""

    sequence: int
    pair: str  # "aa", "ab" or WARM_UP
    block: int
    iteration: int
    arm: str
    cpus: int
    processes: tuple[int, ...]
    containers: bool = False  # each process is one

    @property
    def name(self) -> str:
        return f"{self.sequence:03d}-{self.pair}{self.block}-{self.arm}-{self.cpus}cpu"


def plan(study: Study, arms: Sequence[str] | None = None) -> list[Step]:
    """Every boot of a run in order; arms: those that can be booted, by default all.

    Two blocks after one another are ABBA: the first runs the arms in an order drawn from the seed, the
    second backwards, so a drift that is linear in time cancels and no arm always comes first.
    """
    names = [arm.name for arm in study.arms] if arms is None else list(arms)
    return [
        Step(n, pair, block, iteration, arm, guest.cpus, tuple(guest.processes), guest.containers)
        for n, (pair, block, iteration, arm, guest) in enumerate(_boots(study, names), start=1)
    ]


def boots_of(study: Study, arm: str, blocks: int, at: Callable[[GuestPoints], Iterable[int]]) -> list[Step]:
    """One arm alone: a boot of each guest a block, at the numbers of processes that `at` gives of it."""
    boots = [(block, guest) for block in range(1, blocks + 1) for guest in study.parameters.guests]
    wanted = [(block, guest, tuple(at(guest))) for block, guest in boots]
    return [
        Step(n, "ab", block, block, arm, guest.cpus, processes, guest.containers)
        for n, (block, guest, processes) in enumerate((one for one in wanted if one[2]), start=1)
    ]


def profiled(study: Study, step: Step) -> tuple[int, ...]:
    """The numbers of processes of a step of the study's plan that are measured under profilers too."""
    some = _asked(study, step).profiled
    return tuple(n for n in step.processes if some is None or n in some)


def items_each(study: Study, step: Step, processes: int) -> int:
    """How many operations each of so many processes does where a rate is measured."""
    return study.parameters.items_each(_asked(study, step), processes)


def loads_of(study: Study, step: Step, processes: int) -> int:
    """How many loads one after another give the rate of so many processes."""
    return _asked(study, step).loads_at.get(processes, 1)


def _asked(study: Study, step: Step) -> GuestPoints:
    """What the study asks of the step's boot."""
    asked = {(one.cpus, tuple(one.processes)): one for one in reversed(study.parameters.guests)}
    return asked[step.cpus, step.processes]


def in_turn(arms: Sequence[T], iterations: int) -> Iterator[tuple[int, T]]:
    """Each arm once an iteration, forwards in odd ones and backwards in even ones."""
    for iteration in range(1, iterations + 1):
        for arm in arms if iteration % 2 else reversed(arms):
            yield iteration, arm


def _boots(study: Study, names: Sequence[str]) -> Iterator[tuple[str, int, int, str, GuestPoints]]:
    asked, patched = study.parameters, study.patched.name
    twice = patched if patched in names else names[0]
    for block in range(1, asked.warm_up_blocks + 1):
        for guest in asked.guests:
            for arm in names:
                yield WARM_UP, block, block, arm, guest
    for iteration in (1, 2):
        for guest in asked.guests:
            yield "aa", 0, iteration, twice, guest
    for block in range(1, asked.iterations + 1):
        for guest in asked.guests:
            for arm in _order(names, block, asked.seed):
                yield "ab", block, block, arm, guest


def _order(names: Sequence[str], block: int, seed: int) -> list[str]:
    """The arms of one block: drawn for an odd one, the same backwards for the even one after it."""
    drawn = list(names)
    random.Random(f"{seed}/{(block + 1) // 2}").shuffle(drawn)
    return drawn if block % 2 else drawn[::-1]
