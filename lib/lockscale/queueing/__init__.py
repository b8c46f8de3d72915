# SPDX-License-Identifier: MIT
"""Queueing models of rate against thread count: one file each, `fit` and `compare` over them."""

from lockscale.queueing.amdahl import AMDAHL
from lockscale.queueing.amdahl_spill import AMDAHL_SPILL
from lockscale.queueing.boyd_wickizer import BOYD_WICKIZER
from lockscale.queueing.hand_over import HAND_OVER
from lockscale.queueing.impatient import IMPATIENT, IMPATIENT_SATURATED
from lockscale.queueing.machine_repairman import MACHINE_REPAIRMAN
from lockscale.queueing.model import Model
from lockscale.queueing.mva import TWO_STATIONS
from lockscale.queueing.retry_storm import RETRY_STORM
from lockscale.queueing.sharing import REPAIRMAN_SHARING, TWO_QUEUE_SHARING
from lockscale.queueing.two_queue import TWO_QUEUE
from lockscale.queueing.usl import USL
from lockscale.queueing.usl_exponent import USL_EXPONENT

MODELS: dict[str, Model] = {
    m.name: m
    for m in (
        AMDAHL,
        AMDAHL_SPILL,
        USL,
        USL_EXPONENT,
        MACHINE_REPAIRMAN,
        REPAIRMAN_SHARING,
        TWO_STATIONS,
        HAND_OVER,
        BOYD_WICKIZER,
        TWO_QUEUE,
        TWO_QUEUE_SHARING,
        IMPATIENT,
        IMPATIENT_SATURATED,
        RETRY_STORM,
    )
}
"""Every model the command line knows, by name."""
