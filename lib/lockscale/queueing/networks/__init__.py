# SPDX-License-Identifier: MIT
"""Closed networks of queues, solved exactly or within bounds."""
