# SPDX-License-Identifier: MIT
"""Fits of measured rates: with too few points nothing is fitted, and nothing fails."""

import pandas as pd
import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.experiment.rows import read_rows
from lockscale.judge import fit_rates, fullest_guest, judge_guests
from lockscale.study import load_study
from lockscale.whatif import predict

STUDY = load_study("inode-claim")


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return read_rows(sorted(paths.MEASURED.glob("inode-claim-2*/rows.csv"))[-1])


def test_one_number_of_processes_fits_no_model(rows: pd.DataFrame):
    found = fit_rates(rows[rows.threads == 2], STUDY, 4)
    assert found.comparison is None
    assert set(found.column.threads) == {2} and found.column.origin == "qemu"


@pytest.mark.slow
def test_the_whole_run_is_compared_with_the_noise_of_its_repeats(rows: pd.DataFrame):
    found = fit_rates(rows, STUDY, fullest_guest(STUDY))
    assert found.comparison is not None
    errors = [one.loo_pct for one in found.comparison.fits if one.loo_pct is not None]
    assert errors == sorted(errors)
    assert found.comparison.noise is not None and found.comparison.noise.source == "repeats"


def test_cpus_that_were_not_measured_are_one_sentence(rows: pd.DataFrame):
    with pytest.raises(BadInput, match="measured nothing of search-locked on 5 CPUs"):
        fit_rates(rows, STUDY, 5)


def test_the_prediction_is_judged_at_every_measured_point(rows: pd.DataFrame):
    judged = judge_guests(predict(STUDY), rows, STUDY).set_index("threads")
    assert list(judged.index) == [1, 2, 4, 8, 48]
    assert judged.holds[[1, 4, 8, 48]].all()
