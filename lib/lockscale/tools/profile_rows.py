# SPDX-License-Identifier: MIT
"""Long-form rows of a profile, as `lockscale parse` prints them."""

from collections.abc import Sequence

from lockscale.tools.lock_profile import Entry, LockProfile, chosen
from lockscale.tools.parsed_rows import NOT_STATED, Number, Parsed, ParsedRow, rows_of


def rows_of_profile(tool: str, profiles: Sequence[LockProfile], table: str | int | None = None) -> Parsed:
    """Rows of the one profile, or of the one that `table` names; BadInput that lists them else."""
    one = chosen(profiles, table)
    return Parsed(tool, NOT_STATED, tuple(row for entry in one.entries for row in _rows(entry)), one.warnings)


def _rows(entry: Entry) -> list[ParsedRow]:
    name = " < ".join((entry.name, *(entry.callers or ())))
    numbers = [
        ("samples", entry.counts or "", "%", entry.share_pct),
        ("contentions", "total", "events", entry.contentions),
        ("wait", "total", "ns", entry.wait_ns),
        ("wait", "mean", "ns", entry.mean_ns),
        ("wait", "max", "ns", entry.max_ns),
        ("acquisitions", "total", "events", entry.acquisitions),
        ("hold", "total", "ns", entry.hold_ns),
    ]
    return rows_of(
        name, *(Number(of, who, unit, value) for of, who, unit, value in numbers if value is not None)
    )
