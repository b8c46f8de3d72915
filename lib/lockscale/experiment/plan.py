# SPDX-License-Identifier: MIT
"""The order of a run: an A/A pair of the base first, then blocks of the arms, interleaved ABBA."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from lockscale.study import GuestPoints, Study

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """One boot: which arm, on how many virtual CPUs, at which numbers of processes."""

    sequence: int
    pair: str  # "aa" or "ab"
    block: int
    iteration: int
    arm: str
    cpus: int
    processes: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.sequence:03d}-{self.pair}{self.block}-{self.arm}-{self.cpus}cpu"


def plan(study: Study) -> list[Step]:
    """Every boot of a run in order. Odd blocks run the arms forwards, even ones backwards."""
    return [
        Step(n, pair, block, iteration, arm, guest.cpus, tuple(guest.processes))
        for n, (pair, block, iteration, arm, guest) in enumerate(_boots(study), start=1)
    ]


def in_turn(arms: Sequence[T], iterations: int) -> Iterator[tuple[int, T]]:
    """Each arm once an iteration, forwards in odd ones and backwards in even ones."""
    for iteration in range(1, iterations + 1):
        for arm in arms if iteration % 2 else reversed(arms):
            yield iteration, arm


def _boots(study: Study) -> Iterator[tuple[str, int, int, str, GuestPoints]]:
    guests = study.parameters.guests
    base = study.arm("upstream").name
    for iteration in (1, 2):
        for guest in guests:
            yield "aa", 0, iteration, base, guest
    names = [arm.name for arm in study.arms]
    for block in range(1, study.parameters.iterations + 1):
        for guest in guests:
            for arm in names if block % 2 else reversed(names):
                yield "ab", block, block, arm, guest
