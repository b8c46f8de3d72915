# SPDX-License-Identifier: MIT
"""Amdahl's law: a share of the work is serial.

    X(N) = lambda N / (1 + sigma (N - 1))

lambda is the rate of one thread, sigma the share of its work that only one thread at a time can
do. X rises with N to lambda / sigma and never falls. It is the Universal Scalability Law without
crosstalk, and the machine repairman at its worst: all threads come to the lock together, so each
waits for all the others, N/X = 1/lambda + (N - 1) s with s = sigma / lambda.

Sources: G. M. Amdahl, "Validity of the single processor approach ...", AFIPS Spring Joint
Computer Conference 1967; the queue: N. J. Gunther, "A General Theory of Computational Scalability
Based on Rational Functions", arXiv:0808.1431, 2008. Units: rates per second. Domain: N >= 1,
lambda > 0, 0 <= sigma <= 1.
"""

from collections.abc import Mapping

from lockscale.queueing.columns import FloatArray
from lockscale.queueing.laws.usl import USL
from lockscale.queueing.model import Law


def _rate_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return params["lambda_per_s"] * threads / (1 + params["sigma"] * (threads - 1))


AMDAHL = Law("amdahl", USL.parameters[:2], _rate_per_s, USL.box)
