# SPDX-License-Identifier: MIT
"""What a fitted curve says of the machine."""
