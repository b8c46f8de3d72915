# SPDX-License-Identifier: MIT
"""The simulator beside SimPy and Ciw: the same model in each, whether they agree, and how fast each is."""
