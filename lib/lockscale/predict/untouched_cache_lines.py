# SPDX-License-Identifier: MIT
"""How full, in the unpatched run, the cache lines are that no arm of a study touches.

A machine in virtual time counts of each line how long it is on its way to a CPU; meanwhile no other gets it.
A line that is on its way for a share u of the time ends what a patch of other lines can give at 1 / u.
"""

import pandas as pd

from lockscale.measure.where_time_went import moved_lines
from lockscale.study.file import Study

MOST = 0.999
"""Of the time: what is counted as more is full as well."""


def fullest_untouched_line(rows: pd.DataFrame, study: Study, cpus: int) -> dict[int, float]:
    """By number of processes, the share of the time; empty where the study names no lines of its own."""
    if not study.own_lines:
        return {}
    moved = moved_lines(rows)
    here = (moved.arm == study.unpatched.name) & (moved.cpus == cpus) & (moved.test == study.operation)
    others = moved[here & ~moved.function.isin(study.own_lines)]
    return {
        int(str(n)): min(float(share) / 100, MOST)
        for n, share in others.groupby("threads").occupied_pct.max().items()
    }
