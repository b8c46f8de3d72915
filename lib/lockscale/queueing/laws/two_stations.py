# SPDX-License-Identifier: MIT
"""Two stations: the machine repairman with a second queue behind the bottleneck.

The closed network of N threads, work on their own of mean Z, and the two queues that a table of
rates can still tell apart: a bottleneck s and a second queue ratio x s. Exact for exponential
service; solved by closed_chain.py, to which mean value analysis is equal.

Source: M. Reiser and S. S. Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks",
J. ACM 27(2), 1980. Units: Z_us and s_us in microseconds, rates per second. Domain: N whole >= 1,
Z >= 0, s >= 0, not both 0, ratio 0 to 1.
"""

from collections.abc import Mapping

import numpy as np

from lockscale.queueing.closed_chain import at_the_lock, closed_rate_per_us, in_series_us
from lockscale.queueing.columns import FloatArray
from lockscale.queueing.laws.machine_repairman import MACHINE_REPAIRMAN
from lockscale.queueing.model import Box, Law, Parameter


def _rate_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    bottleneck_us = params["s_us"] * np.ones_like(at_the_lock(threads))
    both_us = in_series_us(bottleneck_us, params["ratio"] * params["s_us"])
    return 1e6 * closed_rate_per_us(threads, params["Z_us"], both_us)


def _search_box(threads: FloatArray, rates: FloatArray) -> Box:
    return {**MACHINE_REPAIRMAN.box(threads, rates), "ratio": (0.01, 1.0)}


TWO_STATIONS = Law(
    "two_stations",
    (*MACHINE_REPAIRMAN.parameters, Parameter("ratio", "1", high=1.0)),
    _rate_per_s,
    _search_box,
)
