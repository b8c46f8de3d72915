# SPDX-License-Identifier: MIT
"""What is known of a change that has no star, and what more boots would tell."""

from typing import Any

import pandas as pd

from lockscale.measure.significance import ALPHA

MATTERS_PCT = 5.0
"""A change of more than this would be worth having, or would have to be avoided."""
MORE = 4
NARROWER = {2: "a tenth", 3: "a quarter", 4: "a third"}
"""Boots -> what is left of an interval with MORE times as many: half by their number, the rest as Student's t
falls; of more boots, whose t falls little, about half."""


def why_no_star(row: Any, rows: int) -> str:
    """Of a row of compared_rates() that is not significant, one of so many."""
    if not row.aa_alike:
        return "not significant, as two boots of the same kernel differ there too"
    if not row.p < ALPHA:
        return "not significant: it may be no change at all"
    return f"significant by itself, but not over all {rows} rows of the table together"


def least_known(compared: pd.DataFrame) -> str:
    """On the widest interval that includes no change and one that matters; empty where none does."""
    is_open = ~compared.significant.astype(bool) & (compared.low_pct <= 0) & (compared.high_pct >= 0)
    wide = compared[is_open & (compared[["low_pct", "high_pct"]].abs().max(axis=1) > MATTERS_PCT)]
    if wide.empty:
        return ""
    row: Any = wide.iloc[int((wide.high_pct - wide.low_pct).argmax())]
    boots, point = int(row.blocks), "1 process" if row.threads == 1 else f"{int(row.threads)} processes"
    return (
        f"The least certain change is that of {row.arm} at {point}: {row.low_pct:+.0f}% to "
        f"{row.high_pct:+.0f}% (95% interval of {boots} boots per arm). "
        f"{MORE * boots} boots would narrow that to about {NARROWER.get(boots, 'half')}."
    )
