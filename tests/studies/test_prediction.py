# SPDX-License-Identifier: MIT
"""What notebook 03 writes is made from the base alone, and cannot be changed after."""

import csv
import json
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.measure.run_folder import Run
from lockscale.show.prediction import answer_for, predict
from lockscale.show.story import Story
from lockscale.study.file import list_studies, load_study

STUDY = load_study("inode-claim")
BASE, PATCHED = "steal-retry", "search-locked"


def published_rates(arm: str) -> list[float]:
    with (paths.PUBLISHED / "s1_rates.csv").open() as lines:
        rows = [r for r in csv.DictReader(lines) if r["arm"] == arm and r["metric"] == "create_rate"]
    return [float(row["value"]) for row in rows]


def test_its_interval_holds_the_published_gain():
    said = predict(STUDY)["published_machine"]
    base, patched = published_rates(BASE), published_rates(PATCHED)
    assert said["gain_low"] < sum(patched) / sum(base) < said["gain_high"]
    assert said["low"] < sum(patched) / 3 < said["high"]


def test_deleting_the_spin_time_predicts_far_too_little():
    said = predict(STUDY)["published_machine"]
    without_spin_us = 1185.72 - 1317641501 / 1440000  # of the traced create
    untraced = (79033 + 81463 + 79875) / 3
    assert said["naive_value"] == pytest.approx(untraced * 1185.72 / without_spin_us, rel=1e-4)
    assert said["naive_value"] < 0.6 * said["low"]


def test_what_is_open_is_said_in_words():
    said = predict(STUDY)["published_machine"]["open"]
    assert any("profile one process on the same kernel" in one for one in said)


def test_a_guest_loses_at_most_one_claim_to_each_other_processor():
    for point in predict(STUDY)["guests"]:
        assert point["low"] == 0
        assert point["high"] == min(point["threads"], point["cpus"]) - 1
    points = [(g.cpus, n) for g in STUDY.parameters.guests for n in g.processes]
    assert [(p["cpus"], p["threads"]) for p in predict(STUDY)["guests"]] == points


@pytest.mark.slow
@pytest.mark.parametrize("study", list_studies())
def test_each_study_is_predicted_for_the_machine_of_its_tables(study: str):
    said = predict(load_study(study))
    assert said["used"] and said["predictions"]
    assert all(one["low"] <= one["value"] <= one["high"] for one in said["predictions"])


def test_a_study_of_ones_own_predicts_nothing_and_says_what_to_ask():
    own = STUDY.model_copy(update={"name": "my-study"})
    assert predict(own)["predictions"] == [] and predict(own)["guests"] == []
    assert (predict(own)["origin"], predict(STUDY)["origin"]) == ("not stated", "published")
    (missing,) = answer_for(own).open
    assert "--profile" in missing.measurement


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(STUDY, Run(tmp_path / "inode-claim-20260101T000000Z"), by_hand=False)


def test_what_was_written_is_read_again(story: Story):
    sha256 = story.write_prediction(predict(STUDY))
    said = story.read_prediction()
    assert said.pop("sha256") == sha256
    assert said == predict(STUDY)


def test_a_prediction_changed_after_it_was_written_is_refused(story: Story):
    story.write_prediction(predict(STUDY))
    path = story.run.prediction
    said = json.loads(path.read_text())
    said["published_machine"]["high"] *= 1.0001
    path.write_text(json.dumps(said))
    with pytest.raises(BadInput, match="changed after it was written"):
        story.read_prediction()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"sha256": 3}'])
def test_a_damaged_prediction_is_refused(story: Story, content: str):
    story.run.folder.mkdir()
    story.run.prediction.write_text(content)
    with pytest.raises(BadInput, match="start a new run"):
        story.read_prediction()


def test_none_written_is_one_sentence(story: Story):
    with pytest.raises(BadInput, match="run notebook 03"):
        story.read_prediction()


def test_once_a_step_is_measured_the_prediction_stands(story: Story):
    first = story.write_prediction(predict(STUDY))
    story.run.journal.write_text("measured\n")
    assert story.write_prediction({**predict(STUDY), "study": "another"}) == first
    assert story.read_prediction()["study"] == "inode-claim"
