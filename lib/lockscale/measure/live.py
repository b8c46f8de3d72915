# SPDX-License-Identifier: MIT
"""What a run has measured so far: a table of points by arms, after each step, and the time left."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from lockscale.measure.all_processes import STATISTICS, operation_of
from lockscale.measure.plan import WARM_UP
from lockscale.progress import tell, updated_table

AA = " (A/A)"
OWN_STEPS = 3
"""So many steps of this run are enough to say how long the others take; earlier runs no longer count."""


def so_far(rows: Sequence[Mapping[str, Any]], test: str = "") -> pd.DataFrame:
    """Rates of `test` by cpus and threads (index) and arm (columns): mean +- standard deviation (repeats).

    By default the operation of the rows' study. Text for a person; empty before the first rate. Of each
    load the rate of all its processes. The A/A pair has a column of its own: it is in no arm's mean.
    """
    frame = pd.DataFrame(list(rows))
    if frame.empty:
        return frame
    test = test or operation_of(frame)
    rates = frame[(frame.metric == "rate") & (frame.test == test) & (frame.pair != WARM_UP)]
    named = next((name for name in STATISTICS if (rates.statistic == name).any()), "")
    rates = rates[rates.statistic == named]
    if rates.empty:
        return pd.DataFrame()
    rates = rates.assign(arm=rates.arm.where(rates.pair == "ab", rates.arm + AA))
    grouped = rates.groupby(["cpus", "threads", "arm"]).value.agg(["mean", "std", "count"])
    said = [_cell(*row) for row in grouped.itertuples(index=False)]
    return pd.Series(said, index=grouped.index).unstack("arm", fill_value="")


def _cell(mean: float, sd: float, count: int) -> str:
    spread = f" ±{100 * sd / mean:.1f}%" if count > 1 and mean else ""
    return f"{mean:,.0f}/s{spread} ({count})"


def time_text(seconds: float) -> str:
    """A duration as a person says it: 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


class Live:
    """The table of one run, shown anew after each step; in a notebook in its place."""

    def __init__(self, steps_s: Sequence[float], left: int, at_once: int = 1) -> None:
        self.earlier_s, self.at_once = list(steps_s), at_once
        self.own_s: list[float] = []
        self.show = updated_table()
        self.said(left)

    def said(self, left: int) -> None:
        """How long the steps that are left will take, before they start."""
        if left and self.earlier_s:
            sure = f"from {len(self.earlier_s)} earlier ones"
            tell(f"{left} steps to do, about {time_text(self.left_s(left))} {sure}")
        elif left:
            tell(f"{left} steps to do; how long one takes shows after the first")

    def left_s(self, left: int) -> float:
        """Seconds for `left` steps: from this run's own once there are OWN_STEPS, else from all known."""
        known_s = self.own_s if len(self.own_s) >= OWN_STEPS else [*self.earlier_s, *self.own_s]
        return math.ceil(left / self.at_once) * sum(known_s) / len(known_s)

    def done(self, rows: Sequence[Mapping[str, Any]], wall_s: float, left: int) -> None:
        """One more step, which took `wall_s`; rows of all steps so far."""
        self.own_s.append(wall_s)
        steps = "1 step" if left == 1 else f"{left} steps"
        ending = f"{steps} left, about {time_text(self.left_s(left))}" if left else "all steps are done"
        self.show(so_far(rows), ending)
