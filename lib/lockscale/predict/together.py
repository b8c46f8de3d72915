# SPDX-License-Identifier: MIT
"""Whether function costs and rates are of one run, by Little's law: threads = rate x time of an operation.

A profiler makes operations slower, so that its times hold more threads than there are: tracing made the
creates of S1's own table 2.0 times as slow. Fewer threads than there are lie in the root where an
operation also takes time outside it.
"""

from lockscale.predict.observed import Profile

OUTSIDE = 1.5  # assumed at most: an operation's time over its root's
SLOWED = 3.0  # assumed at most: by how much a profiler stretches an operation


def not_together(seen: Profile, threads: int, rate_per_s: float) -> str:
    """Why the profile is not of these threads at this rate; empty where it may be, or has no times."""
    if not seen.costs:
        return ""
    avg_us = seen.costs[seen.root].avg_us
    held = rate_per_s * avg_us / 1e6
    if threads / OUTSIDE <= held <= threads * SLOWED:
        return ""
    return (
        f"profile and rates are not of one run: {seen.root} takes {avg_us:.4g} us, which at "
        f"{rate_per_s:,.0f} operations/s are {held:.1f} threads, not {threads} (Little's law)"
    )
