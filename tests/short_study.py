# SPDX-License-Identifier: MIT
"""The one short run of the whole pipeline that tests share, in a guest and on a server."""

# The shortest run that still has an A/A pair, two interleaved blocks and a storm to see.
SHORT = {
    "guests": [{"cpus": 4, "processes": [1, 8]}],
    "operations_per_point": 1200,
    "iterations": 2,
    "replications": 2,
    "simulated_threads": [1, 8, 48],
}
