# SPDX-License-Identifier: MIT
"""What tables say about themselves, recomputed: the published ones, and files of the user's own."""

from collections.abc import Iterable

import pandas as pd

from lockscale.studies.registry import studies
from lockscale.study.tables import StudyTable, own_claims
from lockscale.tables import AuditRow, describe, list_tables
from lockscale.tables.audit_file import audit_file, own_path


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
    claims = {table: check for one in studies() for table, check in one.claims.items()}
    return [row for table in names for row in claims[table]()]


def audit_tables(tables: Iterable[StudyTable]) -> pd.DataFrame:
    """The claims of all tables, one a row, with the columns of AuditRow; maybe none.

    Of a file that prints no change in % there are none.
    """
    found = [audit(one.name) if one.path is None else own_claims(one.path) for one in tables]
    return pd.DataFrame([row for rows in found for row in rows], columns=list(AuditRow.__annotations__))
