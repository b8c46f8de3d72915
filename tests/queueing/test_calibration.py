# SPDX-License-Identifier: MIT
"""Do 95% intervals cover in 95% of synthetic tables, and is what a table cannot tell flagged?"""

import os
from multiprocessing import get_context

import numpy as np
import pytest
from campaign import Outcome, outcomes
from scipy.stats import binom

from lockscale.queueing import MODELS

COVER = (0.92, 0.98)
FLAGGED = 0.95
CHUNK = 5


def shares(found: list[Outcome]) -> tuple[list[bool], list[bool]]:
    """Of identified parameters: held or not; of truly unidentified ones: flagged or not."""
    held = [one.held for one in found if one.identified]
    flagged = [not one.identified for one in found if one.truly_unidentified]
    return held, flagged


def may_be(hits: int, tries: int, low: float, high: float) -> bool:
    """Whether a true share within low..high gives so few or so many in all but 0.1% of cases."""
    return bool(binom.ppf(0.001, tries, low) <= hits <= binom.ppf(0.999, tries, high))


def check_each_parameter(found: list[Outcome]) -> None:
    for name in {one.parameter for one in found}:
        held, flagged = shares([one for one in found if one.parameter == name])
        assert may_be(sum(held), len(held), *COVER), name
        assert may_be(sum(flagged), len(flagged), FLAGGED, 1.0), name


@pytest.mark.slow
@pytest.mark.parametrize("model", ["usl", "machine_repairman", "hand_over", "retry_storm"])
def test_fifty_tables_of_each_of_four_models(model):
    found = outcomes(model, 0, 10)
    check_each_parameter(found)
    assert sum(one.identified for one in found) > len(found) / 3


@pytest.fixture(scope="module")
def pool():
    """Two processes at most: results do not depend on how many there are."""
    threads = "OMP_NUM_THREADS"
    before = os.environ.get(threads)
    os.environ[threads] = "1"
    with get_context("spawn").Pool(min(2, os.cpu_count() or 1)) as workers:
        yield workers
    if before is None:
        del os.environ[threads]
    else:
        os.environ[threads] = before


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
def test_five_hundred_tables_of_every_model(model, pool):
    parts = pool.starmap(outcomes, [(model, first, CHUNK) for first in range(0, 100, CHUNK)])
    found = [one for part in parts for one in part]
    check_each_parameter(found)
    held, flagged = shares(found)
    assert COVER[0] <= np.mean(held) <= COVER[1]
    assert not flagged or np.mean(flagged) >= FLAGGED
