# SPDX-License-Identifier: MIT
"""Long-form rows of profiles, as `lockscale parse` prints them."""

from collections.abc import Sequence
from dataclasses import replace

from lockscale.tools.lock_profile import Entry, LockProfile
from lockscale.tools.parsed_rows import NOT_STATED, Number, Parsed, ParsedRow, rows_of


def rows_of_profiles(tool: str, profiles: Sequence[LockProfile]) -> Parsed:
    """Rows of all of them; a row's `arm` is the table it is of, where there are several."""
    found: list[ParsedRow] = []
    for number, one in enumerate(profiles, 1):
        arm = f"{number} {one.title}".strip() if len(profiles) > 1 else None
        found += [row for entry in one.entries for row in _rows(entry, arm)]
    warnings = dict.fromkeys(warning for one in profiles for warning in one.warnings)
    return Parsed(tool, NOT_STATED, tuple(found), tuple(warnings))


def _rows(entry: Entry, arm: str | None) -> list[ParsedRow]:
    name = " < ".join((entry.name, *(entry.callers or ())))
    numbers: list[tuple[str, str, str, float | None]] = [
        ("samples", entry.counts or "", "%", entry.share_pct),
        ("contentions", "total", "events", entry.contentions),
        ("wait", "total", "ns", entry.wait_ns),
        ("wait", "mean", "ns", entry.mean_ns),
        ("wait", "max", "ns", entry.max_ns),
        ("acquisitions", "total", "events", entry.acquisitions),
        ("hold", "total", "ns", entry.hold_ns),
    ]
    known = [Number(metric, of, unit, value) for metric, of, unit, value in numbers if value is not None]
    return [replace(row, arm=arm) for row in rows_of(name, *known)]
