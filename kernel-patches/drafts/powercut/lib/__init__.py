# SPDX-License-Identifier: MIT
"""Power cuts: a write log of one load, cut anywhere, and what the files left must hold."""
