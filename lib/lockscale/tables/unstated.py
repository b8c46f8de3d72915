# SPDX-License-Identifier: MIT
"""What a source leaves out: claims that no published number can decide.

Each is looked for in the table itself, so a line goes when the number comes.
"""

from typing import NamedTuple

from lockscale.tables.claim import AuditRow, row, tally, undecided
from lockscale.tables.datapackage import describe, published

_PROVENANCE = ("machine", "kernel", "mkfs", "command")


class Gap(NamedTuple):
    """A claim and what would decide it: a column of the table, or one value in that column."""

    claim: str
    missing: str
    column: str
    value: str | None = None

    def is_open(self, table: str) -> bool:
        frame = published(table)
        if self.column not in frame:
            return True
        return self.value is not None and self.value not in set(frame[self.column])


def unstated(table: str, *gaps: Gap) -> list[AuditRow]:
    """A line for each claim that this table cannot decide, then whether the run can be repeated."""
    empty = [row(table, gap.claim, None, None, "", "unknown", "") for gap in gaps]
    undecidable = [
        undecided(line, gap.missing) for gap, line in zip(gaps, empty, strict=True) if gap.is_open(table)
    ]
    return [*undecidable, provenance(table)]


def provenance(table: str) -> AuditRow:
    """Machine, kernel, mkfs line and command: which of them the source gives for this table."""
    about = describe(table)
    given = {key: about[key] is not None for key in _PROVENANCE}
    line = tally(table, f"the source states {', '.join(_PROVENANCE)}", given, "facts")
    missing = [key for key, stated in given.items() if not stated]
    if not missing:
        return line
    line["note"] = f"details: {about['stated']}".removesuffix(".")
    return undecided(line, ", ".join(missing))
