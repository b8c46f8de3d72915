# SPDX-License-Identifier: MIT
"""Queueing models against a whole table: published, or a CSV file of one's own."""

from lockscale.fitting.table_fit import compare, fit

__all__ = ["compare", "fit"]
