# SPDX-License-Identifier: MIT
"""A run's arms beside one another: rates and latencies, what is significant, and the A/A pair before it."""

from dataclasses import asdict

import numpy as np
import pandas as pd

from lockscale.errors import BadInput
from lockscale.measure.all_processes import of_all_processes
from lockscale.measure.blocked import change, log_ratios
from lockscale.measure.stars import POINT, aa_pairs, base_of, starred
from lockscale.measure.where import origin_of
from lockscale.study.file import Study

MEASURED = ("aa", "ab")
"""The pairs of steps that are not warm-up."""
KEYS = [*POINT, "statistic"]


def compared_rates(rows: pd.DataFrame, study: Study, test: str = "") -> pd.DataFrame:
    """Each arm against the upstream one at each point, by blocks.

    Columns arm, cpus, threads, statistic, base, value (means, ops/s), change_pct, low_pct, high_pct,
    interval, p, blocks, p_holm (over all rows of the table), aa_alike, significant, origin. A row is
    significant below 5% in p_holm, unless the A/A pair differs at its point. Nothing is left out of it
    but warm-up blocks. Raises BadInput where there are no rates, or fewer than two blocks.
    """
    return _compared(of_all_processes(rows[rows.pair.isin(MEASURED)], test), study)


def compared_latencies(rows: pd.DataFrame, study: Study, test: str = "") -> pd.DataFrame:
    """The same of each percentile of the latency, in ns; empty where no load timed its operations."""
    here = rows[(rows.test == (test or study.operation)) & rows.pair.isin(MEASURED)]
    wanted = here[(here.metric == "latency") & ~here.profiled]
    return pd.DataFrame() if wanted.empty else _compared(wanted, study)


def aa_rates(rows: pd.DataFrame, study: Study, test: str = "") -> pd.DataFrame:
    """The A/A pair of the rates: the same build twice, against the noise of the blocks at the same point.

    Columns cpus, threads, first, second, difference_pct, p, p_holm, alike. p is None, and alike true,
    where there are not two blocks of two arms to know the noise from.
    """
    rates = of_all_processes(rows[rows.pair.isin(MEASURED)], test)
    table = aa_pairs(rates, study, POINT, log_ratios)
    table["gap"] = 100 * np.expm1(table.gap.astype(float))
    return table.rename(columns={"gap": "difference_pct"})


def _compared(values: pd.DataFrame, study: Study) -> pd.DataFrame:
    """One row an arm and KEYS: both means, the change with its interval, p, and whether it is starred."""
    blocks = values[values.pair == "ab"]
    base, found = base_of(sorted(blocks.arm.unique()), study), []
    for key, here in blocks.groupby(KEYS, sort=True):
        wide = here.pivot_table(index="block", columns="arm", values="value")
        for arm in [name for name in wide.columns if name != base]:
            both = wide[[base, arm]].dropna()
            told = change(both[base].tolist(), both[arm].tolist(), study.parameters.seed)
            names = dict(zip(KEYS, key, strict=True))
            means = {"base": both[base].mean(), "value": both[arm].mean()}
            found.append({"arm": arm, **names, **means, **asdict(told)})
    if not found:
        raise BadInput("one arm alone was measured: there is nothing to compare")
    return starred(pd.DataFrame(found), values, study, KEYS, log_ratios).assign(origin=origin_of(blocks))
