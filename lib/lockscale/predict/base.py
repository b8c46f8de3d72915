# SPDX-License-Identifier: MIT
"""The base columns of the published tables, with a record of what was read."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t

from lockscale.errors import BadInput
from lockscale.tables import published
from lockscale.tables.function_costs import Cost

_NORMAL_95 = 1.96  # of a normal distribution, 95%


class Curve(NamedTuple):
    """Thread counts (n,) and values (n,) of one base column, in the order of its threads."""

    threads: list[int]
    values: list[float]


@dataclass
class Base:
    """Reads one arm and no other; `used` lists what it read."""

    arm: str
    used: list[str] = field(default_factory=list)

    def repeats(self, table: str, metric: str) -> list[float]:
        """Every value of the arm's metric, in the order printed."""
        return [float(value) for value in self._rows(table, metric).value]

    def curve(self, table: str, metric: str) -> Curve:
        """One value for each number of threads."""
        rows = self._rows(table, metric).sort_values("threads")
        return Curve([int(n) for n in rows.threads], [float(v) for v in rows.value])

    def costs(self, table: str) -> dict[str, Cost]:
        """Function -> its cost, of the base alone. Raises BadInput where the table is another arm's."""
        frame = self._of_arm(table)
        columns = (frame.function, frame.total_us, frame["count"], frame.avg_us)
        return {str(f): Cost(int(us), int(n), float(avg)) for f, us, n, avg in zip(*columns, strict=True)}

    def _rows(self, table: str, metric: str) -> pd.DataFrame:
        rows = self._of_arm(table)
        return rows[(rows.metric == metric) & ~rows.statistic.isin(["min", "max"])]

    def _of_arm(self, table: str) -> pd.DataFrame:
        frame = published(table)
        rows = frame[frame.arm == self.arm]
        if rows.empty:
            raise BadInput(f"table {table} has no rows of {self.arm}: restore data/published from git")
        said = f"{table} ({self.arm} only)"
        self.used += [] if said in self.used else [said]
        return rows


def mean_interval(values: list[float]) -> tuple[float, float, float]:
    """Mean, and its 95% interval by Student's t."""
    mean = float(np.mean(values))
    half = float(t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return mean, mean - half, mean + half


def scatter(values: list[float]) -> float:
    """Relative standard deviation of one value of a curve, from the curve alone.

    Each point against the line between its neighbours, on logarithms; the median, so that a knee or a
    jump counts little (T. Gasser, L. Sroka and C. Jennen-Steinmetz, Biometrika 73(3), 1986).
    """
    logs = np.log(values)
    off = (logs[1:-1] - (logs[:-2] + logs[2:]) / 2) / np.sqrt(1.5)
    return float(1.4826 * np.median(np.abs(off)))


def factor_of_two_values(values: list[float]) -> float:
    """By what factor a value of another build may miss one of the curve by scatter alone, 95%."""
    return float(np.exp(_NORMAL_95 * np.sqrt(2) * scatter(values)))
