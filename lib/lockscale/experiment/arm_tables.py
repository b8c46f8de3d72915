# SPDX-License-Identifier: MIT
"""A run's arms beside one another: rates and latencies, what is significant, and the A/A pair before it."""

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd
from scipy import stats

from lockscale.errors import BadInput
from lockscale.experiment.all_processes import of_all_processes
from lockscale.experiment.blocked import change, holm, log_ratios
from lockscale.experiment.where import origin_of
from lockscale.study import Study

ALPHA = 0.05
POINT = ["cpus", "threads"]


def compared_rates(rows: pd.DataFrame, study: Study, test: str = "") -> pd.DataFrame:
    """Each arm against the upstream one at each point, by blocks.

    Columns arm, cpus, threads, statistic, base, value (means, ops/s), change_pct, low_pct, high_pct,
    interval, p, p_holm (over all rows of the table), blocks, aa_alike, significant, origin. A row is
    significant below 5% in p_holm, unless the A/A pair differs at its point. Nothing is left out of it
    but warm-up blocks. Raises BadInput where there are no rates, or fewer than two blocks.
    """
    rates = of_all_processes(rows[rows.pair == "ab"], test)
    found = _compared(rates, study, ["statistic"])
    alike = aa_rates(rows, study, test).set_index(POINT).alike
    keys = pd.MultiIndex.from_frame(found[POINT])
    found["aa_alike"] = alike.reindex(keys, fill_value=True).to_numpy()
    found["significant"] = (found.p_holm < ALPHA) & found.aa_alike
    return found.assign(origin=origin_of(rates))


def compared_latencies(rows: pd.DataFrame, study: Study, test: str = "") -> pd.DataFrame:
    """The same of each percentile of the latency, in ns; empty where no load timed its operations."""
    here = rows[(rows.test == (test or study.operation)) & (rows.pair == "ab")]
    wanted = here[(here.metric == "latency") & ~here.profiled]
    if wanted.empty:
        return pd.DataFrame()
    found = _compared(wanted, study, ["statistic"])
    found["significant"] = found.p_holm < ALPHA
    return found.assign(origin=origin_of(wanted))


def aa_rates(rows: pd.DataFrame, study: Study, test: str = "") -> pd.DataFrame:
    """The A/A pair: the same build twice, against the noise of the blocks at the same point.

    Columns cpus, threads, first, second, difference_pct, p, p_holm, alike. p is None, and alike true,
    where there are not two blocks to know the noise from.
    """
    rates = of_all_processes(rows[rows.pair.isin(["aa", "ab"])], test)
    found = []
    for point, here in rates.groupby(POINT):
        pair = here[here.pair == "aa"].sort_values("iteration").value.tolist()
        if len(pair) == 2:
            gap = float(np.log(pair[1] / pair[0]))
            noise, df = _noise(here[here.pair == "ab"], study)
            p = 2 * float(stats.t.sf(abs(gap) / noise, df)) if noise else None
            names = dict(zip(POINT, point, strict=True))
            found.append(
                names | {"first": pair[0], "second": pair[1], "difference_pct": 100 * np.expm1(gap), "p": p}
            )
    table = pd.DataFrame(found, columns=[*POINT, "first", "second", "difference_pct", "p"])
    known = table.p.notna()
    table["p_holm"] = None
    table.loc[known, "p_holm"] = holm(table.p[known].tolist())
    table["alike"] = [p is None or not p < ALPHA for p in table.p_holm]
    return table


def pair_gaps(rates: pd.DataFrame, study: Study) -> dict[str, np.ndarray]:
    """Arm -> log ratios to the upstream arm, one a block, of rates at one point."""
    if rates.empty:
        return {}
    wide = rates.pivot_table(index="block", columns="arm", values="value")
    base = _base(list(wide.columns), study)
    both = {arm: wide[[base, arm]].dropna() for arm in wide.columns if arm != base}
    return {
        arm: log_ratios(two[base].tolist(), two[arm].tolist()) for arm, two in both.items() if len(two) > 1
    }


def _noise(rates: pd.DataFrame, study: Study) -> tuple[float, int]:
    """Pooled standard deviation of log ratios within blocks, and its degrees of freedom; 0 for unknown."""
    gaps = list(pair_gaps(rates, study).values())
    df = sum(one.size - 1 for one in gaps)
    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in gaps)
    return (float(np.sqrt(squares / df)), df) if df and squares else (0.0, 0)


def _base(arms: Sequence[str], study: Study) -> str:
    upstream = study.arm("upstream").name
    return upstream if upstream in set(arms) else str(next(iter(arms)))


def _compared(values: pd.DataFrame, study: Study, more: list[str]) -> pd.DataFrame:
    """One row an arm and point (and `more`): both means, the change with its interval, p and p_holm."""
    base, found = _base(sorted(values.arm.unique()), study), []
    for key, here in values.groupby([*POINT, *more], sort=True):
        wide = here.pivot_table(index="block", columns="arm", values="value")
        for arm in [name for name in wide.columns if name != base]:
            both = wide[[base, arm]].dropna()
            told = change(both[base].tolist(), both[arm].tolist(), study.parameters.seed)
            names = dict(zip([*POINT, *more], key, strict=True))
            means = {"base": both[base].mean(), "value": both[arm].mean()}
            found.append({"arm": arm, **names, **means, **asdict(told)})
    if not found:
        raise BadInput("one arm alone was measured: there is nothing to compare")
    table = pd.DataFrame(found)
    table["p_holm"] = holm(table.p.tolist())
    return table
