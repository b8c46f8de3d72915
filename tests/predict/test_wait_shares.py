# SPDX-License-Identifier: MIT
"""How much of an operation's time is waiting for locks: in function costs, and in a simulation."""

import pandas as pd
import pytest

from lockscale.predict.unpatched_run import LEAST_SHARE, WaitShare, of_wait_shares, wait_shares
from lockscale.sim import load_model, simulate

SPINNING = 2  # of Result.in_state_ns: running, holding, spinning, sleeping, ready


def costs(threads: int, **functions: tuple[int, float]) -> pd.DataFrame:
    """Rows of ftrace's function costs: function -> calls, total us."""
    common = {
        "tool": "ftrace_cost",
        "arm": "a",
        "cpus": 64,
        "pair": "ab",
        "threads": threads,
        "profiled": True,
    }
    rows = [
        {**common, "metric": f"{name}.{what}", "value": value}
        for name, (calls, total_us) in functions.items()
        for what, value in (("calls", calls), ("time", total_us))
    ]
    return pd.DataFrame(rows)


ALONE = costs(1, vfs_truncate=(100, 1000.0), mutex_lock=(200, 20.0), _raw_spin_lock=(1000, 100.0))


def test_a_slow_path_is_part_of_the_function_that_calls_it():
    slow = costs(8, native_queued_spin_lock_slowpath=(900, 790.0))
    rows = pd.concat([ALONE, costs(8, vfs_truncate=(100, 2000.0), _raw_spin_lock=(1000, 900.0))])
    (without,), (share,) = (wait_shares(one, "a", 64).values() for one in (rows, pd.concat([rows, slow])))
    assert share == without == WaitShare(spin=pytest.approx(0.4), sleep=0.0)
    alone = wait_shares(pd.concat([ALONE, costs(8, vfs_truncate=(100, 2000.0)), slow]), "a", 64)
    assert alone[8].spin == pytest.approx(0.395)  # where only that is profiled


def test_what_a_lock_costs_one_process_is_no_wait():
    rows = pd.concat(
        [ALONE, costs(8, vfs_truncate=(100, 2000.0), mutex_lock=(200, 1020.0), _raw_spin_lock=(1000, 100.0))]
    )
    (share,) = wait_shares(rows, "a", 64).values()
    assert share == WaitShare(spin=0.0, sleep=pytest.approx(0.5))


def test_the_two_kinds_of_locks_are_kept_apart():
    crowded = costs(8, vfs_truncate=(100, 4000.0), mutex_lock=(200, 20.0), _raw_spin_lock=(2000, 2200.0))
    (share,) = wait_shares(pd.concat([ALONE, crowded]), "a", 64).values()
    assert share == WaitShare(spin=pytest.approx(0.5), sleep=0.0)


def test_where_a_lock_is_the_costliest_function_nothing_encloses_an_operation():
    crowded = costs(8, vfs_truncate=(100, 1000.0), _raw_spin_lock=(2000, 2200.0))
    assert wait_shares(pd.concat([ALONE, crowded]), "a", 64) == {}


def test_without_one_process_the_tracers_own_time_is_not_known():
    assert wait_shares(costs(8, vfs_truncate=(100, 1000.0), mutex_lock=(200, 900.0)), "a", 64) == {}


def test_a_simulated_share_is_the_time_in_which_threads_spin():
    model, n = load_model("inode_claim"), 48
    (one,) = of_wait_shares({n: WaitShare(0.8, 0.0)}, model, {})  # it has no lock whose waiters sleep
    run = simulate(model, n, {}, operations=4000, replications=2)
    spun = sum(times[SPINNING] for times in run.in_state_ns) / sum(map(sum, run.in_state_ns))
    assert one.simulated({n: run}) - LEAST_SHARE == pytest.approx(spun, rel=1e-6)
    assert spun > 0.3


def test_a_model_with_both_kinds_is_held_to_both():
    found = of_wait_shares({64: WaitShare(0.02, 0.95)}, load_model("orphan_file"), {"mutex_list": True})
    assert [one.value for one in found] == pytest.approx([0.02 + LEAST_SHARE, 0.95 + LEAST_SHARE])
