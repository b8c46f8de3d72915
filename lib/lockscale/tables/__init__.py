# SPDX-License-Identifier: MIT
"""The published tables as data frames, and how what they claim is recomputed."""

from lockscale.tables.audit_file import audit_text
from lockscale.tables.claim import AuditRow
from lockscale.tables.datapackage import describe, function_cost, list_tables, published

__all__ = ["AuditRow", "audit_text", "describe", "function_cost", "list_tables", "published"]
