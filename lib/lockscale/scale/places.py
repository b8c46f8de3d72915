# SPDX-License-Identifier: MIT
"""Where the threads of a simulated point are: in which queue, moving which line, or searching on."""

from collections.abc import Mapping
from typing import Any, NamedTuple

SEARCHES = {"ext4_mb_scan_group": "try_ns"}
"""Steps that are repeated in vain, and the parameter that says what one costs."""


class Place(NamedTuple):
    """A lock waited for, a line waited for and moved, or a step repeated; the threads' share, 0 to 1."""

    name: str
    share: float


def most_of(point: Mapping[str, Any], operations: int) -> Place:
    """Where most are; `operations`: counted in the point. By Little's law, threads = rate x time a visit.

    Where fewer than a tenth of them are at one, they are at work.
    """
    per_ns = point["value"] / 1e9 / operations / point["threads"]
    shares = {
        name: one["acquisitions"] * (one["wait_ns_mean"] or 0.0) for name, one in point["locks"].items()
    }
    for name, one in point["lines"].items():
        shares[name] = one["operations"] * ((one["wait_ns_mean"] or 0.0) + (one["cost_ns_mean"] or 0.0))
    for name, cost in SEARCHES.items():
        looks = point["calls_per_op"].get(name, 0.0)
        shares[f"{name}, again"] = operations * max(looks - 1, 0.0) * point["parameters"].get(cost, 0.0)
    name = max(shares, key=lambda one: shares[one])
    share = per_ns * shares[name]
    return Place(name, share) if share >= 0.1 else Place("at work", 1 - per_ns * sum(shares.values()))
