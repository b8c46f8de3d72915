# SPDX-License-Identifier: MIT
"""S1 and S2 in the simulator: figures at 48 threads, of rates and of function cost tables."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lockscale.fitting.column import Column
from lockscale.fitting.simulated_arm import Arm, Values
from lockscale.fitting.simulated_tables import Simulated
from lockscale.fitting.targets import simulated_targets
from lockscale.sim import Result
from lockscale.sim.function_cost import function_cost_check
from lockscale.sim.models.write_access import CALLS_WITHOUT_RETRY, access_calls
from lockscale.tables import function_cost, published

THREADS = 48
CHEAP_ACCESS_NS = 430.0  # jbd2_journal_get_write_access in S2's table of the fast arm
SLOW, FAST = "s2_function_cost_without", "s2_function_cost_with"
ATTEMPTS, SPIN = "attempts", "_raw_spin_lock"


def _figure(table: str, name: str, values: Sequence[float], unit: str) -> Column:
    rates = np.array(values, dtype=np.float64)
    return Column(table, name, np.full(len(rates), float(THREADS)), rates, None, unit, "published")


def s2_figures() -> list[Column]:
    """Rate, get_write_access calls a create, and the mean time of create_inode, of both arms."""
    rates = published("s2_mds_survey").query("statistic == 'overall'").set_index("arm").value
    found = []
    for arm, table in (("slow-retry", SLOW), ("fast-retry", FAST)):
        cost = function_cost(table).set_index("function")
        creates = cost["count"]["ldiskfs_create_inode"]
        calls = cost["count"]["jbd2_journal_get_write_access"] / creates
        found += [
            _figure("s2_mds_survey", f"{arm} create_rate", [rates[arm]], "ops/s"),
            _figure(table, f"{arm} jbd2_journal_get_write_access", [calls], "calls/create"),
            _figure(table, f"{arm} ldiskfs_create_inode", [cost.avg_us["ldiskfs_create_inode"]], "us/call"),
        ]
    return found


def _create_inode_us(run: Result) -> float:
    """A closed loop: what of a create's time is not elsewhere."""
    return 1e6 * run.threads / run.rate_per_s - float(run.parameters["elsewhere_us"])


def _fast(threads: int, free: Values) -> Values:
    return {**free, "access_ns": CHEAP_ACCESS_NS}


def _s2_arms() -> dict[str, Arm]:
    slow = Arm({}, ("elsewhere_us", "hold_ns", "buffer_hold_us", "buffer_wake_us"))
    fast = Arm({"fast_access": True}, ("elsewhere_us", "hold_ns"), _fast)
    found = {}
    for name, arm in (("slow-retry", slow), ("fast-retry", fast)):
        calls = replace(arm, figure=access_calls, power=0)
        inside = replace(arm, figure=_create_inode_us, power=1)
        found[f"{name} create_rate"] = arm
        found[f"{name} jbd2_journal_get_write_access"] = calls
        found[f"{name} ldiskfs_create_inode"] = inside
    return found


S2 = Simulated(
    "s2_mds_survey",
    "write_access",
    {
        "elsewhere_us": (50, 150),
        "hold_ns": (300, 1200),
        "buffer_hold_us": (0.4, 4),
        "buffer_wake_us": (0.03, 0.6),
    },
    _s2_arms(),
    operations=1000,
    made=s2_figures,
)


def s1_rates() -> list[Column]:
    """Three repeats of each arm's create rate."""
    creates = published("s1_rates").query("metric == 'create_rate'")
    return [
        _figure("s1_rates", f"{arm} create_rate", rows.value.to_list(), "ops/s")
        for arm, rows in creates.groupby("arm", sort=False)
    ]


S1 = Simulated(
    "s1_rates",
    "inode_claim",
    {"elsewhere_us": (30, 120), "hold_ns": (150, 600)},
    {
        "steal-retry create_rate": Arm(),
        "search-locked create_rate": Arm({"search_locked": True}),
    },
    scales=False,
    made=s1_rates,
)


def s1_cost_rows(rates: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The function cost table that nothing is fitted to, from the parameters of the rows of `S1`.

    Free: elsewhere_us of the patched rate, the traced hold of the traced rate, and the model's access_ns,
    assumed; four figures stand against them: those two rates, attempts and spin.
    """
    cost = function_cost("s1_function_cost").set_index("function")
    found = function_cost_check(
        threads=THREADS,
        create_avg_us=float(cost.avg_us["ext4_create"]),
        creates=int(cost["count"]["ext4_create"]),
        spin_total_us=float(cost.total_us["_raw_spin_lock"]),
        spin_calls=int(cost["count"]["_raw_spin_lock"]),
        access_calls=int(cost["count"]["jbd2_journal_get_write_access"]),
        access_calls_without_retry=CALLS_WITHOUT_RETRY,
        parameters={one["name"]: one["value"] for one in rates[0]["parameters"]},
    )
    targets = simulated_targets()
    rows = []
    for one in (row for row in found.rows if row.name in (ATTEMPTS, SPIN)):
        name = f"steal-retry {one.name}"
        target, error_pct = targets.get(("s1_function_cost", name)), abs(one.error_pct)
        point = {"threads": float(THREADS), "value": one.published, "model": one.predicted}
        rows.append(
            {
                **rates[0],
                "table": "s1_function_cost",
                "column": name,
                "unit": one.unit,
                "free_parameters": 3,
                "points": 4,
                "noise_pct": None,
                "noise_from": None,
                "mape_pct": error_pct,
                "loo_pct": None,
                "calibrated": False,
                "target_pct": target.target_pct if target else None,
                "met": None if target is None else target.is_met(error_pct, None, False),
                "curve": [{**point, "low": None, "high": None, "residual_pct": -one.error_pct}],
            }
        )
    return rows
