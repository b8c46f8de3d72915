# SPDX-License-Identifier: MIT
"""The Universal Scalability Law and its kin: Amdahl's law, with a spill-over, with an exponent.

Rate against thread count as one fraction; below each law stands what it claims.
"""

from collections.abc import Mapping

import numpy as np

from lockscale.queueing.model import Box, FloatArray, Law, LawParameter


def _usl_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    others = threads - 1
    contention = params["sigma"] * others
    coherency = params["kappa"] * threads * others
    return params["lambda_per_s"] * threads / (1 + contention + coherency)


def _usl_box(threads: FloatArray, rates: FloatArray) -> Box:
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
        LawParameter("lambda_per_s", "1/s", positive=True),
        LawParameter("sigma", "1", high=1.0),
        LawParameter("kappa", "1", high=1.0),
    ),
    _usl_per_s,
    _usl_box,
)
"""Universal Scalability Law.

    X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))

lambda is the rate of one thread, sigma the share of the work that is serial (queueing), kappa the
cost of keeping every pair of threads coherent (crosstalk). kappa = 0 is Amdahl's law; with
kappa > 0 the rate has its maximum at N = sqrt((1 - sigma) / kappa) and falls after it.

Source: N. J. Gunther, "Guerrilla Capacity Planning", Springer 2007, chapter 4, with lambda for
the rate at one thread.
"""


def _exponent_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    # 0^b would be 1 for b = 0: one thread has no others whatever b
    others = np.where(threads > 1, (threads - 1) ** params["b"], 0.0)
    return params["lambda_per_s"] * threads / (1 + params["sigma"] * others)


def _exponent_box(threads: FloatArray, rates: FloatArray) -> Box:
    return {**USL.box(threads, rates), "sigma": (1e-3, 10.0), "b": (0.2, 3.0)}


USL_EXPONENT = Law(
    "usl_exponent",
    (USL.parameters[0], LawParameter("sigma", "1"), LawParameter("b", "1", high=4.0)),
    _exponent_per_s,
    _exponent_box,
)
"""USL with an exponent: contention grows as a power of the other threads.

    X(N) = lambda N / (1 + sigma (N - 1)^b)

lambda is the rate of one thread and sigma the extra time that a second thread costs, as a share
of an operation. b says how fast more threads add to it: b = 1 is Amdahl's law (they queue for one
lock), b = 2 is close to the USL's crosstalk (they also disturb each other in pairs), b < 1 means that
they spread over more locks as they become more. Unlike the USL's, sigma may exceed 1: the first
other thread also takes the cache lines away. For b > 1 the rate has its maximum where
sigma (N-1)^(b-1) (b N - N + 1) = 1; for b <= 1 it falls only where sigma > 1.

An empirical law: b stands for no mechanism of its own.
"""


def _amdahl_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return params["lambda_per_s"] * threads / (1 + params["sigma"] * (threads - 1))


AMDAHL = Law("amdahl", USL.parameters[:2], _amdahl_per_s, USL.box)
"""Amdahl's law: a share of the work is serial.

    X(N) = lambda N / (1 + sigma (N - 1))

lambda is the rate of one thread, sigma the share of its work that only one thread at a time can
do. X rises with N to lambda / sigma and never falls. It is the Universal Scalability Law without
crosstalk, and the machine repairman at its worst: all threads come to the lock together, so each
waits for all the others, N/X = 1/lambda + (N - 1) s with s = sigma / lambda.

Sources: G. M. Amdahl, "Validity of the single processor approach ...", AFIPS Spring Joint
Computer Conference 1967; the queue: N. J. Gunther, "A General Theory of Computational Scalability
Based on Rational Functions", arXiv:0808.1431, 2008.
"""


def _spill_per_s(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    beyond = np.maximum(threads - params["M_threads"], 0)
    waits = params["sigma"] * (threads - 1) + params["rho"] * beyond
    return params["lambda_per_s"] * threads / (1 + waits)


def _spill_box(threads: FloatArray, rates: FloatArray) -> Box:
    return {
        **USL.box(threads, rates),
        "rho": (1e-3, 1.0),
        "M_threads": (1.0, max(2.0, float(threads.max()))),
    }


AMDAHL_SPILL = Law(
    "amdahl_spill",
    (*USL.parameters[:2], LawParameter("rho", "1"), LawParameter("M_threads", "1", low=1.0, positive=True)),
    _spill_per_s,
    _spill_box,
)
"""Amdahl's law on a machine in parts: threads beyond M spill over and cost more.

    X(N) = lambda N / (1 + sigma (N - 1) + rho max(N - M, 0))

Up to M threads it is Amdahl's law: each of the others adds sigma of an operation to the wait. A
thread beyond M adds sigma + rho, because the lock then also passes between parts of the machine
(clusters, sockets) and that hand-over is longer. The rate may have a maximum at M, where it
has a kink, and goes to lambda / (sigma + rho) for many threads.

Derived here from Amdahl's law as a queue (see `AMDAHL`): N/X = 1/lambda plus one hand-over for each
other thread. M is where the curve bends; it is not read from the machine's topology. A table tells
all four apart only if it has two thread counts up to M and two beyond it; else a range of M with
its own sigma fits alike.
"""
