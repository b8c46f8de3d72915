# SPDX-License-Identifier: MIT
"""What a run without arms says at its end: its rates, and whether it was steady."""

from pathlib import Path

import pandas as pd
import pytest
from synthetic_rows import rates

from lockscale.measure.rows import COLUMNS
from lockscale.measure.run_folder import Run
from lockscale.show.pipeline import outcome


def told(folder: Path, rows: pd.DataFrame) -> str:
    """The end of a run of the machine as it is."""
    rows = rows[rows.arm == "search-locked"].assign(arm="as-found", study="inode-claim")
    run = Run(folder)
    whole = rows.assign(run="r", build_id="b", started_utc="2026-01-01T00:00:00Z")
    whole.reindex(columns=list(COLUMNS)).to_csv(run.rows, index=False)
    return outcome(run)


def test_a_run_that_drifts_says_so_at_its_end(tmp_path: Path):
    said = told(tmp_path, rates(1, 12, noise=0.01, drift=-0.18))
    assert "as-found" in said and "drift: -16." in said and "the run drifted" in said


def test_a_steady_run_says_that_too(tmp_path: Path):
    said = told(tmp_path, rates(3, 12, noise=0.01))
    assert said.count("no more than noise does") == 2 and "not steady" not in said
    assert "Outliers (far from the median" not in said


def test_the_aa_pair_stands_apart_with_its_difference(tmp_path: Path):
    rows = rates(1, 6, noise=0.0)
    rows.loc[(rows.pair == "aa") & (rows.iteration == 2), "value"] *= 1.25
    said = told(tmp_path, rows)
    pair = said.split("The A/A pair")[1].splitlines()
    assert [line.split()[-1] for line in pair[2:5]] == ["25", "25", "25"]


def test_a_repeat_that_lies_apart_is_shown(tmp_path: Path):
    rows = rates(6, 10, noise=0.01)
    rows.loc[(rows.block == 4) & (rows.threads == 8), "value"] *= 1.5
    apart = told(tmp_path, rows).split("Outliers (far from the median of their point), kept:")[1]
    assert len(apart.strip().splitlines()) == 2


@pytest.mark.parametrize("blocks", [1, 3])
def test_too_few_blocks_are_said_to_be_too_few(tmp_path: Path, blocks: int):
    assert told(tmp_path, rates(1, blocks)).count("it takes 4 blocks") == 2
