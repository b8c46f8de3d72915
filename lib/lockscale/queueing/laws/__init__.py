# SPDX-License-Identifier: MIT
"""Rate against thread count, one model a file: formula, source, units, domain."""
