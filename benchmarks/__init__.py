# SPDX-License-Identifier: MIT
"""The simulator beside SimPy and Ciw: whether they agree, and how fast each is; fits, profiles and starts.

`make bench` runs all of it; SimPy and Ciw are development packages, which the library does not need.
"""
