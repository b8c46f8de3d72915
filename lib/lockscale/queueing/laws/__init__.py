# SPDX-License-Identifier: MIT
"""Rates per second against thread count, one family of models a file: formula and source.

Units and bounds stand in each law's parameters, whose names end in the unit. Domain of all: whole N >= 1, and
not every time 0.
"""
