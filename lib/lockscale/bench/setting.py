# SPDX-License-Identifier: MIT
"""How much to run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Done = Callable[[str], None]
"""Told after each step what it was."""

ENGINES = ("generic", "simpy", "ciw")


@dataclass(frozen=True)
class Setting:
    """By ``counted_us`` of simulated time a round of 4 replications takes each engine 2 to 4 s.

    That gives 20 replications: standard errors of 0.01% (generic) and 0.1% (SimPy, Ciw) of the rate.
    At the knee as many replications are run, each for ``knee_share`` of the time.
    """

    rounds: int = 5
    replications: int = 4
    counted_us: Mapping[str, float] = field(
        default_factory=lambda: {"generic": 6e6, "simpy": 90e3, "ciw": 30e3}
    )
    knee_share: float = 0.25
    cold_starts: int = 1
    compared_columns: int | None = None  # of the published tables; None: all
    folded_mib: int = 1024  # of perf script's text
    moves: int = 50  # of each slider of the lock explorer
    virtual_operations: int = 2400  # of a load on a machine in virtual time; 0: none is booted

    def steps(self) -> int:
        """How often ``Done`` is told."""
        return (
            len(ENGINES) * (self.rounds + 1)
            + 4 * self.rounds
            + self.cold_starts
            + 4
            + (self.virtual_operations > 0)
        )
