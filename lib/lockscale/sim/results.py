# SPDX-License-Identifier: MIT
"""What a simulation gives: a rate with its interval, attempts, and what each lock did."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scipy.special import stdtrit

CONFIDENCE = 0.95


@dataclass(frozen=True)
class LockStatistics:
    """One lock, all replications together. ``acquisitions`` counts those in the counted windows.

    Waits and holds that a window's edge cuts count with their part inside, so Little's law holds
    exactly: wait_ns_mean x acquisitions is the time integral of the queue's length.
    """

    acquisitions: int
    wait_ns_mean: float | None
    hold_ns_mean: float | None


@dataclass(frozen=True)
class Result:
    """One simulated point. ``low`` and ``high``: 95% interval of the mean over replications.

    They are None for a single replication. Origin: simulated; ``calibration`` says from what.
    """

    model: str
    unit: str
    calibration: str
    parameters: dict[str, float | bool]
    threads: int
    seed: int
    operations: int
    rates_per_s: tuple[float, ...]
    rate_per_s: float
    low: float | None
    high: float | None
    attempts_per_op: float
    locks: dict[str, LockStatistics]
    transitions: int

    def to_json(self) -> dict[str, Any]:
        """One point of ``lockscale sim --json``."""
        return {
            "threads": self.threads,
            "metric": "throughput",
            "unit": self.unit,
            "value": self.rate_per_s,
            "low": self.low,
            "high": self.high,
            "attempts_per_op": self.attempts_per_op,
            "locks": {name: asdict(lock) for name, lock in self.locks.items()},
        }


def mean_interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Mean and its 95% interval by Student's t over independent replications."""
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, None, None
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    half = float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2)) * deviation / math.sqrt(n)
    return mean, mean - half, mean + half
