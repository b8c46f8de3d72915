# SPDX-License-Identifier: MIT
"""The curated runs: their rows follow from the raw tool output kept beside them."""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from statistics import harmonic_mean

import pandas as pd
import pytest

from lockscale import paths
from lockscale.measure.compare_arms import counted_arms, extra_calls, proof_of
from lockscale.measure.rows import read_rows
from lockscale.measure.run_folder import curated_run, read_study_file
from lockscale.show.story import open_story
from lockscale.study.file import load_study
from lockscale.tools import fsload, ftrace_cost

RUNS = sorted(path.parent for path in paths.MEASURED.glob("*/rows.csv"))


def text_of(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def step_rows(rows: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """The rows of one boot: its folder is NNN-<pair><block>-<arm>-<cpus>cpu."""
    starts = rows.drop_duplicates(["pair", "block", "iteration", "arm", "cpus"])
    wanted = starts.iloc[int(folder.name.split("-")[0]) - 1]
    key = ["pair", "block", "iteration", "arm", "cpus"]
    return rows[(rows[key] == wanted[key]).all(axis=1)]


@pytest.fixture(params=RUNS, ids=lambda path: path.name)
def run(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def test_there_is_a_curated_run():
    assert RUNS


@pytest.mark.slow
def test_profiled_calls_are_the_sums_over_processors_of_the_raw_profiles(run: Path):
    rows, compared = read_rows(run / "rows.csv"), 0
    for folder in sorted((run / "raw").iterdir()):
        here = step_rows(rows, folder)
        for path in folder.glob("profile-*.txt.gz"):
            processes = int(path.name.removeprefix("profile-").removesuffix(".txt.gz"))
            point = here[here.profiled & (here.threads == processes)].set_index("metric").value
            for cost in ftrace_cost.parse(ftrace_cost.split(text_of(path))):
                assert point[f"{cost.function}.calls"] == cost.count
                compared += 1
    assert compared


@pytest.mark.slow
def test_rates_are_what_the_load_generator_printed(run: Path):
    """Of several loads of one point, rate-N-2 and so on, all operations over all the time."""
    rows = read_rows(run / "rows.csv")
    for folder in sorted((run / "raw").iterdir()):
        here = step_rows(rows, folder)
        printed: dict[tuple[str, int, str], list[float]] = defaultdict(list)
        for path in folder.glob("rate-*.txt.gz"):
            for row in fsload.parse(text_of(path)).rows:
                printed[row.test, row.threads, row.statistic].append(row.value)
        kept = here[(here.metric == "rate") & here.test.isin({test for test, _, _ in printed})]
        assert len(kept)
        for row in kept.itertuples():
            loads = printed[row.test, row.threads, row.statistic]
            assert row.value == pytest.approx(harmonic_mean(loads), rel=1e-12)


def test_build_ids_of_rows_are_those_of_the_kernels_in_the_provenance(run: Path):
    said = json.loads((run / "provenance.json").read_text())
    rows = read_rows(run / "rows.csv")
    found = {arm: set(ids) for arm, ids in rows.groupby("arm").build_id.unique().items()}
    assert found == {arm: {kernel["build_id"]} for arm, kernel in said["kernels"].items()}
    assert set(rows.origin) == {"virtual" if said["target"]["kind"] == "manycore" else "qemu"}


def test_crowded_points_lose_more_claims_than_the_base_varies():
    extra = extra_calls(read_rows(curated_run("inode-claim").rows), load_study("inode-claim"))
    crowded = extra[(extra.cpus >= 4) & (extra.threads >= 4)]
    assert list(crowded.threads) == [4, 8]
    assert crowded.above.all() and (crowded.level_pct >= 95).all()


@pytest.mark.slow
def test_a_row_is_starred_alike_wherever_it_is_told(run: Path):
    """In a changelog, and in the table of all arms: over all rows means the same in both."""
    story = open_story(read_study_file(run)["name"], run.name)
    every = counted_arms(story.rows, story.study).set_index(["counter", "arm", "cpus", "threads"])
    counter, patched = proof_of(story.rows, story.study), story.study.patched.name
    for row in extra_calls(story.rows, story.study).itertuples():
        assert row.significant == every.significant[counter, patched, row.cpus, row.threads]
