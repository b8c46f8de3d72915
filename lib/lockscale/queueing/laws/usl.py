# SPDX-License-Identifier: MIT
"""Universal Scalability Law.

    X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))

lambda is the rate of one thread, sigma the share of the work that is serial (queueing), kappa the
cost of keeping every pair of threads coherent (crosstalk). kappa = 0 is Amdahl's law; with
kappa > 0 the rate has its maximum at N = sqrt((1 - sigma) / kappa) and falls after it.

Source: N. J. Gunther, "Guerrilla Capacity Planning", Springer 2007, chapter 4, with lambda for
the rate at one thread. Domain: N >= 1, lambda > 0, 0 <= sigma <= 1, 0 <= kappa <= 1.
"""

from collections.abc import Mapping

import numpy as np

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.model import Box, Law, Parameter


def _rate_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    others = threads - 1
    contention = params["sigma"] * others
    coherency = params["kappa"] * threads * others
    return params["lambda_per_s"] * threads / (1 + contention + coherency)


def _search_box(threads: FloatArray, rates: FloatArray) -> Box:
    # One thread is at least as fast as any thread among many.
    floor = float(np.max(rates / threads))
    return {
        "lambda_per_s": (0.5 * floor, 2 * floor * float(threads.min())),
        "sigma": (1e-4, 1.0),
        "kappa": (1e-3 / float(threads.max()) ** 2, min(1.0, 100 / float(threads.max()) ** 2)),
    }


USL = Law(
    "usl",
    (
        Parameter("lambda_per_s", "1/s", positive=True),
        Parameter("sigma", "1", high=1.0),
        Parameter("kappa", "1", high=1.0),
    ),
    _rate_per_s,
    _search_box,
)
