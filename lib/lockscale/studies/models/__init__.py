# SPDX-License-Identifier: MIT
"""Models that answer one study's question, and are none of the simulator's own."""
