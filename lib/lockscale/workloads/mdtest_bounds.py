# SPDX-License-Identifier: MIT
"""Whether the statistics that mdtest prints can belong to each other.

Each is printed to three decimals, so a change that moves the others by less cannot be seen.
"""

import math

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
