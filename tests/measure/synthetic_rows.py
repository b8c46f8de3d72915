# SPDX-License-Identifier: MIT
"""Rows of a run that nobody measured: rates with known effects, noise, drift and warm-up."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from lockscale.study.file import Study, load_study

POINTS = (1, 4, 8)
ARMS = ("search-locked", "steal-retry")  # patched, unpatched


def study(points: Sequence[int] = POINTS) -> Study:
    return load_study("inode-claim", {"guests": [{"cpus": 4, "processes": list(points)}]})


def rates(
    seed: int,
    blocks: int,
    *,
    noise: float = 0.03,
    effect: float = 0.0,
    drift: float = 0.0,
    warm_up: float = 0.0,
    points: Sequence[int] = POINTS,
) -> pd.DataFrame:
    """An A/A pair and `blocks` blocks; noise: sd of log rates; the other changes are log rates too."""
    rng = np.random.default_rng(seed)
    steps = [("aa", 0, k, ARMS[0]) for k in (1, 2)]
    steps += [("ab", block, block, arm) for block in range(1, blocks + 1) for arm in ARMS]
    rows = []
    for pair, block, iteration, arm in steps:
        for threads in points:
            log = np.log(1000.0 * threads) + noise * rng.standard_normal()
            log += effect * (arm == ARMS[0]) + drift * block + warm_up * (block == 1)
            rows.append((pair, block, iteration, arm, threads, float(np.exp(log))))
    frame = pd.DataFrame(rows, columns=["pair", "block", "iteration", "arm", "threads", "value"])
    more = {"tool": "fsload", "cpus": 4, "test": "create", "metric": "rate", "statistic": "total"}
    return frame.assign(**more, unit="ops/s", profiled=False, origin="hardware")


def counts(
    seed: int, blocks: int, sources: dict[str, float], *, effect: float = 0.0, points: Sequence[int] = POINTS
) -> pd.DataFrame:
    """What observe kernels of orphan-file's arms count: Poisson about `sources`, each over 1000 orphans.

    effect: what orphan-lockless counts more of each source, as a log rate.
    """
    rng, rows = np.random.default_rng(seed), []
    for block in range(1, blocks + 1):
        for arm in ("orphan-lockless", "orphan-mutex", "orphan-locked", "orphan-off"):
            for threads in points:
                more = np.exp(effect * (arm == "orphan-lockless"))
                found = {name: float(rng.poisson(mean * more)) for name, mean in sources.items()}
                found["calls:ext4_orphan_add"] = 1000.0
                rows += [(block, block, arm, threads, name, value) for name, value in found.items()]
    frame = pd.DataFrame(rows, columns=["block", "iteration", "arm", "threads", "metric", "value"])
    return frame.assign(study="orphan-file", tool="observe", cpus=4, pair="ab", origin="qemu")


def calls(seed: int, blocks: int, **changes: Any) -> pd.DataFrame:
    """rates() as calls of get_write_access over 1000 creates: an A/A pair and `blocks` blocks."""
    rows = rates(seed, blocks, **changes).assign(tool="ftrace_cost", profiled=True, statistic="total")
    found = rows.assign(metric="jbd2_journal_get_write_access.calls", value=(8 * rows.value).round())
    creates = rows.assign(metric="creates", value=1000.0 * rows.threads)
    return pd.concat([found, creates], ignore_index=True)


def latencies(seed: int, blocks: int, statistics: Sequence[str], **changes: Any) -> pd.DataFrame:
    """rates() as these percentiles of the latency, each with noise of its own."""
    return pd.concat(
        rates(1000 * seed + k, blocks, **changes).assign(metric="latency", unit="ns", statistic=name)
        for k, name in enumerate(statistics)
    )
