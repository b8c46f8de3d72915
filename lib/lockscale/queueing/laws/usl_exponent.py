# SPDX-License-Identifier: MIT
"""USL with an exponent: contention grows as a power of the other threads.

    X(N) = lambda N / (1 + sigma (N - 1)^b)

lambda is the rate of one thread and sigma the extra time that a second thread costs, as a share
of an operation. b says how fast more threads add to it: b = 1 is Amdahl's law (they queue for one
lock), b = 2 is close to the USL's crosstalk (they also disturb each other in pairs), b < 1 means that
they spread over more locks as they become more. Unlike the USL's, sigma may exceed 1: the first
other thread also takes the cache lines away. For b > 1 the rate has its maximum where
sigma (N-1)^(b-1) (b N - N + 1) = 1; for b <= 1 it does not fall.

An empirical law: b stands for no mechanism of its own. Units: rates per second. Domain: N >= 1,
lambda > 0, sigma >= 0, 0 <= b <= 4.
"""

from collections.abc import Mapping

import numpy as np

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.model import Box, Law, Parameter


def _rate_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    # 0^b would be 1 for b = 0: one thread has no others whatever b
    others = np.where(threads > 1, (threads - 1) ** params["b"], 0.0)
    return params["lambda_per_s"] * threads / (1 + params["sigma"] * others)


def _search_box(threads: FloatArray, rates: FloatArray) -> Box:
    floor = float(np.max(rates / threads))
    return {
        "lambda_per_s": (0.5 * floor, 2 * floor * float(threads.min())),
        "sigma": (1e-3, 10.0),
        "b": (0.2, 3.0),
    }


USL_EXPONENT = Law(
    "usl_exponent",
    (
        Parameter("lambda_per_s", "1/s", positive=True),
        Parameter("sigma", "1"),
        Parameter("b", "1", high=4.0),
    ),
    _rate_per_s,
    _search_box,
)
