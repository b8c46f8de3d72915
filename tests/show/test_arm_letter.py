# SPDX-License-Identifier: MIT
"""The letter before an arm's patches: what a real kernel gave with them, beside what was predicted."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from lockscale.errors import BadInput
from lockscale.measure.rows import keep_hash, read_rows
from lockscale.measure.run_folder import Run, curated_run, read_provenance
from lockscale.show.arm_letter import what_was_measured


@pytest.fixture(scope="module")
def said() -> str:
    return what_was_measured("goal-fold", "goals-apart")


def test_each_rate_is_the_mean_of_the_kept_rows_and_the_gain_is_of_both(said: str):
    rows = read_rows(curated_run("goal-fold", rates=True).rows)
    here = rows[(rows.pair == "ab") & (rows.metric == "rate") & ~rows.profiled & (rows.statistic == "total")]
    means = here.groupby(["threads", "arm"]).value.mean()
    lines = re.findall(r"^ +(\d+) +(\d+) +(\d+) +(\d+\.\d\d)  ", said, re.MULTILINE)
    assert [int(n) for n, *_ in lines] == [1, 2, 4, 8, 16, 32, 64]
    for n, before, after, gain in lines:
        unpatched, ours = means[int(n), "multi-goal"], means[int(n), "goals-apart"]
        assert (before, after) == (f"{unpatched:.0f}", f"{ours:.0f}")
        assert gain == f"{ours / unpatched:.2f}"


def test_the_prediction_is_named_with_its_hash_its_time_and_what_it_was_made_from(said: str):
    written = read_provenance(curated_run("goal-fold", rates=True).folder)["prediction"]
    text = " ".join(said.split())
    assert written["sha256"] in text and written["written_before_utc"] in text
    assert "from the rates of multi-goal alone and written before any other arm was booted" in text


def test_the_machine_is_told_with_its_prices_and_what_it_leaves_out(said: str):
    text = " ".join(said.split())
    assert "measured in virtual time, 64 CPUs, Linux 6.12" in text
    assert "far line 120" in text and "Left out: capacity misses" in text


def test_the_gain_is_first_over_the_arm_that_the_series_applies_to():
    """goal-spread is on top of trylock; the prediction is of its gain over wait-group, which has patches."""
    said = what_was_measured("group-trylock", "goal-spread")
    words = " ".join(said.split())
    first, second = (
        words.index("The gain over trylock, which the series"),
        words.index("another arm, wait-group (ext4: "),
    )
    assert first < second < words.index("90% interval as it was predicted")
    over_base, over_other = (one.partition("\n\n")[0] for one in said.split("procs")[1:])
    assert "predicted" not in over_base and "predicted" in over_other
    means = read_rows(curated_run("group-trylock", rates=True).rows)
    means = means[(means.pair == "ab") & (means.metric == "rate") & ~means.profiled & (means.threads == 64)]
    means = means[means.statistic == "total"]
    rate = means.groupby("arm").value.mean()
    assert f"{rate['goal-spread'] / rate['trylock']:.2f}" in over_base.splitlines()[-1]


def test_two_commands_repeat_it(said: str):
    _, _, commands = said.partition("To repeat it:")
    assert [line.split()[1] for line in commands.split("\n\n")[1:]] == ["study", "patches"]


@pytest.mark.parametrize(
    ("study", "arm", "why"),
    [
        ("goal-fold", "multi-goal", "the unpatched arm is what others are compared with"),
        ("inode-claim", "claim-spread", "it was not measured"),
        ("mine", "quick", "no such study"),
    ],
)
def test_what_was_not_measured_is_not_told(study: str, arm: str, why: str):
    assert what_was_measured(study, arm) == "", why


def test_the_exported_letter_holds_it_between_the_cover_and_the_list_of_patches(lockscale, tmp_path: Path):
    lockscale(
        "patches", "export", "goal-fold/goals-apart", "--format", "mbox", "--output", str(tmp_path / "m")
    )
    letter = (tmp_path / "m-0000-cover-letter.patch").read_text()
    parts = [
        "Subject: [PATCH 0/4] ext4: move a stream goal",
        "Ours, on top of",
        "Rates in virtual time:",
        "lockscale authors (4):\n  ext4: hash inodes",
        " fs/ext4/mballoc.c | ",
        " 2 files changed, ",
    ]
    places = [letter.index(part) for part in parts]
    assert places == sorted(places)


def test_a_run_of_ones_own_is_told_when_it_is_named(tmp_path: Path):
    mine = shutil.copytree(curated_run("goal-fold", rates=True).folder, tmp_path / "run-of-mine")
    assert what_was_measured("goal-fold", "goals-apart", str(mine)) == what_was_measured(
        "goal-fold", "goals-apart"
    )
    (mine / "prediction.json").unlink()
    unpredicted = what_was_measured("goal-fold", "goals-apart", str(mine))
    assert "4.11" in unpredicted and "predicted" not in unpredicted


def test_rates_on_fewer_cpus_are_not_part_of_the_mean(tmp_path: Path, said: str):
    """It says on how many CPUs they are, and a predicted gain is that of the most."""
    mine = Run(Path(shutil.copytree(curated_run("goal-fold", rates=True).folder, tmp_path / "run-of-mine")))
    rows = read_rows(mine.rows)
    pd.concat([rows, rows.assign(cpus=16, value=rows.value / 2)]).to_csv(mine.rows, index=False)
    keep_hash(mine.rows)
    assert what_was_measured("goal-fold", "goals-apart", str(mine.folder)) == said


@pytest.mark.parametrize(
    ("study", "arm", "run", "why"),
    [
        ("goal-fold", "goals-apart", curated_run("inode-claim").id, "is not of study goal-fold"),
        ("inode-claim", "search-locked", curated_run("inode-claim").id, "has no rates of search-locked and"),
        ("goal-fold", "multi-goal", curated_run("goal-fold").id, "is the arm that others are compared with"),
        ("goal-fold", "goals-apart", "no-such-run", "no-such-run"),
    ],
)
def test_a_run_without_such_rates_is_refused_when_it_is_named(study: str, arm: str, run: str, why: str):
    with pytest.raises(BadInput, match=why):
        what_was_measured(study, arm, run)


def test_a_series_whose_kernel_has_knobs_of_its_own_still_applies_to_the_bare_base():
    """timed-backoff's knobs exist in its kernel alone; slow-retry has a patch that it does not have."""
    said = " ".join(what_was_measured("write-access", "timed-backoff").split())
    assert "The gain over fast-search, which the series applies to:" in said
    assert "The gain over another arm, slow-retry (jbd2: always take the buffer lock" in said
    assert "The gain over slow-retry, and" not in said, "as if the series applied to it"
