# SPDX-License-Identifier: MIT
"""The latencies of one phase of fsload: a histogram with fixed logarithmic bins, and its percentiles."""

from lockscale.errors import BadInput
from lockscale.workloads.fsload_json import Line, disagree, field

BINS_PER_OCTAVE = 64  # lib/fsload/histogram.h; below 2 x 64 ns a bin is one nanosecond wide
RELATIVE_ERROR = 1 / (2 * BINS_PER_OCTAVE)
LARGEST_NS = (1 << 41) - 1  # what is longer counts in the last bin
_PER_MILLE = {"p50": 500, "p90": 900, "p99": 990, "p99.9": 999}

Bins = list[tuple[int, int]]


def percentiles(line: Line, count: int, worker_max_ns: list[int]) -> dict[str, int]:
    """p50, p90, p99, p99.9 and max in ns of a line of latencies.

    A percentile is that of the nearest rank, as the middle of its bin: within `RELATIVE_ERROR` of the
    latency itself. max is exact. BadInput where they, the `count` items of the phase, the bins and the
    workers' own maxima do not agree.
    """
    bins = _bins(line)
    if field(line, "count", int) != count or sum(n for _, n in bins) != count:
        disagree("the latencies' counts")
    maximum = field(line, "max_ns", int)
    low = bins[-1][0]
    if maximum != max(worker_max_ns) or not low <= min(maximum, LARGEST_NS) < low + _width(low):
        disagree("max_ns")
    found = {name: min(_percentile(bins, count, part), maximum) for name, part in _PER_MILLE.items()}
    for name, expected in found.items():
        if field(line, f"{name}_ns", int) != expected:
            disagree(f"{name}_ns")
    return {**found, "max": maximum}


def _bins(line: Line) -> Bins:
    """(least latency in ns, how many) of each bin that is not empty, by latency."""
    bins: Bins = []
    for pair in field(line, "bins", list):
        if not (isinstance(pair, list) and [type(x) for x in pair] == [int, int]):
            raise BadInput("fsload's output has a bin of latencies that is not two numbers")
        low, count = pair
        if low < 0 or low % _width(low) or count < 1 or (bins and low <= bins[-1][0]):
            disagree("the bins of latencies")
        bins.append((low, count))
    if not bins:
        disagree("the bins of latencies")
    return bins


def _width(low_ns: int) -> int:
    return 1 << max((low_ns // BINS_PER_OCTAVE).bit_length() - 1, 0)


def _percentile(bins: Bins, count: int, per_mille: int) -> int:
    left = (count * per_mille + 999) // 1000
    for low, here in bins:
        left -= here
        if left <= 0:
            return low + _width(low) // 2
    raise AssertionError("the bins hold fewer latencies than were counted")
