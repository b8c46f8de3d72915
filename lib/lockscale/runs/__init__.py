# SPDX-License-Identifier: MIT
"""The runs on this machine and in data/measured, to look through: which there are, and two side by side."""

from lockscale.runs.browser import browse_runs
from lockscale.runs.comparison import compare_runs, side_by_side, what_differs
from lockscale.runs.listed import batches_table, runs_table

__all__ = ["batches_table", "browse_runs", "compare_runs", "runs_table", "side_by_side", "what_differs"]
