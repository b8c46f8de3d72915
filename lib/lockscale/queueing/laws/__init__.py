# SPDX-License-Identifier: MIT
"""Rate against thread count, one family of models a file: formula, source, units, domain."""
