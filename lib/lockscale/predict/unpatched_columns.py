# SPDX-License-Identifier: MIT
"""The unpatched arm's columns of the published tables, and the reasoning about them that studies share.

Where its threads are, a table of function costs says by Little's law: time over the root's time. The retry
storm is read backwards (queueing/laws/retry_storm.py has the law): with W of N threads in the loop and X
operations a second, Z = (N - W) / X is the work outside and s = 1 / (X W) the lock's time for one attempt.
Patched, an operation makes one attempt: at best N / (Z + s) and never more than 1 / s; at worst, service
being exponential, the machine repairman's rate.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from lockscale.errors import BadInput
from lockscale.predict.answer import Waiting
from lockscale.queueing.laws.machine_repairman import MACHINE_REPAIRMAN
from lockscale.queueing.laws.retry_storm import GOOD_STATE, RETRY_STORM, attempts_per_create
from lockscale.study.tables import EXTREMES
from lockscale.tables import published
from lockscale.tables.function_costs import Cost

NORMAL_95 = 1.96  # of a normal distribution, 95%


class UnpatchedCurve(NamedTuple):
    """Thread counts (n,) and values (n,) of one unpatched column, in the order of its threads."""

    threads: list[int]
    values: list[float]


@dataclass
class UnpatchedColumns:
    """Reads one arm and no other; `used` lists what it read."""

    arm: str
    used: list[str] = field(default_factory=list)

    def repeats(self, table: str, metric: str) -> list[float]:
        """Every value of the arm's metric, in the order printed."""
        return [float(value) for value in self._rows(table, metric).value]

    def curve(self, table: str, metric: str) -> UnpatchedCurve:
        """One value for each number of threads."""
        rows = self._rows(table, metric).sort_values("threads")
        return UnpatchedCurve([int(n) for n in rows.threads], [float(v) for v in rows.value])

    def costs(self, table: str) -> dict[str, Cost]:
        """Function -> its cost, unpatched only. Raises BadInput where the table is another arm's."""
        frame = self._of_arm(table)
        columns = (frame.function, frame.total_us, frame["count"], frame.avg_us)
        return {str(f): Cost(int(us), int(n), float(avg)) for f, us, n, avg in zip(*columns, strict=True)}

    def _rows(self, table: str, metric: str) -> pd.DataFrame:
        rows = self._of_arm(table)
        return rows[(rows.metric == metric) & ~rows.statistic.isin(EXTREMES)]

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
    half = float(stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return mean, mean - half, mean + half


def scatter(values: list[float]) -> float:
    """Relative standard deviation of one value of a curve, from the curve alone.

    Each point against the line between its neighbours, on logarithms; the median, so that a knee or a
    jump counts little (T. Gasser, L. Sroka and C. Jennen-Steinmetz, Biometrika 73(3), 1986). Raises
    BadInput where no point has two neighbours.
    """
    if len(values) < 3:
        raise BadInput(f"a curve of {len(values)} thread counts does not show its scatter: add more of them")
    logs = np.log(values)
    off = (logs[1:-1] - (logs[:-2] + logs[2:]) / 2) / np.sqrt(1.5)
    return float(1.4826 * np.median(np.abs(off)))


def factor_of_two_values(values: list[float]) -> float:
    """By what factor a value of another build may miss one of the curve by scatter alone, 95%."""
    return float(np.exp(NORMAL_95 * np.sqrt(2) * scatter(values)))


REST = "the rest"

# Who calls whom in fs/ext4/namei.c, where the tables print both.
_WITHIN = {"ext4_add_entry": "ext4_add_nondir", "ext4_dx_add_entry": "ext4_add_entry"}


def waits(
    costs: Mapping[str, Cost], root: str, threads: float, waits_for: Mapping[str, str]
) -> list[Waiting]:
    """One row a function, the root first: `threads` threads are always within it.

    A function's time includes what it calls; of those within another only the known ones are nested,
    and what calls them may be counted twice: the rest of the root is then too small, at least 0.
    """
    one = costs[root]

    def row(place: str, within: str, total_us: float) -> Waiting:
        share = total_us / one.total_us
        return Waiting(place, within, threads * share, total_us / one.calls, waits_for.get(place, ""))

    found = [row(root, "", one.total_us)]
    inside = {
        name: within if (within := _WITHIN.get(name)) in costs and within else root
        for name in costs
        if name != root
    }
    found += [row(name, within, costs[name].total_us) for name, within in inside.items()]
    direct = sum(costs[name].total_us for name, within in inside.items() if within == root)
    return [*found, row(REST, root, max(one.total_us - direct, 0.0))]


class Storm(NamedTuple):
    """Work outside the loop and the lock's time for an attempt, in us."""

    think_us: float
    attempt_us: float

    def stormy_per_s(self, threads: int) -> float:
        """The rate with retries."""
        return float(RETRY_STORM(threads, Z_us=self.think_us, s_us=self.attempt_us)[0])

    def attempts(self, threads: int) -> float:
        return float(attempts_per_create(threads, self.think_us, self.attempt_us)[0])

    def cured_per_s(self, threads: int) -> tuple[float, float]:
        """At worst and at best, with one attempt each."""
        times = {"Z_us": self.think_us, "s_us": self.attempt_us}
        return float(MACHINE_REPAIRMAN(threads, **times)[0]), float(GOOD_STATE(threads, **times)[0])

    def lock_is_full_at(self) -> int:
        """Threads from which on the cured lock is the limit: (Z + s) / s."""
        return int(np.ceil((self.think_us + self.attempt_us) / self.attempt_us))


def read_backwards(threads: int, rate_per_s: float, in_loop: float) -> Storm:
    """From W threads of N in the loop at X operations a second."""
    return Storm(1e6 * (threads - in_loop) / rate_per_s, 1e6 / (rate_per_s * in_loop))


def regression_above_us(threads: int, think_us: float, rate_per_s: float) -> float:
    """The attempt's cost above which a storm is slower than `rate_per_s`: W = N - X Z, s = 1 / (X W)."""
    waiting = threads - rate_per_s * think_us / 1e6
    return 1e6 / (rate_per_s * waiting) if waiting > 0 else float("inf")
