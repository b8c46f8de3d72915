# SPDX-License-Identifier: MIT
"""What the published tables say about themselves, recomputed from the tables."""

from collections.abc import Callable

from lockscale.tables import group_trylock, inode_claim, orphan_file, write_access
from lockscale.tables.audit_file import audit_file, own_path
from lockscale.tables.claim import AuditRow
from lockscale.tables.datapackage import describe, list_tables

_CLAIMS: dict[str, Callable[[], list[AuditRow]]] = {
    **inode_claim.CLAIMS,
    **write_access.CLAIMS,
    **group_trylock.CLAIMS,
    **orphan_file.CLAIMS,
}


def audit(name: str | None = None) -> list[AuditRow]:
    """The claims of one published table, or of all, each recomputed.

    The path of a CSV file of one's own: its arithmetic only. A claim that fails is a row, not an error.
    BadInput for a table that is unknown or a file that cannot be checked.
    """
    if name is not None and (path := own_path(name)):
        return audit_file(path)
    if name is not None:
        describe(name)
    names = list_tables() if name is None else [name]
    return [row for table in names for row in _CLAIMS[table]()]
