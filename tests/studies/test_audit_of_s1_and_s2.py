# SPDX-License-Identifier: MIT
"""What the tables of S1 and S2 say when checked; the expected numbers are hand arithmetic."""

import numpy as np
import pytest
from scipy import stats

from audit_lines import line


def test_ten_times_is_in_the_means_but_within_their_noise():
    row = line("s1_rates", "10X")
    assert row["recomputed"] == pytest.approx(2_437_439 / 240_371)
    assert (row["low"], row["high"]) == pytest.approx((9.77, 10.53), abs=0.005)
    assert row["verdict"] == "unknown"


def test_removal_gains_four_and_a_half_percent():
    row = line("s1_rates", "removal")
    assert row["recomputed"] == pytest.approx(902_075 / 863_403)
    assert row["verdict"] == "holds" and row["low"] > 1.02


def test_48_processes_of_30000_files_create_the_files_of_the_title():
    row = line("s1_rates", "1,440,000 files")
    assert row["recomputed"] == 48 * 30_000 and row["verdict"] == "holds"


def test_creates_with_the_patch_take_under_two_seconds():
    row = line("s1_rates", "commit interval")
    assert row["recomputed"] == pytest.approx(1.44e6 * (1 / 810_669 + 1 / 812_805 + 1 / 813_965) / 3)
    assert (row["low"], row["high"]) == pytest.approx((1.76912, 1.77631), abs=1e-5)
    assert row["verdict"] == "holds"


@pytest.mark.parametrize(
    ("name", "functions", "pairs"),
    [("s1_function_cost", 8, 3), ("s2_function_cost_without", 22, 4), ("s2_function_cost_with", 17, 3)],
)
def test_function_costs_obey_their_own_arithmetic(name, functions, pairs):
    row = line(name, "count x average")
    assert (row["printed"], row["recomputed"], row["verdict"]) == (functions, functions, "holds")
    row = line(name, "longer than its caller")
    assert (row["printed"], row["recomputed"], row["verdict"]) == (pairs, pairs, "holds")


@pytest.mark.parametrize(
    ("name", "asked", "counted"),
    [
        ("s1_function_cost", 1_440_000, 1_440_000),
        ("s2_function_cost_without", 2_000_000, 2_000_016),
        ("s2_function_cost_with", 2_000_000, 2_000_016),
    ],
)
def test_profiled_runs_create_as_many_files_as_the_rate_runs(name, asked, counted):
    row = line(name, "as many files")
    assert (row["printed"], row["recomputed"], row["verdict"]) == (asked, counted, "holds")


def test_function_costs_of_s1_need_95_processes_of_48():
    # 1707.443399 s in ext4_create; 1 440 000 creates at the mean rate take 17.9722 s.
    row = line("s1_function_cost", "is the run of s1_rates")
    assert row["printed"] == 48
    assert row["recomputed"] == pytest.approx(1707.443399 / (1_440_000 * 3 / 240_371))
    assert row["verdict"] == "fails" and row["low"] > 90
    assert "40482 creates/s" in row["note"]  # 48 / 1185.7246 us


def test_three_quarters_of_an_s1_create_are_spinning():
    row = line("s1_function_cost", "_raw_spin_lock")
    assert row["recomputed"] == pytest.approx(100 * 1317.641501 / 1707.443399)
    assert row["verdict"] == "holds" and "35%" in row["note"]  # 1 - 1707.443399 / 2 / 1317.641501


def test_attempts_of_s1_are_bounded_by_its_get_write_access_calls():
    row = line("s1_function_cost", "more than one attempt")
    assert (row["low"], row["high"]) == (1, pytest.approx(73_077_185 / 1_440_000))
    assert row["verdict"] == "unknown" and "125.6 spin locks" in row["note"]


def test_cheaper_write_access_is_a_regression():
    row = line("s2_mds_survey", "slower")
    assert row["recomputed"] == pytest.approx(35_689.72 / 119_346.25)
    assert row["verdict"] == "holds"
    row = line("s2_function_cost_with", "cheaper")
    assert row["recomputed"] == pytest.approx((660_607_521 / 28_364_899) / (44_399_656 / 103_374_244))
    assert row["verdict"] == "holds"


def test_survey_extremes_are_thousands_of_creates_in_a_second():
    # 25000 / 24997.45 = 1.000102; 47000 / 46995.91 = 1.000087; 39000 / 38996.65; 144000 / 143993.95
    row = line("s2_mds_survey", "thousands")
    assert (row["printed"], row["recomputed"], row["verdict"]) == (4, 4, "holds")
    assert line("s2_mds_survey", "within its")["verdict"] == "holds"


def test_single_survey_is_14_percent_below_the_five_runs():
    runs = [135_864, 137_432, 135_347, 135_641, 137_300]
    row = line("s2_mds_survey", "single run")
    assert row["recomputed"] == pytest.approx(14.22, abs=0.005)  # 136316.8 / 119346.25
    half = stats.t.ppf(0.975, 4) * np.std(runs, ddof=1) * np.sqrt(1.2) / 119_346.25
    assert row["high"] - row["low"] == pytest.approx(200 * half)
    assert row["verdict"] == "fails" and row["low"] > 11


@pytest.mark.parametrize(
    ("name", "busy"),  # time in creates / (creates / rate)
    [
        ("s2_function_cost_without", 668.090967 / (2_000_016 / 119_346.25)),
        ("s2_function_cost_with", 2510.051302 / (2_000_016 / 35_689.72)),
    ],
)
def test_function_costs_of_s2_can_be_from_the_survey_runs(name, busy):
    row = line(name, "is the run of s2_mds_survey")
    assert row["recomputed"] == pytest.approx(busy) and busy < row["printed"] == 48
    assert row["verdict"] == "unknown" and row["searched"]


def test_s2_regression_is_longer_waits_not_more_calls():
    row = line("s2_function_cost_with", "creates are slower because of")
    assert row["recomputed"] == pytest.approx(100 * (2382.710363 - 8.851352) / (2510.051302 - 668.090967))
    assert row["verdict"] == "holds"
    row = line("s2_function_cost_with", "a lot of")
    added_s = (191_888_590 - 104_218_345) * 8.851352 / 104_218_345
    assert row["recomputed"] == pytest.approx(100 * added_s / (2382.710363 - 8.851352))
    assert row["verdict"] == "fails" and "1.84x" in row["note"] and "146x" in row["note"]


def test_a_create_of_s2_takes_about_38_attempts():
    row = line("s2_function_cost_with", "more than one attempt")
    assert row["recomputed"] == pytest.approx(1 + (103_374_244 - 28_364_899) / 2_000_016)
    assert row["recomputed"] == pytest.approx(38.5, abs=0.005)
    more_bread = (16_197_888 - 15_808_891) / 2_000_016  # ldiskfs_bread, of all others it grew most
    assert row["low"] == pytest.approx(row["recomputed"] - more_bread)
    assert row["high"] == pytest.approx(103_374_244 / 2_000_016)
    assert row["verdict"] == "holds"


def test_an_attempt_of_s2_takes_1_17_spin_locks():
    row = line("s2_function_cost_with", "spin lock at least once")
    assert row["recomputed"] == pytest.approx((191_888_590 - 104_218_345) / (103_374_244 - 28_364_899))
    assert row["recomputed"] == pytest.approx(1.169, abs=5e-4) and row["verdict"] == "holds"
    assert "95.9 with the patch and 52.1 without" in row["note"]


def test_only_bread_and_getblk_are_called_more_often_with_the_patch():
    row = line("s2_function_cost_with", "every other function")
    assert (row["printed"], row["recomputed"], row["verdict"]) == (13, 11, "fails")
    assert "ldiskfs_bread" in row["note"] and "ldiskfs_getblk" in row["note"]


def test_fifty_percent_is_46_and_not_excluded():
    row = line("s2_five_runs", "50%")
    assert row["recomputed"] == pytest.approx(100 * (996_497 / 681_584 - 1))
    assert (row["low"], row["high"]) == pytest.approx((33, 61), abs=0.5)
    assert row["verdict"] == "holds"


def test_destroy_gain_is_within_the_noise():
    before = [241_262, 245_305, 228_004, 223_845, 242_719]
    after = [273_882, 269_771, 235_435, 220_466, 263_998]
    row = line("s2_five_runs", "destroy")
    assert row["recomputed"] == pytest.approx(100 * (1_263_552 / 1_181_135 - 1))
    assert row["low"] < 0 < row["high"] and row["verdict"] == "unknown"
    assert "p = 0.2;" in row["note"]
    test = stats.permutation_test((before, after), lambda x, y: np.mean(y) - np.mean(x), n_resamples=np.inf)
    assert test.pvalue > 0.05  # no normal law assumed


def test_creates_with_the_prototype_scatter_fifteenfold():
    row = line("s2_five_runs", "scatter")
    assert row["recomputed"] == pytest.approx(15.676, abs=5e-4) and row["verdict"] == "holds"


def test_prototype_ran_near_the_survey_without_the_patch():
    row = line("s2_five_runs", "sat on")
    assert row["recomputed"] == pytest.approx(136_316.8 / 119_346.25) and row["verdict"] == "unknown"
    assert "3.82x" in row["note"]  # 136316.8 / 35689.72


def test_a_quarter_million_creates_are_in_no_table():
    row = line("s2_five_runs", "250K")
    assert (row["printed"], row["recomputed"], row["verdict"]) == (250_000, 223_178, "unknown")
