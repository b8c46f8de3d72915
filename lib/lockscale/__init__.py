# SPDX-License-Identifier: MIT
"""From a lock-contention profile of a Linux file system to a proven kernel patch."""

__version__ = "0.1.0"
