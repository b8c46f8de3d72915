# SPDX-License-Identifier: MIT
"""Rows of a run that nobody measured: rates with known effects, noise, drift and warm-up."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lockscale.study import Study, load_study

POINTS = (1, 4, 8)
ARMS = ("search-locked", "steal-retry")  # the base first


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
            log += effect * (arm == ARMS[1]) + drift * block + warm_up * (block == 1)
            rows.append((pair, block, iteration, arm, threads, float(np.exp(log))))
    frame = pd.DataFrame(rows, columns=["pair", "block", "iteration", "arm", "threads", "value"])
    more = {"tool": "fsload", "cpus": 4, "test": "create", "metric": "rate", "statistic": "total"}
    return frame.assign(**more, unit="ops/s", profiled=False, origin="hardware")
