# SPDX-License-Identifier: MIT
"""Power cuts: the write log of one load, cut anywhere, and what the files that are left must hold."""
