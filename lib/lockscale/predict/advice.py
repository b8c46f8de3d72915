# SPDX-License-Identifier: MIT
"""Which one measurement of the base would narrow an interval most, and the command that takes it."""

from dataclasses import dataclass

import numpy as np

from lockscale.predict.history import GainInterval, History

PROFILE = "perf record -a -g -e cpu-clock -- LOAD && perf report --stdio --children"
WORTH_IT = 0.95
"""What a measurement has to leave of an interval at most, on average, to be proposed."""
RATES = "-r 1:RATE,N:RATE"
ONE_THREAD = f"the same load with one thread: {RATES}"


@dataclass(frozen=True)
class Advice:
    """width: of the interval now, high over low; to: what the measurement is expected to leave of it."""

    measurement: str
    command: str
    width: float
    to: float


def advice(
    history: History,
    left: str,
    promise: float | None,
    most: float,
    now: GainInterval,
    usual_most: float,
) -> Advice:
    """Of the measurements that are missing the one that leaves the narrowest interval.

    usual_most: N times one thread's rate over the rate of N, in the middle of published cases.
    """
    options = []
    if promise is None:
        widths = [history.gain(left, one, most).width for one in history.promises]
        typical = float(np.exp(np.mean(np.log(widths))))
        options.append(("the share of the time spent waiting for the lock", PROFILE, typical))
    if not np.isfinite(most):
        bounded = history.gain(left, promise, usual_most).width
        options.append(("the rate of one thread, which bounds the rate of all threads", ONE_THREAD, bounded))
    useful = [option for option in options if option[2] < WORTH_IT * now.width]
    if not useful:
        may = "" if np.isfinite(most) else f". The rate of one thread ({RATES}) can narrow it"
        return Advice(
            "to narrow the interval, measure a draft without the lock, on a file system whose data may be "
            "lost",
            f"what limits the rate next shows only once the lock is gone{may}",
            now.width,
            now.width,
        )
    what, command, to = min(useful, key=lambda option: option[2])
    return Advice(what, command, now.width, to)
