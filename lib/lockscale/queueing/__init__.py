# SPDX-License-Identifier: MIT
"""Queueing models of rate against thread count.

    columns, points   a table: numbers from outside, checked, then one point for each thread count
                      and whether repeats scatter alike at every one
    model             what a model is
    laws              the models, one family a file
    closed_chain      the exact solution of the closed networks that several of the laws are
    inference         any model fitted to a table: parameters with intervals, errors, predictions
    comparison        fits of one table, ranked, and which of them the data cannot tell apart
    diagnosis         knee, ceiling, saturation and collapse of a fit
    text              results as a person reads them

A model knows no fit, and a fit no model by name.
"""

from lockscale.queueing.laws.boyd_wickizer import (
    BOYD_WICKIZER,
    REPAIRMAN_SHARING,
    TWO_QUEUE,
    TWO_QUEUE_SHARING,
)
from lockscale.queueing.laws.machine_repairman import (
    HAND_OVER,
    IMPATIENT,
    IMPATIENT_SATURATED,
    MACHINE_REPAIRMAN,
    TWO_STATIONS,
)
from lockscale.queueing.laws.retry_storm import RETRY_STORM
from lockscale.queueing.laws.usl import AMDAHL, AMDAHL_SPILL, USL, USL_EXPONENT
from lockscale.queueing.model import Model

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
