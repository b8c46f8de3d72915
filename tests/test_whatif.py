# SPDX-License-Identifier: MIT
"""The prediction is made from the base alone, before anything is measured, and cannot be changed after."""

import csv
import hashlib
import json
import shutil
from pathlib import Path

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.experiment.layout import Run
from lockscale.story import Story
from lockscale.study import load_study
from lockscale.whatif import predict

STUDY = load_study("inode-claim")
BASE, PATCHED = "steal-retry", "search-locked"


def published_rates(arm: str) -> list[float]:
    with (paths.PUBLISHED / "s1_rates.csv").open() as lines:
        rows = [r for r in csv.DictReader(lines) if r["arm"] == arm and r["metric"] == "create_rate"]
    return [float(row["value"]) for row in rows]


@pytest.fixture
def without_the_patched_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of data/ from which every number of the patched arm is gone."""
    data = tmp_path / "data"
    shutil.copytree(paths.DATA, data)
    table = data / "published" / "s1_rates.csv"
    kept = [line for line in table.read_text().splitlines(keepends=True) if f",{PATCHED}," not in line]
    table.write_text("".join(kept))
    package = json.loads((data / "datapackage.json").read_text())
    (resource,) = [r for r in package["resources"] if r["name"] == "s1_rates"]
    resource["rows"] = len(kept) - 1
    resource["hash"] = "sha256:" + hashlib.sha256(table.read_bytes()).hexdigest()
    (data / "datapackage.json").write_text(json.dumps(package))
    monkeypatch.setattr(paths, "DATA", data)


def test_the_prediction_needs_no_number_of_the_patched_kernel(request: pytest.FixtureRequest):
    whole = predict(STUDY)
    request.getfixturevalue("without_the_patched_rows")
    assert predict(STUDY) == whole


def test_its_interval_holds_the_published_gain():
    said = predict(STUDY)["published_machine"]
    base, patched = published_rates(BASE), published_rates(PATCHED)
    assert said["gain_low"] < sum(patched) / sum(base) < said["gain_high"]
    assert said["low"] < sum(patched) / 3 < said["high"]


def test_its_ends_are_the_storms_law_by_hand():
    """Gain = N / (N - W), W the lost claims a create: 50.748 calls less the 7.93 without retries."""
    said = predict(STUDY)["published_machine"]
    lost = 73077185 / 1440000 - 7.93
    assert said["gain_low"] == pytest.approx(48 / (48 - lost))
    assert said["gain_high"] == pytest.approx(48 / (48 - lost - 1))
    assert said["low"] == pytest.approx(sum(published_rates(BASE)) / 3 * said["gain_low"])


def test_deleting_the_spin_time_predicts_far_too_little():
    said = predict(STUDY)["published_machine"]
    assert said["naive_value"] == pytest.approx(48e6 / (1185.72 - 1317641501 / 1440000))
    assert said["naive_value"] < said["low"] / 2


def test_a_guest_loses_at_most_one_claim_to_each_other_processor():
    for point in predict(STUDY)["guests"]:
        assert point["low"] == 0
        assert point["high"] == min(point["threads"], point["cpus"]) - 1
    points = [(g.cpus, n) for g in STUDY.parameters.guests for n in g.processes]
    assert [(p["cpus"], p["threads"]) for p in predict(STUDY)["guests"]] == points


def test_a_study_without_the_outside_number_is_refused():
    with pytest.raises(BadInput, match="calls_without_retry"):
        predict(STUDY.model_copy(update={"calls_without_retry": None}))


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
