# SPDX-License-Identifier: MIT
"""Figures, text tables and changelog text: what a reader of the study sees."""
