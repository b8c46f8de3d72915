# SPDX-License-Identifier: MIT
"""What a simulation gives: a rate with its interval, attempts, and what each primitive did."""

import html
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scipy.special import stdtrit

CONFIDENCE = 0.95
Histogram = tuple[tuple[float, int], ...]
"""(upper edge in ns, count) of each bucket that is not empty; four buckets an octave, the first is 0 ns."""


@dataclass(frozen=True)
class LockStatistics:
    """One lock, all shards and replications together; counts are those in the counted windows.

    Waits and holds that a window's edge cuts count with their part inside, so Little's law holds
    exactly: wait_ns_mean x acquisitions is the time integral of the number that wait. ``busy``: the
    mean number of holders of a shard (of an exclusive lock: the share of the time it is held).
    """

    acquisitions: int
    wait_ns_mean: float | None
    hold_ns_mean: float | None
    requests: int
    failed_tries: int
    handovers: int
    remote_handovers: int
    wakes: int
    busy: float
    waiting_mean: float
    wait_histogram: Histogram
    hold_histogram: Histogram


@dataclass(frozen=True)
class LineStatistics:
    """One cache line, all shards and replications together: where it was, what it cost, lost cmpxchg."""

    operations: int
    wait_ns_mean: float | None
    cost_ns_mean: float | None
    from_own: int
    from_socket: int
    from_remote: int
    lost: int


@dataclass(frozen=True)
class GateStatistics:
    """One commit gate, all replications together."""

    entered: int
    commits: int
    wait_ns_mean: float | None


@dataclass(frozen=True)
class ClassStatistics:
    """The threads of one path: what they completed, and the shares of their time in each state."""

    threads: int
    operations: int
    rate_per_s: float
    in_state: dict[str, float]


@dataclass(frozen=True, repr=False)
class Result:
    """One simulated point. ``low`` and ``high``: 95% interval of the mean, ``interval`` says by what.

    ``calls_per_op``: how often each step was run; ``in_state_ns``: (threads, 5) time of each thread
    running, holding a lock, spinning, sleeping, ready, all replications together. Origin: simulated;
    ``calibration`` says from what.
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
    interval: str
    attempts_per_op: float
    locks: dict[str, LockStatistics]
    lines: dict[str, LineStatistics]
    gates: dict[str, GateStatistics]
    classes: dict[str, ClassStatistics]
    calls_per_op: dict[str, float]
    in_state_ns: tuple[tuple[float, ...], ...]
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
            "interval": self.interval,
            "attempts_per_op": self.attempts_per_op,
            **{
                part: {name: asdict(one) for name, one in getattr(self, part).items()}
                for part in ("locks", "lines", "gates", "classes")
            },
            "calls_per_op": self.calls_per_op,
        }

    def __repr__(self) -> str:
        return "\n".join((self._rate(), *(", ".join(row) for row in self._locks()), self._origin()))

    def _repr_html_(self) -> str:
        """What a notebook's cell shows."""
        rows = [[html.escape(cell) for cell in row] for row in self._locks()]
        lines = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
        rate, origin = html.escape(self._rate()), html.escape(self._origin())
        return f"<p>{rate}</p><table>{lines}</table><p>{origin}</p>"

    def _rate(self) -> str:
        known = self.low is not None and self.high is not None
        interval = f"95% interval {_figure(self.low)} to {_figure(self.high)} by {self.interval}"
        return (
            f"{self.model}, {self.threads} threads: {_figure(self.rate_per_s)} {self.unit}, "
            f"{interval if known else 'no interval'}, attempts per operation {_figure(self.attempts_per_op)}"
        )

    def _locks(self) -> list[tuple[str, ...]]:
        return [
            (
                name,
                f"wait {_figure(lock.wait_ns_mean)} ns",
                f"hold {_figure(lock.hold_ns_mean)} ns",
                f"busy {lock.busy:.0%}",
            )
            for name, lock in self.locks.items()
            if lock.acquisitions
        ]

    def _origin(self) -> str:
        return f"simulated; {self.calibration or 'not calibrated'}"


def _figure(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def mean_interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Mean and its 95% interval by Student's t over independent replications."""
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, None, None
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    half = float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2)) * deviation / math.sqrt(n)
    return mean, mean - half, mean + half


def rate_interval(rates: Sequence[float]) -> tuple[float, float | None, float | None]:
    """``mean_interval`` of rates, cut off at 0."""
    mean, low, high = mean_interval(rates)
    # Student's t takes the rates to be normal; where some replications storm and others do not, its
    # interval reaches below 0, where no rate is.
    return mean, None if low is None else max(0.0, low), high
