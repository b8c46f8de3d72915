# SPDX-License-Identifier: MIT
"""What profilers cost in a run: pairs of rates of one boot."""

import pandas as pd
import pytest

from lockscale.errors import BadInput
from lockscale.measure.profiling import UNDER_PROFILER, overheads

POINT = {
    "arm": "steal-retry",
    "cpus": 4,
    "threads": 8,
    "test": "create",
    "statistic": "total",
    "origin": "qemu",
}


def rows(*pairs, tool="perf_lock"):
    found = []
    for block, (without, with_it) in enumerate(pairs):
        boot = {**POINT, "pair": "ab", "block": block, "iteration": block}
        found.append({**boot, "tool": "fsload", "metric": "rate", "value": without, "profiled": False})
        found.append({**boot, "tool": tool, "metric": UNDER_PROFILER, "value": with_it, "profiled": True})
    return pd.DataFrame(found)


def test_pairs_are_those_of_one_boot():
    (one,) = overheads(rows((1000, 900), (2000, 1800), (500, 450))).to_dict("records")
    assert one["overhead_pct"] == pytest.approx(10)
    assert (one["low"], one["high"]) == pytest.approx((10, 10))
    assert (one["tool"], one["arm"], one["cpus"], one["threads"]) == ("perf_lock", "steal-retry", 4, 8)
    assert (one["pairs"], one["level_pct"], one["origin"]) == (3, 75, "qemu")


def test_each_profiler_has_its_own():
    both = pd.concat(
        [rows((100, 90), (100, 90)), rows((100, 50), (100, 50), tool="ftrace_cost").query("profiled")]
    )
    found = overheads(both).set_index("tool").overhead_pct
    assert found["perf_lock"] == pytest.approx(10) and found["ftrace_cost"] == pytest.approx(50)


def test_rates_of_ranks_and_of_removal_are_not_taken():
    more = rows((100, 90), (100, 90))
    other = pd.DataFrame(
        [
            {**row, **change}
            for row in more.to_dict("records")
            for change in ({"test": "remove"}, {"statistic": "slowest_rank"})
        ]
    ).assign(value=1.0)
    (one,) = overheads(pd.concat([more, other])).to_dict("records")
    assert one["overhead_pct"] == pytest.approx(10)


def test_a_run_without_such_rates_is_refused():
    with pytest.raises(BadInput, match="no rate under a profiler"):
        overheads(rows((100, 90)).query("not profiled"))
