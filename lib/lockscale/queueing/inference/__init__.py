# SPDX-License-Identifier: MIT
"""Fit a model to a table of rates: parameters with intervals, errors, predictions."""
