# SPDX-License-Identifier: MIT
"""Queueing models of rate against thread count.

    model         what a model is, and columns of numbers from outside, checked
    points        a table: one point for each thread count, and whether repeats scatter alike at every one
    laws          the models, one family a file
    closed_chain  the exact solution of the closed networks that several of the laws are
    search        the best parameters of one table (gauss_newton); shared: of several columns at once
    fit, fitted   `fit_model`, and what it gives: parameters with intervals (interval), errors, predictions
    compare       `compare_models`: fits of one table, ranked; evidence: which the data cannot distinguish
    diagnosis     knee, ceiling, saturation and collapse of a fit

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
from lockscale.queueing.model import QueueingModel

MODELS: dict[str, QueueingModel] = {
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
