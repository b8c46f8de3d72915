# SPDX-License-Identifier: MIT
"""The planned number of iterations finds what it was planned for."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from synthetic_rows import rates, study

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.measure.power import (
    at_most,
    detection,
    earlier_rows,
    iterations_for,
    noise_of,
    parse_percent,
    power,
)
from lockscale.measure.rows import read_rows
from lockscale.measure.run_folder import curated_run
from lockscale.measure.significance import holm, mean_p

STUDY = study()
SD = 0.03 * np.sqrt(2)  # of the difference of two runs with 3% each


def test_power_is_that_of_the_published_table():
    """A paired t test of effect size 0.5 at 5% needs 34 pairs for 80% (Faul et al., G*Power 3, 2007)."""
    assert power(34, 0.5, 1.0) == pytest.approx(0.808, abs=0.001)
    assert power(33, 0.5, 1.0) < 0.8


def test_iterations_are_the_fewest_with_80_percent():
    for comparisons in (1, 5):
        n = iterations_for(5, SD, comparisons)
        effect, alpha = np.log(1.05), 0.05 / comparisons
        assert power(n, effect, SD, alpha) >= 0.8 > power(n - 1, effect, SD, alpha)


def test_blocks_of_known_noise_find_a_change_as_often_as_planned():
    """20 000 experiments of t tests by scipy; one block less finds it too seldom."""
    rng, three_se = np.random.default_rng(11), 3 * np.sqrt(0.8 * 0.2 / 20_000)
    for effect_pct in (3.0, 5.0, 12.0):
        n = iterations_for(effect_pct, SD)
        for blocks in (n, n - 1):
            ratios = np.log1p(effect_pct / 100) + SD * rng.standard_normal((20_000, blocks))
            found = np.mean(stats.ttest_1samp(ratios, 0, axis=1).pvalue < 0.05)
            assert abs(found - power(blocks, np.log1p(effect_pct / 100), SD)) < three_se
            assert found >= 0.8 - three_se if blocks == n else found < 0.8 + three_se


@pytest.mark.slow
def test_five_percent_in_three_percent_noise_is_found_in_80_of_100_runs():
    """From a pilot of an A/A pair and three blocks; one of three points has changed."""
    rng, found, tries = np.random.default_rng(9), [], 100
    for seed in range(30):
        n = detection(rates(seed, 3, noise=0.03), STUDY, 5).iterations
        assert n is not None and n < 100
        ratios = SD * rng.standard_normal((tries * 3, n))
        p = mean_p(ratios + np.log(1.05) * (np.arange(tries * 3) % 3 == 0)[:, None]).reshape(tries, 3)
        found.append(np.mean([holm(row)[0] < 0.05 for row in p.tolist()]))
    assert np.mean(found) >= 0.8


@pytest.mark.slow
def test_the_noise_is_known_from_pairs_and_blocks():
    """100 pilots of 12 degrees of freedom know it to 2%, which is one standard error."""
    sds = [noise_of(rates(seed, 4), STUDY) for seed in range(100)]
    assert {df for _, df in sds} == {3 * (4 - 1) + 3}
    assert np.sqrt(np.mean([sd**2 for sd, _ in sds])) == pytest.approx(SD, rel=0.06)
    rows = rates(1, 4)
    assert noise_of(rows[rows.pair == "aa"], STUDY)[1] == 3


def test_noise_is_taken_larger_the_less_is_known_of_it():
    assert at_most(1.0, 1) > at_most(1.0, 5) > at_most(1.0, 100) > 1


@pytest.mark.slow
@pytest.mark.parametrize("df", [1, 3, 12])
def test_the_limit_of_the_noise_holds_in_80_of_100(df: int):
    sds = np.sqrt(np.random.default_rng(df).chisquare(df, 20_000) / df)
    held = np.mean([at_most(float(sd), df) >= 1 for sd in sds])
    assert held == pytest.approx(0.8, abs=3 * np.sqrt(0.8 * 0.2 / 20_000))


@pytest.mark.slow
def test_the_true_noise_is_below_the_limit_in_80_of_100_pilots():
    below = [at_most(*noise_of(rates(seed, 2), STUDY)) >= SD for seed in range(60)]
    assert 0.66 <= np.mean(below) <= 0.94


def test_what_no_thousand_iterations_find_is_said():
    told = detection(rates(2, 3, noise=1.0), STUDY, 0.5)
    assert told.iterations is None and "even 1000 iterations would not detect 0.5%" in told.says


def test_rows_without_repeats_are_refused():
    rows = rates(1, 1)
    with pytest.raises(BadInput, match="neither an A/A pair nor two blocks"):
        noise_of(rows[rows.pair == "ab"], STUDY)


@pytest.mark.parametrize(("text", "value"), [("3%", 3), ("3", 3), (" 0.5 % ", 0.5)])
def test_a_percentage_is_read(text: str, value: float):
    assert parse_percent(text) == value


@pytest.mark.parametrize("text", ["", "%", "-3%", "3%%", "0%", "nan", "1e9", "3\x1b[31m", "three"])
def test_what_is_no_percentage_is_refused(text: str):
    with pytest.raises(BadInput, match=r"is not a change to detect: write it like 3%") as refused:
        parse_percent(text)
    assert str(refused.value).isprintable()


def test_what_is_said_names_the_run_that_the_noise_is_from():
    told = detection(rates(1, 3).assign(run="inode-claim-2026"), STUDY, 5)
    assert " in run inode-claim-2026: " in told.says


def test_earlier_rows_are_those_of_the_same_study_target_and_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(paths, "RUNS", tmp_path)
    with pytest.raises(BadInput, match="nothing of study inode-claim was measured on target here yet"):
        earlier_rows(STUDY, "here")
    same, other = STUDY.parameters.model_dump(mode="json"), {"guests": [{"cpus": 1, "processes": [1]}]}
    begun = (("a", "here", same), ("b", "there", same), ("c", "here", same), ("e", "here", {**same, **other}))
    for value, (name, target, parameters) in enumerate(begun, start=1):
        folder = tmp_path / f"inode-claim-2026-{name}"
        folder.mkdir()
        said = {"name": "inode-claim", "target": target, "parameters": parameters}
        (folder / "study.json").write_text(json.dumps(said))
        row = read_rows(curated_run("inode-claim").rows).assign(value=value).to_dict("records")[0]
        line = json.dumps({"step": "001", "study_sha256": "", "rows": [row]})
        (folder / "journal.jsonl").write_text(line + "\n" + '{"rows": [')
    (tmp_path / "inode-claim-2026-d").mkdir()
    (tmp_path / "inode-claim-2026-d" / "study.json").write_text("not json")
    assert earlier_rows(STUDY, "here").value.tolist() == [3.0]
