# SPDX-License-Identifier: MIT
"""How near to a table a perfect model would come: below that, a smaller error fits the noise.

With sd the standard deviation of ln(rate) at a point, the mean absolute error of the true curve is
sd sqrt(2 / pi) (normal noise). sd comes

- from repeats: their pooled spread about their own mean, over the root of the runs behind a point;
- else from neighbours, where thread counts are dense and even: each point against the line through
  the two beside it (T. Gasser, L. Sroka and C. Jennen-Steinmetz, Biometrika 73, 1986, p. 625). A bend
  of the curve between neighbours adds to it, so it is an upper bound.
"""

from dataclasses import dataclass

import numpy as np

from lockscale.queueing.points import Points

DENSE_POINTS = 10  # eight second differences know a standard deviation to a quarter
EVEN_GAPS = 1.5


@dataclass(frozen=True)
class NoiseFloor:
    """Mean absolute percentage error of a perfect model; source: `repeats` or `neighbours`."""

    pct: float
    source: str
    dof: int

    def __str__(self) -> str:
        if self.source == "repeats":
            return f"Repeat noise {self.pct:.1f}% (mean absolute, {self.dof} degrees of freedom)"
        return f"Noise at most {self.pct:.1f}% (no repeats: each point against the two beside it)"


def noise_floor(table: Points) -> NoiseFloor | None:
    """None where the table has neither repeats nor dense, even thread counts."""
    if table.repeat_dof:
        one_run = table.repeat_ss / table.repeat_dof
        return _floor(float(np.mean(np.sqrt(one_run / table.weight))), "repeats", table.repeat_dof)
    gaps = np.diff(table.threads)
    if len(table) < DENSE_POINTS or gaps.max() > EVEN_GAPS * gaps.min():
        return None
    left = gaps[1:] / (gaps[1:] + gaps[:-1])
    line = left * table.log_rate[:-2] + (1 - left) * table.log_rate[2:]
    off = (line - table.log_rate[1:-1]) / np.sqrt(left**2 + (1 - left) ** 2 + 1)
    return _floor(float(np.sqrt(np.mean(off**2))), "neighbours", len(off))


def _floor(deviation: float, source: str, dof: int) -> NoiseFloor:
    return NoiseFloor(100 * deviation * float(np.sqrt(2 / np.pi)), source, dof)
