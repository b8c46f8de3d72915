# SPDX-License-Identifier: MIT
"""One line of the audit, and the ways a claim is judged."""

from typing import Literal, TypedDict

from lockscale.tables.datapackage import describe
from lockscale.tables.intervals import Interval

Verdict = Literal["holds", "fails", "unknown"]
NAMED = 6  # a longer list is not read


class AuditRow(TypedDict):
    """`printed`, `recomputed`, `low` and `high` are in `unit`; None where there is no such number.

    holds: the tables agree with the claim; fails: they contradict it; unknown: they cannot tell.
    `note` says what low and high are, and where the claim is not the source's own; `searched` names the
    source that does not state what is missing.
    """

    table: str
    claim: str
    printed: float | None
    recomputed: float | None
    low: float | None
    high: float | None
    unit: str
    verdict: Verdict
    note: str
    searched: str | None


def row(
    table: str,
    claim: str,
    printed: float | None,
    found: Interval | float | None,
    unit: str,
    verdict: Verdict,
    note: str,
) -> AuditRow:
    """An audit line; `found` is a bare number where there is no interval, None where there is nothing."""
    value, low, high = found if isinstance(found, Interval) else (found, None, None)
    return AuditRow(
        table=table,
        claim=claim,
        printed=printed,
        recomputed=value,
        low=low,
        high=high,
        unit=unit,
        verdict=verdict,
        note=note,
        searched=None,
    )


def judged(agrees: bool) -> Verdict:
    """The verdict of a claim that the tables do decide."""
    return "holds" if agrees else "fails"


def exceeds(table: str, claim: str, bound: float, found: Interval, unit: str, note: str) -> AuditRow:
    """A claim that something is more than `bound`; unknown while the 95% interval straddles it."""
    if found.low <= bound <= found.high:
        note = f"{note}; the interval straddles {bound:g}, so these repeats cannot tell"
        return row(table, claim, bound, found, unit, "unknown", note)
    return row(table, claim, bound, found, unit, judged(found.low > bound), note)


def equals(table: str, claim: str, printed: float, found: Interval, unit: str, note: str) -> AuditRow:
    """A claim of one number; it holds if the interval of what was recomputed contains it."""
    return row(table, claim, printed, found, unit, judged(found.low <= printed <= found.high), note)


def tally(table: str, claim: str, passed: dict[str, bool], unit: str, note: str = "") -> AuditRow:
    """One claim about many numbers: how many there are, how many obey; the note names the first others."""
    broken = [name for name, ok in passed.items() if not ok]
    if broken:
        more = [f"and {len(broken) - NAMED} more"] if len(broken) > NAMED else []
        note = "; ".join(["not " + ", ".join(broken[:NAMED] + more), *filter(None, [note])])
    obey = float(len(passed) - len(broken))
    return row(table, claim, float(len(passed)), obey, unit, judged(not broken), note)


def undecided(line: AuditRow, missing: str) -> AuditRow:
    """The line as unknown, because its table's source does not state what is missing."""
    source = describe(line["table"])["source"]
    note = "; ".join([f"the source does not state {missing}", *filter(None, [line["note"]])])
    return {**line, "verdict": "unknown", "note": note, "searched": source}
