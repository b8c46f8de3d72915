# SPDX-License-Identifier: MIT
"""Which rows of a table of arms are starred: one method for rates, latencies and counters.

Student's test of the gaps of two arms, one a block; Holm over all rows of the table; and no star where the
A/A pair, the same build twice, differs at its point.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from lockscale.measure.blocked import holm
from lockscale.study.file import Study

ALPHA = 0.05
POINT = ["cpus", "threads"]
AA = ["first", "second", "gap", "p", "p_holm", "alike"]
Array = npt.NDArray[np.float64]
Gap = Callable[[Sequence[float], Sequence[float]], Array]
"""From the base to another arm, one a block: blocked.log_ratios or blocked.differences."""


def starred(
    table: pd.DataFrame, values: pd.DataFrame, study: Study, keys: list[str], gap: Gap
) -> pd.DataFrame:
    """`table` (one test a row: `keys` and p) with p_holm, aa_alike and significant.

    significant: below ALPHA over all rows together, unless the A/A pair of `values` differs at `keys`.
    """
    alike = aa_pairs(values, study, keys, gap).set_index(keys).alike
    rows = pd.MultiIndex.from_frame(table[keys])
    known = alike.to_dict()
    held = table.assign(p_holm=holm(table.p.tolist()), aa_alike=[known.get(tuple(row), True) for row in rows])
    return held.assign(significant=(held.p_holm < ALPHA) & held.aa_alike)


def aa_pairs(values: pd.DataFrame, study: Study, keys: list[str], gap: Gap) -> pd.DataFrame:
    """The A/A pair: the same build twice, against the noise of the blocks at the same `keys`.

    values: arm, pair, block, iteration, value, `keys`, and `least` where values are whole counts. Columns
    `keys` and AA; gap is `gap` from the first to the second. p is None, and alike true, where there are no
    two blocks to know the noise from.
    """
    found = []
    for key, here in values.groupby(keys):
        pair = here[here.pair == "aa"].sort_values("iteration").value.tolist()
        if len(pair) == 2:
            apart = float(gap(pair[:1], pair[1:])[0])
            noise, df = _noise(here[here.pair == "ab"], study, gap)
            p = 2 * float(stats.t.sf(abs(apart) / noise, df)) if noise else None
            names = dict(zip(keys, key, strict=True))
            found.append(names | {"first": pair[0], "second": pair[1], "gap": apart, "p": p})
    table = pd.DataFrame(found, columns=[*keys, *AA[:4]])
    known = table.p.notna()
    table["p_holm"] = None
    table.loc[known, "p_holm"] = holm(table.p[known].tolist())
    table["alike"] = [p is None or not p < ALPHA for p in table.p_holm]
    return table


def pair_gaps(values: pd.DataFrame, study: Study, gap: Gap) -> dict[str, Array]:
    """Arm -> gaps to the upstream arm, one a block that has both, of values at one point.

    An arm with fewer than two such blocks is not in it.
    """
    if values.empty:
        return {}
    wide = values.pivot_table(index="block", columns="arm", values="value")
    base = base_of(list(wide.columns), study)
    both = {arm: wide[[base, arm]].dropna() for arm in wide.columns if arm != base}
    return {arm: gap(two[base].tolist(), two[arm].tolist()) for arm, two in both.items() if len(two) > 1}


def base_of(arms: Sequence[str], study: Study) -> str:
    """The upstream arm; where it was not measured, the first of `arms`."""
    upstream = study.patched.name
    return upstream if upstream in set(arms) else str(next(iter(arms)))


def least_of(values: pd.DataFrame) -> float:
    """What one count more or less makes of these values; 0 where they are no counts."""
    return float(values.least.max()) if "least" in values else 0.0


def _noise(values: pd.DataFrame, study: Study, gap: Gap) -> tuple[float, int]:
    """Pooled standard deviation of gaps within blocks, and its degrees of freedom; 0 for unknown."""
    gaps = list(pair_gaps(values, study, gap).values())
    df = sum(one.size - 1 for one in gaps)
    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in gaps)
    return (max(float(np.sqrt(squares / df)), least_of(values)), df) if df else (0.0, 0)
