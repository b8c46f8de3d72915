# SPDX-License-Identifier: MIT
"""A run in virtual time predicts every arm from the unpatched one before another is booted: real kernels."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from lockscale.errors import BadInput
from lockscale.kernels.build import Kernel
from lockscale.measure.rows import read_rows
from lockscale.measure.run import measure_first_arm, read_first_rates
from lockscale.measure.run_folder import Run
from lockscale.measure.where_time_went import moved_lines
from lockscale.predict.predicted_against_measured import GAINS, judge_gains
from lockscale.show.story import Story
from lockscale.study.file import load_study, load_target
from short_study import SHORT_IN_VIRTUAL_TIME

pytestmark = pytest.mark.guest
STUDY = load_study("inode-claim", SHORT_IN_VIRTUAL_TIME)
UNPATCHED, PATCHED = STUDY.unpatched.name, STUDY.patched.name


@pytest.fixture(scope="module")
def story(kernels: dict[str, Kernel], virtual_run: Run) -> Story:
    """What notebooks 03 and 05 predicted, then measured."""
    assert set(kernels) == {UNPATCHED, PATCHED}
    return Story(STUDY, virtual_run, by_hand=False)


def test_only_the_unpatched_arm_was_booted_for_the_prediction(story: Story):
    first = read_first_rates(story.run)
    assert first is not None and set(first.arm) == {UNPATCHED} and set(first.origin) == {"virtual"}
    assert set(first[first.metric == "rate"].threads) == {1, 8}


def test_the_prediction_and_its_hash_were_written_before_another_arm_booted(story: Story):
    rows = read_rows(story.run.rows)
    booted = datetime.fromisoformat(min(rows[rows.arm == PATCHED].started_utc))
    assert story.run.prediction.stat().st_mtime < booted.timestamp() + 1  # started_utc has whole seconds
    said = story.read_prediction(story.run)
    assert {one["arm"] for one in said["run"]["gains"]} == {PATCHED}


def test_once_arms_are_measured_neither_is_written_again(story: Story):
    before = story.run.prediction.read_bytes()
    story.write_prediction({"study": STUDY.name, "run": {"gains": []}, "guests": [], "predictions": []})
    assert story.run.prediction.read_bytes() == before
    first = story.run.folder / "unpatched" / "rows.csv"
    kept = first.stat().st_mtime_ns
    measure_first_arm(story.run, STUDY, load_target("manycore"))
    assert first.stat().st_mtime_ns == kept


def test_a_prediction_that_was_changed_afterwards_is_refused(story: Story, tmp_path: Path):
    other = Run(tmp_path / story.run.id)
    other.folder.mkdir()
    said = json.loads(story.run.prediction.read_text())
    said["run"]["gains"][-1]["high"] *= 2
    other.prediction.write_text(json.dumps(said))
    with pytest.raises(BadInput, match="was changed after it was written"):
        story.read_prediction(other)


def test_the_gains_are_judged_at_every_point(story: Story):
    judged = judge_gains(story.read_prediction(story.run), read_rows(story.run.rows))
    assert list(judged.columns) == GAINS and list(judged.threads) == [1, 8]
    alone = judged[judged.threads == 1].iloc[0]
    assert alone.inside and abs(alone.measured - 1) < 0.05  # a single process is uncontended


def test_the_group_locks_line_moves_among_eight_and_none_is_waited_for_by_one(story: Story):
    lines = moved_lines(read_rows(story.run.rows))
    assert not (lines.threads == 1).any()
    of_unpatched = lines[(lines.arm == UNPATCHED) & (lines.test == "create") & (lines.threads == 8)]
    assert "_raw_spin_trylock" in set(of_unpatched.function)
    assert (of_unpatched.occupied_pct < 100).all() and (of_unpatched.moves_per_op > 0).all()
