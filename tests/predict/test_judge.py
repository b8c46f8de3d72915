# SPDX-License-Identifier: MIT
"""Fits of measured rates: with too few points nothing is fitted, and nothing fails."""

import pandas as pd
import pytest
from scipy.stats import ttest_ind

from lockscale.errors import BadInput
from lockscale.measure.rows import read_rows
from lockscale.measure.run_folder import curated_run
from lockscale.predict.predicted_against_measured import (
    CANNOT_BE_TOLD,
    NO,
    YES,
    fit_rates,
    fullest_guest,
    judge_counters,
    judge_guests,
    judge_rates,
)
from lockscale.show.prediction import predict
from lockscale.study.file import load_study

STUDY = load_study("inode-claim")


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return read_rows(curated_run("inode-claim").rows)


def test_one_number_of_processes_fits_no_model(rows: pd.DataFrame):
    found = fit_rates(rows[rows.threads == 2], STUDY, 4)
    assert found.comparison is None
    assert set(found.column.threads) == {2} and found.column.origin == "qemu"


@pytest.mark.slow
def test_the_whole_run_is_compared_with_the_noise_of_its_repeats(rows: pd.DataFrame):
    found = fit_rates(rows, STUDY, fullest_guest(rows))
    assert found.comparison is not None
    errors = [one.loo_pct for one in found.comparison.fits if one.loo_pct is not None]
    assert errors == sorted(errors)
    assert found.comparison.noise is not None and found.comparison.noise.source == "repeats"


def test_cpus_that_were_not_measured_are_one_sentence(rows: pd.DataFrame):
    with pytest.raises(BadInput, match="did not measure search-locked on 5 CPUs"):
        fit_rates(rows, STUDY, 5)


def test_the_prediction_is_judged_at_every_measured_point(rows: pd.DataFrame):
    judged = judge_guests(predict(STUDY), rows, STUDY).set_index("threads")
    assert list(judged.index) == [1, 2, 4, 8]
    assert list(judged.holds[[1, 4, 8]]) == [YES] * 3


@pytest.mark.parametrize(
    ("before", "upstream", "processes", "holds"),
    [
        # More retries than two processors can make, without any doubt, and fewer than none at all.
        ((1.5, 1.6, 1.7), (0.0, 0.0, 0.0), 2, NO),
        ((0.0, 0.0, 0.0), (0.5, 0.5, 0.5), 2, NO),
        # One process alone loses nothing; if it did, nobody could have told.
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 1, YES),
        ((0.5, 0.6, 0.7), (0.0, 0.0, 0.0), 1, NO),
        # Lost claims that are seen, or that drown in what the upstream arm itself varies by.
        ((0.2, 0.3, 0.4), (0.0, 0.0, 0.01), 2, YES),
        ((0.2, 0.3, 0.4), (0.0, 0.0, 0.35), 2, CANNOT_BE_TOLD),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 2, CANNOT_BE_TOLD),
        ((0.8, 1.2, 1.3), (0.0, 0.0, 0.0), 2, CANNOT_BE_TOLD),
    ],
)
def test_a_bound_holds_or_not_or_the_counts_do_not_tell(before, upstream, processes: int, holds: str):
    rows = access_counts(processes, {"steal-retry": before, "search-locked": upstream})
    (judged,) = judge_guests({"guests": [claims_lost(processes)]}, rows, STUDY).to_dict("records")
    assert judged["holds"] == holds


def claims_lost(processes: int) -> dict[str, object]:
    """At most the others' claims, on a processor each."""
    high = float(processes - 1)
    metric = "extra jbd2_journal_get_write_access"
    return {"cpus": 4, "threads": processes, "metric": metric, "low": 0.0, "high": high}


def access_counts(processes: int, extra_of: dict[str, tuple[float, ...]]) -> pd.DataFrame:
    """Profiles of 1000 creates a block, of 8 calls each and so many more."""
    where = {"study": "inode-claim", "cpus": 4, "threads": processes, "pair": "ab", "origin": "qemu"}
    return pd.DataFrame(
        {**where, "arm": arm, "block": k, "iteration": k, "tool": "ftrace_cost", "metric": name, "value": v}
        for arm, values in extra_of.items()
        for k, extra in enumerate(values, start=1)
        for name, v in (
            ("creates", 1000.0),
            ("jbd2_journal_get_write_access.calls", 1000 * (8 + extra)),
        )
    )


WAITS = "waits for an orphan lock"


def fitted(arm: str, threads: int, value: float, low: float, high: float) -> dict[str, object]:
    at = {"fitted_arm": "orphan-mutex", "arm": arm, "cpus": 4, "threads": threads, "own_processors": True}
    return {
        "kind": "fitted",
        **at,
        "metric": WAITS,
        "unit": "per orphan",
        "value": value,
        "low": low,
        "high": high,
    }


def orphan_counts(waits: tuple[float, ...], arm: str = "orphan-locked", threads: int = 2) -> pd.DataFrame:
    """Of 100 orphans a block."""
    where = {"arm": arm, "cpus": 4, "threads": threads, "pair": "ab", "tool": "observe"}
    return pd.DataFrame(
        {**where, "block": k, "iteration": k, "metric": metric, "value": value}
        for k, waited in enumerate(waits, start=1)
        for metric, value in (
            ("trace:ext4_orphan_lock_wait", waited),
            ("calls:ext4_orphan_add", 100.0),
            ("calls:jbd2_journal_get_write_access", 400.0),
        )
    )


def test_counts_of_an_arm_stand_beside_what_another_one_told_of_them():
    said = {"guests": [fitted("orphan-locked", 2, 0.6, 0.1, 0.7), fitted("orphan-locked", 4, 0.6, 0.1, 0.7)]}
    judged = judge_counters(said, orphan_counts((40, 50, 60)), load_study("orphan-file"))
    here, not_counted = judged.to_dict("records")
    assert here["measured"] == pytest.approx(0.5) and here["blocks"] == 3 and here["inside"]
    assert here["error"] == pytest.approx(0.1) and here["error_pct"] == pytest.approx(20)
    # Student's t of three blocks: 4.303 x 0.1 / sqrt(3)
    assert here["measured_high"] - 0.5 == pytest.approx(0.2484, rel=1e-3)
    assert here["measured_low"] == pytest.approx(0.5 - 0.2484, rel=1e-3)
    assert not_counted["blocks"] == 0 and pd.isna(not_counted["error_pct"])


def test_two_blocks_have_no_interval_and_no_count_has_one_below_none():
    said = {"guests": [fitted("orphan-locked", 2, 0.6, 0.1, 0.7)]}
    study = load_study("orphan-file")
    (two,) = judge_counters(said, orphan_counts((40, 60)), study).to_dict("records")
    assert two["measured"] == pytest.approx(0.5) and two["inside"]
    assert pd.isna(two["measured_low"]) and pd.isna(two["measured_high"])
    (three,) = judge_counters(said, orphan_counts((0, 0, 30)), study).to_dict("records")
    assert three["measured_low"] == 0 < three["measured_high"]


def test_more_of_a_counter_than_the_upstream_arm_may_be_less_than_none():
    counts = {"steal-retry": (-0.1, 0.0, 0.1), "search-locked": (0.0, 0.0, 0.0)}
    said = {**claims_lost(2), "kind": "fitted", "arm": "steal-retry", "value": 0.1}
    (judged,) = judge_counters({"guests": [said]}, access_counts(2, counts), STUDY).to_dict("records")
    assert judged["measured_low"] == pytest.approx(-0.2484, rel=1e-3)


def test_the_interval_of_more_of_a_counter_has_the_noise_of_both_arms():
    counts = {"steal-retry": (0.4, 0.5, 0.6), "search-locked": (0.0, 0.3, 0.1)}
    said = {**claims_lost(2), "kind": "fitted", "arm": "steal-retry", "value": 0.1}
    (judged,) = judge_counters({"guests": [said]}, access_counts(2, counts), STUDY).to_dict("records")
    of_both = ttest_ind(*counts.values(), equal_var=False).confidence_interval()
    ends = [judged["measured_low"], judged["measured_high"]]
    assert ends == pytest.approx([of_both.low, of_both.high], rel=1e-6)


def test_a_prediction_that_is_far_off_is_shown_with_its_error():
    said = {"guests": [fitted("orphan-locked", 2, 0.1, 0.05, 0.2)]}
    (far,) = judge_counters(said, orphan_counts((40, 60)), load_study("orphan-file")).to_dict("records")
    assert not far["inside"] and far["error_pct"] == pytest.approx(-80)


def test_extra_calls_are_those_above_the_upstream_arm(rows: pd.DataFrame):
    at = {
        "fitted_arm": "search-locked",
        "arm": "steal-retry",
        "cpus": 4,
        "threads": 4,
        "own_processors": False,
    }
    said = {"kind": "fitted", **at, "metric": "extra jbd2_journal_get_write_access", "unit": "calls/create"}
    (judged,) = judge_counters(
        {"guests": [{**said, "value": 0.1, "low": 0.0, "high": 0.5}]}, rows, STUDY
    ).to_dict("records")
    held = judge_guests(predict(STUDY), rows, STUDY).set_index("threads")
    assert judged["measured"] == pytest.approx(held.extra[4]) and judged["inside"]


def test_where_nothing_was_predicted_nothing_is_judged(rows: pd.DataFrame):
    assert judge_counters(predict(STUDY), rows, STUDY).empty


def rate_rows(origin: str) -> pd.DataFrame:
    """Two blocks of one patched arm at 8 processes, made up."""
    common = {"arm": "patched", "tool": "fsload", "pair": "ab", "iteration": 1, "test": "create"}
    common |= {"metric": "rate", "statistic": "total"}
    common |= {"unit": "ops/s", "cpus": 64, "threads": 8, "profiled": False, "origin": origin}
    return pd.DataFrame([{**common, "block": k, "value": v} for k, v in ((1, 90.0), (2, 110.0))])


def rate_said(low: float, high: float) -> dict[str, object]:
    said = {"arm": "patched", "threads": 8, "unit": "creates/s", "value": 120.0, "low": low, "high": high}
    return {"origin": "virtual", "predictions": [{**said, "metric": "create_rate", "naive_value": 200.0}]}


@pytest.mark.parametrize(("low", "high", "held"), [(99.0, 130.0, True), (101.0, 130.0, False)])
def test_a_rate_is_judged_by_the_mean_of_its_repeats(low: float, high: float, held: bool):
    (row,) = judge_rates(rate_said(low, high), rate_rows("virtual")).to_dict("records")
    assert (row["measured"], row["measured_low"], row["measured_high"]) == (100.0, 90.0, 110.0)
    assert (row["repeats"], row["inside"]) == (2, held)
    assert row["error_pct"] == pytest.approx(20.0)


@pytest.mark.parametrize("origin", ["qemu", "hardware"])
def test_a_rate_of_another_machine_than_the_bases_is_not_judged(origin: str):
    assert judge_rates(rate_said(1.0, 2.0), rate_rows(origin)).empty


def test_a_prediction_from_a_published_table_is_not_of_the_runs_own_machine(rows: pd.DataFrame):
    assert judge_rates(predict(STUDY), rows).empty
    assert judge_rates({"predictions": predict(STUDY)["predictions"], "guests": []}, rows).empty
