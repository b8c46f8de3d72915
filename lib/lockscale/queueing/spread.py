# SPDX-License-Identifier: MIT
"""Whether repeats scatter alike at every thread count, as a fit takes for granted.

One way analysis of variance of the distances from each thread count's median: M. B. Brown and A. B.
Forsythe, "Robust Tests for the Equality of Variances", J. American Statistical Association 69, 1974.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc

from lockscale.queueing.columns import FloatArray

FEWEST = 3
"""Repeats that a thread count needs to say how it scatters."""
LEVEL = 0.01  # of a table with even noise, one in a hundred is warned of


def uneven_spread(threads: FloatArray, place: npt.NDArray[np.intp], deviations: FloatArray) -> str:
    """A sentence where the test finds it, or nothing.

    threads: shape (n,). place: of each row, in threads. deviations of ln(rate) from the mean there, in
    standard deviations of one run up to a factor; both (rows,).
    """
    rows = np.bincount(place, minlength=len(threads))
    kept = rows[place] >= FEWEST
    used = np.flatnonzero(rows >= FEWEST)
    if len(used) < 2:
        return ""
    order = np.lexsort((deviations[kept], place[kept]))
    value, group = deviations[kept][order], np.searchsorted(used, place[kept][order])
    count = rows[used]
    first = np.cumsum(count) - count
    median = (value[first + (count - 1) // 2] + value[first + count // 2]) / 2
    p = _p_equal_means(np.abs(value - median[group]), group, count)
    if p >= LEVEL:
        return ""
    spread = np.sqrt(np.bincount(group, value**2) / (count - 1))
    most, least = spread.argmax(), spread.argmin()
    return (
        f"Repeats scatter unevenly (Brown-Forsythe p = {p:.2g}): {100 * spread[most]:.2g}% at N = "
        f"{threads[used[most]]:g}, {100 * spread[least]:.2g}% at N = {threads[used[least]]:g}; every "
        "interval is for their mean, too narrow where they scatter most and too wide where least."
    )


def _p_equal_means(values: FloatArray, group: npt.NDArray[np.intp], count: npt.NDArray[np.intp]) -> float:
    means = np.bincount(group, values) / count
    between = float(np.sum(count * (means - values.mean()) ** 2)) / (len(count) - 1)
    freedom = len(values) - len(count)
    within = float(np.sum((values - means[group]) ** 2)) / freedom
    return float(fdtrc(len(count) - 1, freedom, between / within)) if within > 0 else 1.0
