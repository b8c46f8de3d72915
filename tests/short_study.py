# SPDX-License-Identifier: MIT
"""The short runs of the pipeline that tests share: counted in QEMU or on a server, and in virtual time."""

# The shortest run that still has an A/A pair, two interleaved blocks and a storm to see.
SHORT = {
    "guests": [{"cpus": 4, "processes": [1, 8]}],
    "operations_per_point": 1200,
    "iterations": 2,
    "replications": 2,
    "simulated_threads": [1, 8, 48],
}
SHORT_IN_VIRTUAL_TIME = {
    **SHORT,
    "guests": [{"cpus": 8, "processes": [1, 8]}],
    "operations_per_point": 800,
}
