# SPDX-License-Identifier: MIT
"""Lines that several threads write: work outside the lock costs more when it is not alone.

Outside the lock an operation writes cache lines that the others write too (counters of the super
block, the journal's atomics). Such a line is in the own cache only if this thread was the last to
write it. N threads that come in any order are equally likely to have been the last, so a share
1 - 1/N of the operations fetches the lines, c in all:

    Z(N) = Z + c (1 - 1/N)

One thread alone never pays, two pay half, many pay c: the rate of one thread lies above what the
others point to. The lock and the second queue behind it see the longer think time, no more: nobody
waits for a line.

    repairman_sharing   machine repairman, Z(N) in place of Z
    two_queue_sharing   lock with collapse and second queue, Z(N) in place of Z

Derived here. Units: microseconds, rates per second. Domain: as those laws; c >= 0. c and Z are told
apart by the smallest thread counts alone.
"""

from collections.abc import Mapping

import numpy as np

from lockscale.queueing.closed_chain import at_the_lock, closed_rate_per_us
from lockscale.queueing.columns import FloatArray
from lockscale.queueing.laws.machine_repairman import MACHINE_REPAIRMAN
from lockscale.queueing.laws.two_queue import TWO_QUEUE, both_us
from lockscale.queueing.model import Box, Law, Parameter


def _think_us(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return params["Z_us"] + params["moved_us"] * (1 - 1 / threads)


def _repairman_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    hold_us = params["s_us"] * np.ones_like(at_the_lock(threads))
    return 1e6 * closed_rate_per_us(threads, _think_us(threads, params), hold_us)


def _two_queue_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return 1e6 * closed_rate_per_us(threads, _think_us(threads, params), both_us(threads, params))


def _with_moved(law: Law, threads: FloatArray, rates: FloatArray) -> Box:
    box = law.box(threads, rates)
    longest = box["Z_us"][1]
    return {**box, "moved_us": (1e-2 * longest, longest)}


def _repairman_box(threads: FloatArray, rates: FloatArray) -> Box:
    return _with_moved(MACHINE_REPAIRMAN, threads, rates)


def _two_queue_box(threads: FloatArray, rates: FloatArray) -> Box:
    return _with_moved(TWO_QUEUE, threads, rates)


_MOVED = Parameter("moved_us", "us")

REPAIRMAN_SHARING = Law(
    "repairman_sharing", (*MACHINE_REPAIRMAN.parameters, _MOVED), _repairman_per_s, _repairman_box
)
TWO_QUEUE_SHARING = Law(
    "two_queue_sharing", (*TWO_QUEUE.parameters, _MOVED), _two_queue_per_s, _two_queue_box
)
