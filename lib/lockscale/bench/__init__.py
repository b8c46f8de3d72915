# SPDX-License-Identifier: MIT
"""The simulator beside SimPy and Ciw: whether they agree, and how fast each is; fits and profiles."""
