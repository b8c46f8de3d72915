# SPDX-License-Identifier: MIT
"""What a profiler costs: the load's rate without it and with it, in pairs taken one after the other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput

LEVEL = 0.95


@dataclass(frozen=True)
class Overhead:
    """Rate lost with the profiler on, in percent of the rate without it; negative: it was faster.

    `level` is what the interval from low to high covers.
    """

    percent: float
    low: float
    high: float
    level: float
    pairs: int


def overhead(without: Sequence[float], with_it: Sequence[float]) -> Overhead:
    """The overhead over pairs of rates in one unit: without[k] and with_it[k] were taken side by side.

    The pairs' logarithmic ratios are taken as symmetric around one value, no more: the interval inverts
    the exact signed rank test, its ends are the c-th Walsh averages from either end with the largest c
    that covers 95%, and the estimate is the median of them (Hollander and Wolfe, Nonparametric
    Statistical Methods, 3.2 and 3.3). With fewer than six pairs it takes the extremes, and `level`
    says what they cover: 75% with three pairs. BadInput for fewer than two pairs and for no rate.
    """
    before, after = np.asarray(without, float), np.asarray(with_it, float)
    if before.shape != after.shape or before.size < 2:
        raise BadInput("a profiler's overhead needs two pairs of rates: raise the number of iterations")
    if not (np.isfinite([before, after]).all() and (before > 0).all() and (after > 0).all()):
        raise BadInput("a profiler's overhead needs rates that are above zero")
    ratios = np.log(after / before)
    first, second = np.triu_indices(ratios.size)
    walsh = np.sort((ratios[first] + ratios[second]) / 2)
    outside = 2 * _below(ratios.size)
    c = max(1, int(np.count_nonzero(outside <= 1 - LEVEL)))
    return Overhead(
        percent=_lost_pct(float(np.median(walsh))),
        low=_lost_pct(float(walsh[-c])),
        high=_lost_pct(float(walsh[c - 1])),
        level=float(1 - outside[c - 1]),
        pairs=int(ratios.size),
    )


def _lost_pct(log_ratio: float) -> float:
    return -100 * math.expm1(log_ratio)


def _below(n: int) -> npt.NDArray[np.float64]:
    """P(T < c) for c = 1 .. n (n + 1) / 2 of the signed rank statistic T under no difference.

    Of the 2^n sets of ranks, counts[t] sum to t: each rank is in or out.
    """
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1
    for rank in range(1, n + 1):
        counts[rank:] += counts[:-rank].copy()
    shares: npt.NDArray[np.float64] = np.cumsum(counts[:-1]) / 2.0**n
    return shares
