# SPDX-License-Identifier: MIT
"""The published tables as data frames, and the audit of their arithmetic."""

from lockscale.tables.audit_text import audit_text
from lockscale.tables.auditing import audit
from lockscale.tables.claim import AuditRow
from lockscale.tables.datapackage import describe, function_cost, list_tables, published

__all__ = ["AuditRow", "audit", "audit_text", "describe", "function_cost", "list_tables", "published"]
