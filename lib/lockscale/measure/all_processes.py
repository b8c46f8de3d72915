# SPDX-License-Identifier: MIT
"""The rate of all processes together, as whichever load generator ran prints it."""

from collections.abc import Sequence

import pandas as pd

from lockscale.errors import BadInput
from lockscale.study.file import load_study

STATISTICS = ("total", "slowest_rank")
"""By preference; workloads.rows says what each is. mdtest 4 has no `total`."""
_ONE_LOAD = ["tool", "arm", "cpus", "threads", "pair", "block", "iteration", "metric"]


def operation_of(rows: pd.DataFrame) -> str:
    """What the rates of a run are of: its study's operation; of rows that name no study, creates."""
    named = "study" in rows and not rows.empty
    return load_study(str(rows.study.iloc[0])).operation if named else "create"


def of_all_processes(rows: pd.DataFrame, test: str = "", metrics: Sequence[str] = ("rate",)) -> pd.DataFrame:
    """The rows of `test` that are the rate of all processes, one of each load, all of one statistic.

    By default the operation of the rows' study.
    `total` where every load has it, else `slowest_rank` where every load has that: the two are not
    compared with each other. BadInput where no load has either, or some have only the one, some the other.
    """
    test = test or operation_of(rows)
    here = rows[(rows.test == test) & rows.metric.isin(metrics) & rows.statistic.isin(STATISTICS)]
    loads = len(here.drop_duplicates(_ONE_LOAD))
    for statistic in STATISTICS:
        alike = here[here.statistic == statistic]
        if loads and len(alike.drop_duplicates(_ONE_LOAD)) == loads:
            return alike
    if not loads:
        raise BadInput(f"no row is a rate of {test} of all processes: measure with fsload or mdtest")
    raise BadInput(f"some loads of {test} have only total rates and some only slowest_rank: use one tool")


def note(rates: pd.DataFrame) -> str:
    """What has to stand beside such rates: nothing where they are totals."""
    return "" if (rates.statistic == "total").all() else " (slowest process x processes)"
