# SPDX-License-Identifier: MIT
"""S3, Baokun Li's block allocation patches: what the fallocate2 table claims.

Whether a percentage was rounded or cut off is a matter of its last digit: exact fractions decide.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from lockscale.tables.claim import AuditRow, judged, row, tally
from lockscale.tables.datapackage import printed_points
from lockscale.tables.intervals import Interval

TABLE = "s3_fallocate2"
_HALF = Fraction(1, 2)  # a rate is printed in whole ops/s: the number behind it is this near


class _Change(NamedTuple):
    """Size of a printed change in %, its last digit, and the size its two rates give."""

    label: str
    sign: int
    printed: Fraction
    last_digit: Fraction
    found: Fraction
    low: Fraction
    high: Fraction

    def follows(self, start: Fraction) -> bool:
        """Whether the rates as printed give start <= size < start + last digit."""
        return start <= self.found < start + self.last_digit

    def could_follow(self, start: Fraction) -> bool:
        """The same for some rates that print as published."""
        return self.low < start + self.last_digit and self.high >= start


def _changes() -> list[_Change]:
    rates = {at: Fraction(x) for at, x in printed_points(TABLE, "mean_per_container").items()}
    texts = printed_points(TABLE, "vs_base").items()
    return [_change(f"{arm} at {n}", text, rates["wait-group", n], rates[arm, n]) for (arm, n), text in texts]


def _change(label: str, text: str, base: Fraction, rate: Fraction) -> _Change:
    sign, digits = (-1 if text.startswith("-") else 1), text.strip("-%")
    found, *ends = (
        sign * 100 * ((rate + shift) / (base - shift) - 1) for shift in (Fraction(0), -_HALF, _HALF)
    )
    last_digit = Fraction(1, 10 ** len(digits.partition(".")[2]))
    return _Change(label, sign, Fraction(digits), last_digit, found, min(ends), max(ends))


def aggregate_is_lower() -> list[AuditRow]:
    """The letter: 'much lower aggregate fallocate OPS compared to a single container'."""
    points = printed_points(TABLE, "mean_per_container").items()
    base = {n: float(text) for (arm, n), text in points if arm == "wait-group"}
    ratios = [n * rate / base[1] for n, rate in base.items() if n > 1]
    found = Interval(ratios[-1], min(ratios), max(ratios))
    claim = "base: aggregate ops/s on many containers are below those on one"
    note = (
        f"at {max(base)} containers, with the extremes over all counts. The letter calls these "
        "numbers aggregate in its text and per container above its table, as they are read here; "
        f"as aggregates the ratio would be {base[max(base)] / base[1]:.3f}"
    )
    return [row(TABLE, claim, None, found, "x", judged(found.high < 1), note)]


def each_change_is_cut_off() -> list[AuditRow]:
    """Every percentage against its two rates, which are known to half an operation a second."""
    return [_cut_off(change) for change in _changes()]


def _cut_off(change: _Change) -> AuditRow:
    low, high = sorted(change.sign * float(end) for end in (change.low, change.high))
    found = Interval(change.sign * float(change.found), low, high)
    claim = f"{change.label}: change over base, cut off after its last digit"
    verdict = judged(change.could_follow(change.printed))
    note = "" if change.follows(change.printed) else "only from rates finer than printed"
    return row(TABLE, claim, change.sign * float(change.printed), found, "%", verdict, note)


def changes_follow_from_printed_rates() -> list[AuditRow]:
    """Cutting off what the printed whole rates give."""
    passed = {change.label: change.follows(change.printed) for change in _changes()}
    return [tally(TABLE, "every change is cut off, from the rates as printed", passed, "changes")]


def changes_are_rounded() -> list[AuditRow]:
    """The usual reading of a printed percentage, granted rates finer than printed."""
    passed = {c.label: c.could_follow(c.printed - c.last_digit / 2) for c in _changes()}
    return [tally(TABLE, "every change is rounded, from finer rates", passed, "changes")]


CLAIMS: dict[str, tuple[Callable[[], list[AuditRow]], ...]] = {
    TABLE: (
        aggregate_is_lower,
        each_change_is_cut_off,
        changes_follow_from_printed_rates,
        changes_are_rounded,
    ),
}
