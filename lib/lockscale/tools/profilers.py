# SPDX-License-Identifier: MIT
"""One file per profiler: what turns it on, and how to read what it leaves."""
