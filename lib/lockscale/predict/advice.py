# SPDX-License-Identifier: MIT
"""Which one unpatched measurement would narrow an interval most, and the command that takes it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lockscale.predict.lock_data import UnpatchedData
from lockscale.predict.patch_language import read_patch
from lockscale.predict.published_gains import GainModel
from lockscale.tools.lock_profile import SAMPLES

if TYPE_CHECKING:
    from lockscale.predict.lock_answer import PatchGain  # an answer has an advice in it

ASLEEP = "perf lock contention -ab -- LOAD"
OR_ASLEEP = "or bcc's offcputime -K 10, while the load runs"
PROFILE = "perf record -a -g -- LOAD && perf report --stdio --children"  # cycles, or else cpu-clock
WORTH_IT = 0.95
"""What a measurement has to leave of an interval at most, on average, to be proposed."""
RATES = "-r 1:RATE,N:RATE"


@dataclass(frozen=True)
class Advice:
    """command: to be typed with one's own LOAD, or the options that give whatif the answer; empty where no
    one command takes the measurement. note: what else there is to know, may be empty. width: of the interval
    now, high over low; to: what the measurement is expected to leave of it.
    """

    measurement: str
    command: str
    note: str
    width: float
    to: float


def how_to_share(measured: UnpatchedData) -> tuple[str, str, str]:
    """What tells the share of the time that threads wait for the lock, the command, and a note."""
    if measured.waits_unseen:
        return "the time that threads sleep, waiting for the lock", ASLEEP, OR_ASLEEP
    timed = measured.profile is not None and any(one.wait_ns is not None for one in measured.profile.entries)
    if measured.profile and measured.profile.of != SAMPLES and timed and not measured.lasted_s:
        return "how long the profiled load ran", "--seconds SECONDS", ""
    return "the share of the time spent waiting for the lock", PROFILE, ""


def advice(
    learned: GainModel, best: "PatchGain", most: float, usual_most: float, share: tuple[str, str, str]
) -> Advice:
    """Of the measurements that are missing the one that leaves the narrowest interval.

    usual_most: N times one thread's rate over the rate of N, in the middle of published cases. share: as
    how_to_share() says it.
    """
    options = []
    left, promise, width = best.left, best.promise, best.high / best.low
    if promise is None:
        widths = [learned.gain(left, one, most).width for one in learned.promises]
        typical = float(np.exp(np.mean(np.log(widths))))
        options.append((*share, typical))
    if not np.isfinite(most):
        bounded = learned.gain(left, promise, usual_most).width
        what = "the rate of one thread, which bounds the rate of all threads"
        options.append((what, RATES, "of the same load", bounded))
    useful = [option for option in options if option[-1] < WORTH_IT * width]
    if not useful:
        may = "" if np.isfinite(most) else f". The rate of one thread ({RATES}) can narrow it"
        what = "the work" if read_patch(best.patch).of_work else "the lock"
        return Advice(
            f"to narrow the interval, measure a draft without {what}, where no data can be lost that matter",
            "",
            f"what limits the rate next shows only once {what} is gone{may}",
            width,
            width,
        )
    what, command, note, to = min(useful, key=lambda option: option[-1])
    return Advice(what, command, note, width, to)
