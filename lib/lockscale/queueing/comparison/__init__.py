# SPDX-License-Identifier: MIT
"""Several fits of one table: ranked, and which of them the data cannot tell apart."""
