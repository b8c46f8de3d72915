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


def test_two_numbers_of_processes_fit_no_model_of_two_parameters(rows: pd.DataFrame):
    found = fit_rates(rows[rows.threads <= 2], STUDY, 4)
    assert found.parameters.empty and found.ranking.empty and found.curves.empty
    assert list(found.points.threads) == [1, 2]


def test_the_whole_run_is_fitted_by_every_model(rows: pd.DataFrame):
    found = fit_rates(rows, STUDY, fullest_guest(STUDY))
    assert set(found.ranking.model) == {"usl", "machine_repairman", "retry_storm"}
    assert found.ranking.loo_pct.is_monotonic_increasing


def test_cpus_that_were_not_measured_are_one_sentence(rows: pd.DataFrame):
    with pytest.raises(BadInput, match="measured nothing of search-locked on 5 CPUs"):
        fit_rates(rows, STUDY, 5)


def test_the_prediction_is_judged_at_every_measured_point(rows: pd.DataFrame):
    judged = judge_guests(predict(STUDY), rows, STUDY).set_index("threads")
    assert list(judged.index) == [1, 2, 4, 8, 48]
    assert judged.holds[[1, 4, 8, 48]].all()
