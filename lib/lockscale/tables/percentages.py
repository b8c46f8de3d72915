# SPDX-License-Identifier: MIT
"""Printed changes in percent against the two numbers they come from, in exact fractions.

Whether a percentage was rounded or cut off is a matter of its last digit, and the numbers behind the
table may have had more digits than it prints.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from lockscale.tables.claim import NAMED, AuditRow, tally

_HALF = Fraction(1, 2)
Digits = Callable[[Fraction], int]  # a number in units of its last digit -> what is printed of it


class PercentChange(NamedTuple):
    """A change in %: as printed, the unit of its last digit, and what its two numbers give.

    `found` is from the numbers as printed; any number that prints so gives one in low..high.
    """

    label: str
    printed: Fraction
    last_digit: Fraction
    found: Fraction
    low: Fraction
    high: Fraction

    def is_printed(self, digits: Digits) -> bool:
        """From the two numbers as printed."""
        return digits(self.found / self.last_digit) * self.last_digit == self.printed

    def could_be_printed(self, digits: Digits) -> bool:
        """From some two numbers that print as published; `digits` never decreases."""
        least, most = (digits(end / self.last_digit) * self.last_digit for end in (self.low, self.high))
        return least <= self.printed <= most

    def __str__(self) -> str:
        decimals = len(str(int(1 / self.last_digit))) - 1
        return (
            f"{self.label} (printed {float(self.printed):.{decimals}f}%, "
            f"found {float(self.found):.{decimals + 2}f}%)"
        )


def half_up(number: Fraction) -> int:
    """The nearest whole number; halves away from zero."""
    whole = math.floor(abs(number) + _HALF)
    return whole if number >= 0 else -whole


def change(label: str, text: str, base: str, changed: str) -> PercentChange:
    """The change `text` (as "-3.0%") from `base` to `changed`, all as printed; the base is positive."""
    (before, before_unit), (after, after_unit) = _read(base), _read(changed)
    printed, last_digit = _read(text)
    found, *ends = (
        100 * ((after + k * after_unit) / (before - k * before_unit) - 1)
        for k in (Fraction(0), -_HALF, _HALF)
    )
    return PercentChange(label, printed, last_digit, found, min(ends), max(ends))


def _read(text: str) -> tuple[Fraction, Fraction]:
    """A printed number and the unit of its last digit."""
    digits = text.strip("%").replace(",", "")
    return Fraction(digits), Fraction(1, 10 ** len(digits.partition(".")[2]))


def how_printed(table: str, changes: list[PercentChange]) -> list[AuditRow]:
    """Whether every change is rounded; where not, also whether every one is cut off."""
    rounded = _all_printed(table, "rounded", half_up, changes)
    if rounded["verdict"] == "holds":
        return [rounded]
    return [rounded, _all_printed(table, "cut off after its last digit", math.trunc, changes)]


def _all_printed(table: str, how: str, digits: Digits, changes: list[PercentChange]) -> AuditRow:
    passed = {str(one): one.could_be_printed(digits) for one in changes}
    finer = [str(one) for one in changes if passed[str(one)] and not one.is_printed(digits)]
    more = f" and {len(finer) - NAMED} more" if len(finer) > NAMED else ""
    note = (
        f"{len(finer)} only with more digits than printed: {', '.join(finer[:NAMED])}{more}" if finer else ""
    )
    claim = f"every change in % is what its two numbers give, {how}"
    return tally(table, claim, passed, "changes", note)
