# SPDX-License-Identifier: MIT
"""One point of a run, a load at one number of processes, and one number of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, harmonic_mean

from lockscale.measure.load import Load


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


def mean_of_loads(loads: Sequence[Sequence[Reading]]) -> Iterator[Reading]:
    """One reading in place of those that loads of one point, one after another, gave of the same number.

    Rates as if all were one load, operations over time; of anything else the mean: of a percentile of
    latency too, which is not the percentile of all operations.
    """
    for same in zip(*loads, strict=True):
        values = [one.value for one in same]
        mean = harmonic_mean(values) if same[0].metric == "rate" else fmean(values)
        yield replace(same[0], value=mean if len(values) > 1 else values[0])
