# SPDX-License-Identifier: MIT
"""What the published tables say about themselves, recomputed from the tables."""

from collections.abc import Callable

from lockscale.tables import group_trylock, inode_claim, orphan_file, write_access
from lockscale.tables.claim import AuditRow
from lockscale.tables.datapackage import describe, list_tables

_CLAIMS: dict[str, tuple[Callable[[], list[AuditRow]], ...]] = {
    **inode_claim.CLAIMS,
    **write_access.CLAIMS,
    **group_trylock.CLAIMS,
    **orphan_file.CLAIMS,
}


def audit(name: str | None = None) -> list[AuditRow]:
    """The claims of one published table, or of all, each recomputed; BadInput if it is unknown."""
    if name is not None:
        describe(name)
    names = list_tables() if name is None else [name]
    return [row for table in names for claim in _CLAIMS.get(table, ()) for row in claim()]
