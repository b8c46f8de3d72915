# SPDX-License-Identifier: MIT
"""jbd2_journal_get_write_access calls of a create that loses no claim: measured with one process.

One process has nobody to lose to. The rows are those of the base arm in data/measured; the count is
Linux 6.12's, not that of the published kernel, and of smaller directories. How far the two create
paths differ is taken from the functions that both profiles count: each calls get_write_access once
at most, so the calls of a create may differ by as much as theirs do together.
"""

from typing import NamedTuple

import pandas as pd

from lockscale.errors import BadInput
from lockscale.experiment.compare import calls_per_operation, function_costs
from lockscale.experiment.layout import curated_run
from lockscale.experiment.rows import read_rows
from lockscale.experiment.where import origin_of
from lockscale.tables.function_costs import Cost
from lockscale.whatif.base import mean_interval

ACCESS = "jbd2_journal_get_write_access"
_NOT_COMPARED = ("create", "raw_spin_lock", ACCESS)


class Calls(NamedTuple):
    """Calls a create, their 95% interval, and where they were counted."""

    value: float
    low: float
    high: float
    source: str


def calls_without_retry(arm: str, costs: dict[str, Cost]) -> Calls:
    """From the latest curated run; `costs` is the published profile. Raises BadInput where there is none."""
    path = curated_run("inode-claim").rows
    rows = read_rows(path)
    calls = calls_per_operation(rows, ACCESS)
    one = calls[(calls.threads == 1) & (calls.arm == arm)]
    if len(one) < 2:
        raise BadInput(f"{path.parent.name} has no two profiles of {arm} with one process: measure them")
    cpus = int(one.cpus.max())
    value, low, high = mean_interval(one.value.tolist())
    other = _differences(function_costs(rows, arm, cpus, 1), costs)
    source = (
        f"{len(one)} profiles of one process in {path.parent.name} "
        f"({origin_of(rows)}; +-{high - value:.3f}), and +-{other:.3f} for another kernel and larger "
        "directories, as other functions' calls differ"
    )
    return Calls(value, low - other, high + other, source)


def _differences(measured: pd.DataFrame, costs: dict[str, Cost]) -> float:
    """Calls a create of functions in both profiles: the sum of their differences."""
    here = _per_create({str(f): float(n) for f, n in zip(measured.function, measured["count"], strict=True)})
    there = _per_create({name: float(cost.calls) for name, cost in costs.items()})
    return sum(abs(here[name] - there[name]) for name in here.keys() & there.keys())


def _per_create(counts: dict[str, float]) -> dict[str, float]:
    plain = {name.lstrip("_").removeprefix("ext4_"): count for name, count in counts.items()}
    return {name: n / plain["create"] for name, n in plain.items() if name not in _NOT_COMPARED}
