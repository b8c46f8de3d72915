# SPDX-License-Identifier: MIT
"""One line of the audit, and the ways a claim is judged."""

from typing import Literal, TypedDict

from lockscale.tables.datapackage import function_cost
from lockscale.tables.intervals import Interval

Verdict = Literal["holds", "fails", "unknown"]

# Half a unit of the last digit that perf-tools' funccost prints.
_HALF_AVG_US = 0.005
_HALF_TOTAL_US = 0.5


class AuditRow(TypedDict):
    """`printed`, `recomputed`, `low` and `high` are in `unit`; None where there is no such number.

    holds: the tables agree with the claim; fails: they contradict it; unknown: they cannot tell.
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
    """One claim about many numbers: how many there are, how many obey; the note names the rest."""
    broken = [name for name, ok in passed.items() if not ok]
    obey = float(len(passed) - len(broken))
    if broken:
        note = "; ".join(["not " + ", ".join(broken), *filter(None, [note])])
    found = Interval(obey, obey, obey)
    return row(table, claim, float(len(passed)), found, unit, judged(not broken), note)


def judged(agrees: bool) -> Verdict:
    """The verdict of a claim that the tables do decide."""
    return "holds" if agrees else "fails"


def row(
    table: str,
    claim: str,
    printed: float | None,
    found: Interval | None,
    unit: str,
    verdict: Verdict,
    note: str,
) -> AuditRow:
    """An audit line; `found` is None where nothing can be recomputed."""
    value, low, high = found or (None, None, None)
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
    )


def total_is_count_times_average(table: str) -> list[AuditRow]:
    """A function-cost table's own identity, within the two decimals of the printed average."""
    passed = {}
    for function, total_us, count, avg_us in function_cost(table).itertuples(index=False):
        slack_us = count * _HALF_AVG_US + _HALF_TOTAL_US
        passed[str(function)] = bool(abs(total_us - count * avg_us) <= slack_us)
    claim = "total time = count x average, to the digits printed"
    return [tally(table, claim, passed, "functions")]
