# SPDX-License-Identifier: MIT
"""Models that serve one study only."""
