# SPDX-License-Identifier: MIT
"""What load generators and profilers print, read into rows: one file a tool."""
