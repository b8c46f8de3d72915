# SPDX-License-Identifier: MIT
"""data/measured/repredicted.json: what is told of kept runs, never from a study's own patched rates."""

import re
from dataclasses import replace
from functools import cache

import pandas as pd
import pytest

from lockscale.files import sha256_of
from lockscale.measure.count_calls import first_counts_of
from lockscale.measure.run import first_rates_of
from lockscale.measure.run_folder import Run, read_prediction
from lockscale.paths import MEASURED
from lockscale.show import repredicted
from lockscale.show.prediction import learned_elsewhere
from lockscale.show.repredicted import (
    GainAgain,
    Resimulated,
    again_text,
    again_totals,
    gains_again,
    kept_counts,
    kept_repredicted,
    learned_from_others,
    resimulate,
    runs_to_tell,
    study_of,
    told_again,
)


@cache
def known() -> tuple[Resimulated, ...]:
    return tuple(kept_repredicted())


def of(study: str) -> Resimulated:
    return next(one for one in known() if one.run.startswith(f"{study}-2"))


def test_every_kept_run_whose_unpatched_arm_was_measured_first_is_told_again_from_those_rows():
    assert [one.run for one in known()] == [run.id for run in runs_to_tell()]
    for one in known():
        assert one.sha256 == sha256_of(first_rates_of(Run(MEASURED / one.run)).rows)
    for told in kept_counts():
        assert told.sha256 == sha256_of(first_counts_of(Run(MEASURED / told.run)).rows)


@pytest.mark.slow
def test_it_tells_what_was_predicted_before_and_changes_no_kept_prediction():
    rows = gains_again(known())
    said = {(one["arm"], one["threads"]): one for one in read_prediction(runs_to_tell()[0])["run"]["gains"]}
    first = [row for row in rows if row.study == study_of(runs_to_tell()[0]).name]
    assert len(first) == len(said)
    assert all(row.first == said[row.arm, row.threads]["value"] for row in first)


@pytest.mark.slow
def test_nine_of_ten_gains_are_held_from_other_studies_alone_and_none_is_on_the_wrong_side():
    totals = again_totals(gains_again(known()))
    assert totals.gains == 150 and totals.holds >= 0.9 * totals.gains and totals.wrong_side == 0
    assert totals.width < totals.first_width / 2.5


@pytest.mark.slow
def test_a_study_teaches_nothing_about_itself():
    one = of("inode-claim")
    others = [other for other in known() if other is not one]
    assert learned_from_others("inode-claim", known()) == learned_from_others("inode-claim", others)
    assert told_again(one, known()) == told_again(one, others)
    far = [replace(gain, mean=gain.mean + 9) for gain in one.simulated.gains]
    wrong = replace(one, simulated=replace(one.simulated, gains=far))
    assert learned_from_others("inode-claim", [*others, wrong]) == learned_from_others("inode-claim", others)
    assert (
        learned_from_others("orphan-file", [*others, wrong]).relative
        > 1.1 * learned_from_others("orphan-file", known()).relative
    )


@pytest.mark.slow
def test_a_new_run_is_predicted_with_what_the_kept_ones_say():
    study = study_of(runs_to_tell()[0])
    assert learned_elsewhere(study) == learned_from_others(study.name, known())


@pytest.mark.slow
def test_a_line_that_the_study_is_not_about_is_counted_full_in_the_run_that_it_ended():
    """At 16 processes a buffer head was on its way for 99% of the time, and no arm of handle-start gained."""
    gains = {(one.arm, one.threads): one for one in of("handle-start").simulated.gains}
    assert gains["updates-per-cpu", 16].full > 0.99 > gains["updates-per-cpu", 64].full > 0.3
    (row,) = [
        row
        for row in gains_again(known())
        if (row.study, row.arm, row.threads) == ("handle-start", "updates-per-cpu", 16)
    ]
    assert row.measured == pytest.approx(1.0, abs=0.01) and row.again_high < 1.5 < row.first_high


def test_totals_count_what_they_say():
    good = GainAgain("s", "a", 2, 1.5, 1.4, 1.0, 2.0, True, 1.4, 1.2, 1.8, True)
    wrong = GainAgain("s", "b", 2, 0.9, 1.4, 0.8, 2.4, True, 1.4, 1.2, 1.8, False)
    totals = again_totals([good, wrong])
    assert (totals.gains, totals.held, totals.holds, totals.wrong_side) == (2, 2, 1, 1)
    assert totals.width == pytest.approx(1.5) and totals.first_width == pytest.approx(2.5)
    said = again_text([good, wrong], pd.DataFrame({"arm": ["a", "b"], "inside": [True, False]}))
    assert "not blind: 1 of the intervals held, median width 1.50, 1 entirely on the wrong side of 1" in said
    assert "from those of one arm: 1 of the 2 intervals of 95% held" in said
    assert re.search(r"1\.00 to 2\.00 +yes", said) and re.search(r"1\.20 to 1\.80 +no", said)
    assert "True" not in said and "again_low" not in said and "wrong_side" not in said


@pytest.mark.slow
def test_what_is_kept_is_what_the_present_method_simulates():
    (run,) = [run for run in runs_to_tell() if study_of(run).name == "inode-claim"]
    now = resimulate(run).simulated
    kept = of("inode-claim").simulated
    assert [one.arm for one in now.gains] == [one.arm for one in kept.gains]
    assert [one.mean for one in now.gains] == pytest.approx([one.mean for one in kept.gains], abs=1e-6)
    assert [one.sd for one in now.gains] == pytest.approx([one.sd for one in kept.gains], abs=1e-6)


def test_without_the_file_a_prediction_has_the_prior(monkeypatch, tmp_path):
    monkeypatch.setattr(repredicted, "KEPT", tmp_path / "none.json")
    monkeypatch.setattr("lockscale.show.prediction.KEPT", tmp_path / "none.json")
    assert learned_elsewhere(study_of(runs_to_tell()[0])).arms == 0
