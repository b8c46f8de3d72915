# SPDX-License-Identifier: MIT
"""The experiment protocol: plan, run with a journal, rows that cannot exist without provenance."""
