# SPDX-License-Identifier: MIT
"""The lock explorer: a setting, what the simulator says of it, and a figure that follows the hand."""
