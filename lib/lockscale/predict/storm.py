# SPDX-License-Identifier: MIT
"""The retry storm read backwards: from threads in the loop to work outside it, cost and cure.

queueing/laws/retry_storm.py has the law. With W of N threads in the loop and X operations a second,
Z = (N - W) / X is the work outside and s = 1 / (X W) the lock's time for one attempt. After the cure an
operation makes one attempt: at best N / (Z + s) and never more than 1 / s; at worst, service being
exponential, the machine repairman's rate.
"""

from typing import NamedTuple

import numpy as np

from lockscale.queueing.laws.machine_repairman import MACHINE_REPAIRMAN
from lockscale.queueing.laws.retry_storm import GOOD_STATE, RETRY_STORM, attempts_per_create


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
