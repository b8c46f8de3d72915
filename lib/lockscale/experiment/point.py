# SPDX-License-Identifier: MIT
"""One point of a run, a load at one number of processes, and one number of it."""

from dataclasses import dataclass

from lockscale.experiment.load import Load


@dataclass(frozen=True)
class Reading:
    """One number of one point: `profiled` ones are never rates."""

    tool: str
    test: str
    threads: int
    metric: str
    statistic: str
    unit: str
    value: float
    profiled: bool


@dataclass(frozen=True)
class Point:
    """A load at one number of processes, each doing `items` operations."""

    load: Load
    processes: int
    items: int
    raw: str = "rate"  # how the names of its raw output begin

    def command(self, phase: str) -> list[str]:
        """argv of one of the load's phases, or of all in turn."""
        return self.load.command(self.processes, self.items, phase)

    def reading(
        self, tool: str, test: str, metric: str, statistic: str, unit: str, value: float, profiled: bool
    ) -> Reading:
        """A number of this point."""
        return Reading(tool, test, self.processes, metric, statistic, unit, value, profiled)
