# SPDX-License-Identifier: MIT
"""Whether a run was steady: drift over its blocks, a first block that differs, repeats that lie apart.

All of it is told and nothing is left out because of it.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtr

from lockscale.measure.rows import of_all_processes

ALPHA = 0.05
LEAST_BLOCKS = 4
"""Fewer leave no degree of freedom that a drift or a first block could be judged by."""
LEAST_REPEATS = 5
FAR = 3.5
"""Modified z score of an outlier (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993)."""
MAD_TO_SD = 0.6745
STEADY, NOT_STEADY = "no more than noise does", "the run drifted"
CELL = ["arm", "cpus", "threads"]
Array = npt.NDArray[np.float64]


def steadiness(rows: pd.DataFrame) -> pd.DataFrame:
    """Two rows, drift and warm-up: effect_pct (a block; of the first block), p, found, says.

    From the blocks' mean log rates over arms and points, each arm and point taken by its own mean. p is
    None with fewer than LEAST_BLOCKS blocks.
    """
    blocks = _block_means(of_all_processes(rows[rows.pair == "ab"]))
    slope, p_drift = drift(blocks)
    first, p_first = warm_up(blocks)
    said = f"the first block is {_pct(first):+.2f}% off the others"
    return pd.DataFrame(
        [
            _told("drift", slope, p_drift, f"{_pct(slope):+.2f}% per block over {blocks.size} blocks"),
            _told("warm-up", first, p_first, said if blocks.size > 1 else "there is one block only"),
        ]
    )


def steady_lines(rows: pd.DataFrame) -> list[str]:
    """steadiness() for a person, a line each: what it is, its p-value, whether noise explains it."""
    said = []
    for one in steadiness(rows).to_dict("records"):
        judged = (
            f" (p {one['p']:.2g}): {NOT_STEADY if one['found'] else STEADY}" if pd.notna(one["p"]) else ""
        )
        said.append(f"{one['what']}: {one['says']}{judged}")
    return said


def _told(name: str, effect: float, p: float | None, says: str) -> dict[str, Any]:
    found = p is not None and p < ALPHA
    doubt = "" if p is not None else f": it takes {LEAST_BLOCKS} blocks to distinguish it from noise"
    return {"what": name, "effect_pct": _pct(effect), "p": p, "found": found, "says": says + doubt}


def _pct(log_change: float) -> float:
    return 100 * float(np.expm1(log_change))


def drift(blocks: Array) -> tuple[float, float | None]:
    """Slope a block of `blocks` (log values in order), and the p of slope 0 by least squares."""
    if blocks.size < 2:
        return 0.0, None
    from scipy import stats  # slow to import, and only what judges a run needs it

    line = stats.linregress(np.arange(blocks.size), blocks)
    return float(line.slope), float(line.pvalue) if blocks.size >= LEAST_BLOCKS else None


def warm_up(blocks: Array) -> tuple[float, float | None]:
    """The first of `blocks` (log values) less the mean of the others, and p as one more of them."""
    n = blocks.size - 1
    if n < 1:
        return 0.0, None
    gap = float(blocks[0] - blocks[1:].mean())
    if n + 1 < LEAST_BLOCKS:
        return gap, None
    se = float(blocks[1:].std(ddof=1) * np.sqrt(1 + 1 / n))
    if se <= 1e-12:
        return gap, 1.0 if abs(gap) <= 1e-12 else 0.0
    return gap, float(2 * stdtr(n - 1, -abs(gap) / se))


def outliers(rows: pd.DataFrame) -> pd.DataFrame:
    """Repeats far from the median of their arm and point: CELL, block, value, median, z. None is dropped.

    Of fewer than LEAST_REPEATS none is called so.
    """
    rates = of_all_processes(rows[rows.pair == "ab"])
    logs = np.log(rates.value)
    cells = [rates[name] for name in CELL]
    median = logs.groupby(cells).transform("median")
    mad = (logs - median).abs().groupby(cells).transform("median")
    count = logs.groupby(cells).transform("count")
    z = MAD_TO_SD * (logs - median) / mad.where((mad > 0) & (count >= LEAST_REPEATS))
    table = rates[[*CELL, "block", "value"]].assign(median=np.exp(median), z=z)
    return table[table.z.abs() > FAR].reset_index(drop=True)


def _block_means(rates: pd.DataFrame) -> Array:
    logs = np.log(rates.value)
    own = logs - logs.groupby([rates[name] for name in CELL]).transform("mean")
    means: Array = own.groupby(rates.block).mean().sort_index().to_numpy(float)
    return means
