# SPDX-License-Identifier: MIT
"""The profiles of a measured run, summed over the A/B repeats of a point."""

import gzip
from collections.abc import Sequence

import pandas as pd

from lockscale.measure.layout import Run
from lockscale.tools.folded import Folded, merge, read


def folded_stacks(run: Run, arm: str, cpus: int, threads: int) -> Folded | None:
    """Of all repeats together; None where the run was not sampled at this point."""
    kept = sorted(run.raw.glob(f"*-ab*-{arm}-{cpus}cpu/perf_record-{threads}.txt.gz"))
    parts = [read(gzip.decompress(path.read_bytes()).decode()) for path in kept]
    return merge(parts) if parts else None


def lock_waits_of(rows: pd.DataFrame, arms: Sequence[str], cpus: int, threads: int) -> pd.DataFrame:
    """lock_waits() of several arms below one another, with columns arm and origin."""
    tables = [lock_waits(rows, arm, cpus, threads).assign(arm=arm) for arm in arms]
    origins = rows.drop_duplicates("arm").set_index("arm").origin
    table = pd.concat(tables, ignore_index=True)
    return table.assign(origin=table.arm.map(origins))


def at_point(rows: pd.DataFrame, tool: str, arm: str, cpus: int, threads: int) -> pd.DataFrame:
    """The A/B rows of one tool, arm and point."""
    here = (rows.tool == tool) & (rows.pair == "ab") & (rows.arm == arm)
    return rows[here & (rows.cpus == cpus) & (rows.threads == threads)]


def lock_waits(rows: pd.DataFrame, arm: str, cpus: int, threads: int) -> pd.DataFrame:
    """Waits for locks by caller, the longest first: lock, contentions, wait_ms, mean_us, max_us.

    Empty where the run has no profile of perf lock at this point. A lock that one repeat does not have
    among its longest counts there as not waited for.
    """
    here = at_point(rows, "perf_lock", arm, cpus, threads)
    here = here[here.metric.str.contains(" ")]  # a caller, `<type> <function>.<what>`; the sums have none
    parts = here.metric.str.rsplit(".", n=1, expand=True) if len(here) else pd.DataFrame({0: [], 1: []})
    here = here.assign(lock=parts[0], what=parts[1])
    total, longest = here[here.statistic == "total"], here[here.statistic == "max"]
    wide = total.pivot_table(index="lock", columns="what", values="value", aggfunc="sum")
    wide = wide.reindex(columns=["contentions", "wait"])
    table = pd.DataFrame(
        {
            "contentions": wide.contentions,
            "wait_ms": wide.wait / 1e6,
            "mean_us": wide.wait / wide.contentions / 1e3,
            "max_us": longest.groupby("lock").value.max() / 1e3,
        }
    )
    table = table.rename_axis("lock").reset_index()
    return table.sort_values("wait_ms", ascending=False, ignore_index=True)
