# SPDX-License-Identifier: MIT
"""What the cells of published tables have in common: printed digits, and changes in %."""

import re

from lockscale.workloads.rows import NOT_STATED

LOST_ROWS = "a table does not say how many rows it has: a lost one cannot be noticed"

_RUNS = re.compile(r"\baverage of ([0-9]{1,4}) runs\b", re.IGNORECASE)


def decimals(printed: str) -> int:
    """Digits after the decimal point."""
    return len(printed.partition(".")[2])


def change_fits(before: str, after: str, change_pct: str) -> bool:
    """Whether `change_pct` can be the change from `before` to `after`, each rounded or truncated.

    Its author had the numbers in full: each may be off by less than one unit of its last digit.
    """
    (old, of_old), (new, of_new), (change, of_change) = map(_with_unit, (before, after, change_pct))
    if old <= of_old or new < 0:
        return False
    low = ((new - of_new) / (old + of_old) - 1) * 100 - of_change
    high = ((new + of_new) / (old - of_old) - 1) * 100 + of_change
    return low <= change <= high


def _with_unit(printed: str) -> tuple[float, float]:
    return float(printed), 10.0 ** -decimals(printed)


def runs_averaged(text: str) -> str:
    """`mean_of_5` where the text says `average of 5 runs`, once or always alike."""
    said = set(_RUNS.findall(text))
    return f"mean_of_{said.pop()}" if len(said) == 1 else NOT_STATED
