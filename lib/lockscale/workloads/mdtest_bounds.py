# SPDX-License-Identifier: MIT
"""Whether the statistics that mdtest prints can belong to each other.

Each is printed to three decimals, so a change that moves the others by less cannot be seen.
"""

import math
from collections.abc import Sequence

_HALF = 0.0005  # what rounding to three decimals moves a number by, at most


def is_mean_of(n: int, most: float, least: float, mean: float) -> bool:
    """Whether n values with this maximum, minimum and mean can exist."""
    if n == 1:
        return most == least == mean
    rest, slack = n * mean - most - least, 2 * n * _HALF + 1e-12 * n * most
    return (n - 2) * least - slack <= rest <= (n - 2) * most + slack and least - slack <= mean <= most + slack


def is_summary_of(n: int, most: float, least: float, mean: float, sd: float, *, sample_sd: bool) -> bool:
    """Whether n values with this max, min, mean and standard deviation can exist.

    The bounds on the sum of squares: the other n - 2 values all equal (least), and Bhatia and
    Davis's n (max - mean)(mean - min) (most); for n <= 3 the two meet. The least is the square of
    the vector (max - mean, min - mean, the rest): rounding moves its length by at most `slack`.
    """
    if not is_mean_of(n, most, least, mean):
        return False
    if n == 1:
        return sd == 0
    others = (2 * mean - most - least) / math.sqrt(n - 2) if n > 2 else 0.0
    lowest = math.hypot(most - mean, least - mean, others)
    slack = _HALF * math.sqrt(8 + (16 / (n - 2) if n > 2 else 0)) + 1e-12 * most
    highest = lowest + slack
    if n > 3:
        highest = math.sqrt(n * max(most - mean + 2 * _HALF, 0.0) * max(mean - least + 2 * _HALF, 0.0))
    root = math.sqrt(n - 1 if sample_sd else n)
    return (lowest - slack) / root - _HALF <= sd <= highest / root + _HALF + 1e-12 * most


def mean_fits_inverses(
    n: int, amount: float, stats: Sequence[float], mean: float, *, sample_sd: bool
) -> bool:
    """Whether `mean` can be the mean of amount / x over the n values x of which `stats` are printed.

    stats: max, min, mean and standard deviation of x. The mean of 1 / x under a given mean and variance
    is greatest for two values of which one is the minimum, and least where one is the maximum (Markov
    and Krein's bounds for moments: the third derivative of 1 / x is negative).
    """
    most, least, middle, sd = stats
    unbiased = math.sqrt((n - 1) / n) if sample_sd else 1.0
    low = _mean_inverse(middle + _HALF, (unbiased * max(sd - _HALF, 0.0)) ** 2, most + 2 * _HALF)
    if amount * low > (mean + _HALF) * (1 + 1e-9):
        return False
    if least <= 2 * _HALF:  # it may be next to nothing, and its inverse anything
        return True
    high = _mean_inverse(middle - _HALF, (unbiased * (sd + _HALF)) ** 2, least - 2 * _HALF)
    return (mean - _HALF) * (1 - 1e-9) <= amount * high


def _mean_inverse(middle: float, variance: float, end: float) -> float:
    """The mean of 1 / x where x is `end` or one other value, with this mean and variance."""
    away = middle - end
    other = middle + variance / away
    if other <= 0:  # there is no such pair: rounded off
        return 1 / middle
    share = variance / (variance + away**2)
    return share / end + (1 - share) / other
