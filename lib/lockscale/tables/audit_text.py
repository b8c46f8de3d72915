# SPDX-License-Identifier: MIT
"""The audit for a person at a terminal: a block a table, at most 100 columns wide."""

import textwrap
from collections import Counter
from collections.abc import Iterable
from itertools import groupby

from lockscale.tables.claim import AuditRow

WIDTH = 100
_CLAIM = 40
_LINE = "{:<7}  {:<40}  {:>8}  {:>10}  {:>16}  {}"
_HEAD = _LINE.format("verdict", "claim", "printed", "recomputed", "low .. high", "unit").rstrip()


def audit_text(rows: Iterable[AuditRow]) -> str:
    """Verdict, claim and numbers of each row, its note below; then how many hold, fail, are unknown."""
    rows = list(rows)
    if not rows:
        return "no claims"
    blocks = [_block(table, list(lines)) for table, lines in groupby(rows, key=lambda row: row["table"])]
    count = Counter(row["verdict"] for row in rows)
    return "\n\n".join([*blocks, ", ".join(f"{count[v]} {v}" for v in ("holds", "fails", "unknown"))])


def _block(table: str, rows: list[AuditRow]) -> str:
    searched = dict.fromkeys(row["searched"] for row in rows if row["searched"])
    parts = [table, _HEAD, *(_lines(row) for row in rows)]
    parts += [textwrap.fill(f"Searched for what is not stated: {source}", WIDTH) for source in searched]
    return "\n".join(parts)


def _lines(row: AuditRow) -> str:
    claim, *more = textwrap.wrap(row["claim"], _CLAIM, break_on_hyphens=False)
    ends = "-" if row["low"] is None else f"{_number(row['low'])} .. {_number(row['high'])}"
    cells = (row["verdict"], claim, _number(row["printed"]), _number(row["recomputed"]), ends, row["unit"])
    first = _LINE.format(*cells).rstrip()
    note = textwrap.wrap(
        row["note"], WIDTH - 13, initial_indent=" " * 13, subsequent_indent=" " * 13, break_on_hyphens=False
    )
    return "\n".join([first, *(" " * 9 + part for part in more), *note])


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
