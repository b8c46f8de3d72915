# SPDX-License-Identifier: MIT
"""Gains side by side: published, by a real kernel in virtual time, and predicted before it was booted."""

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lockscale import paths
from lockscale.files import sha256_of_json
from lockscale.measure.rows import COLUMNS
from lockscale.show.figures.predicted import gains_figure
from lockscale.show.gains import GainRow, gain_rows, gain_totals, gains_text
from lockscale.study.file import Study, load_study

STUDY = load_study("inode-claim")
UNPATCHED, PATCHED = STUDY.unpatched.name, STUDY.patched.name


def row(arm: str, threads: int, rate: float, cpus: int = 64) -> str:
    said = {"run": "r", "study": STUDY.name, "arm": arm, "tool": "fsload", "test": "create", "pair": "ab"}
    said |= {"threads": str(threads), "cpus": str(cpus), "block": "1", "iteration": "1", "metric": "rate"}
    said |= {"statistic": "total", "unit": "ops/s", "value": str(rate), "origin": "virtual"}
    said |= {"build_id": "b", "profiled": "False", "started_utc": "2026-01-01T00:00:00Z"}
    return ",".join(said.get(name, "x") for name in COLUMNS)


@pytest.fixture
def curated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with a gain of 1 at one process and of 8 at 48, predicted as 1 and as 4 to 7."""
    folder = tmp_path / "inode-claim-20260101T000000Z"
    folder.mkdir()
    rates = [(UNPATCHED, 1, 6e4), (PATCHED, 1, 6e4), (UNPATCHED, 48, 4e4), (PATCHED, 48, 32e4)]
    text = "\n".join([",".join(COLUMNS), *(row(*one) for one in rates)]) + "\n"
    (folder / "rows.csv").write_text(text)
    common = {"arm": PATCHED, "model": "m", "cpus": 64, "naive_gain": 9.0}
    gains = [
        {**common, "threads": 1, "value": 1.0, "low": 0.9, "high": 1.1},
        {**common, "threads": 48, "value": 5.0, "low": 4.0, "high": 7.0},
    ]
    said = {"study": STUDY.name, "run": {"unpatched": UNPATCHED, "gains": gains}}
    (folder / "prediction.json").write_text(json.dumps({**said, "sha256": sha256_of_json(said)}))
    (folder / "study.json").write_text(
        json.dumps({"name": STUDY.name, "target": "manycore", "parameters": {}})
    )
    (folder / "provenance.json").write_text(json.dumps({"origin": "virtual", "kernels": {}}))
    monkeypatch.setattr(paths, "MEASURED", tmp_path)
    return folder


def test_a_published_gain_stands_beside_that_of_the_same_arms_and_threads(curated: Path):
    at_48, at_1 = gain_rows()
    assert (at_48.threads, at_48.virtual, at_48.over) == (48, pytest.approx(8.0), UNPATCHED)
    assert at_48.published == pytest.approx(812.5 / 80.1, rel=0.01)  # S1: 10.1 times
    assert (at_1.threads, at_1.published, at_1.virtual) == (1, None, pytest.approx(1.0))
    both = {one.threads: one.simulated for one in (at_48, at_1)}
    assert both == {48: pytest.approx(812.5 / 80.1, rel=0.03), 1: pytest.approx(1.0, rel=0.02)}  # calibrated


def test_a_prediction_is_told_whether_it_held(curated: Path):
    at_48, at_1 = gain_rows()
    assert (at_48.inside, at_1.inside) == (False, True)
    assert (at_48.predicted_low, at_48.predicted_high) == (4.0, 7.0)
    totals = gain_totals([at_48, at_1])
    assert (totals.predicted, totals.held) == (2, 1)
    assert totals.width == pytest.approx((7 / 4 + 1.1 / 0.9) / 2)


@pytest.mark.parametrize("first", [True, False], ids=["smaller-guest-first", "smaller-guest-last"])
def test_two_numbers_of_cpus_are_not_mixed_up(curated: Path, first: bool):
    """On 4 CPUs 48 processes gain nothing, which says nothing of the larger guest."""
    before = gain_rows()
    head, *rows = (curated / "rows.csv").read_text().splitlines()
    small = [row(UNPATCHED, 48, 1e4, cpus=4), row(PATCHED, 48, 1e4, cpus=4), row(UNPATCHED, 8, 1e4, cpus=4)]
    rows = [*small, *rows] if first else [*rows, *small]
    (curated / "rows.csv").write_text("\n".join([head, *rows, row(PATCHED, 8, 2e4)]) + "\n")
    said = json.loads((curated / "prediction.json").read_text())
    del said["sha256"]
    gains = said["run"]["gains"]
    gains.insert(0 if first else 2, {**gains[1], "cpus": 4, "value": 1.0, "low": 0.9, "high": 1.1})
    (curated / "prediction.json").write_text(json.dumps({**said, "sha256": sha256_of_json(said)}))
    assert gain_rows() == before  # nor is there a gain at 8 of 64 CPUs over 4


def test_a_later_run_of_the_same_study_changes_no_prediction_and_no_gain_that_was_judged(curated: Path):
    """Its prediction was made when the gains of the first were known: it must not turn a miss into a hit."""
    before = gain_rows()
    later = curated.with_name("inode-claim-20260201T000000Z")
    shutil.copytree(curated, later)
    said = json.loads((later / "prediction.json").read_text())
    del said["sha256"]
    for gain in said["run"]["gains"]:
        gain["high"] = 100.0
    (later / "prediction.json").write_text(json.dumps({**said, "sha256": sha256_of_json(said)}))
    assert gain_rows() == before
    shutil.rmtree(curated)
    assert [row.inside for row in gain_rows()] == [True, True]  # where it is the first, it counts


def test_the_table_is_in_words_and_not_in_names_of_fields(curated: Path):
    text = gains_text(gain_rows())
    assert text.startswith(
        "Gain: the rate of an arm over that of another arm; 1 is no change.\nLowest to highest: "
    )
    head, *rows = [line for line in text.splitlines() if line.startswith(("study ", f"{STUDY.name} "))]
    assert {"over", "virtual time", "lowest to highest", "90% interval", "held"} <= set(
        re.split(r" {2,}", head)
    )
    assert "_" not in head and "True" not in text and "False" not in text
    at_1, at_48 = (re.split(r" {2,}", row) for row in rows)
    assert (at_48[-2:], at_1[-2:]) == (["4.00 to 7.00", "no"], ["0.90 to 1.10", "yes"])
    assert "8.00 to 8.00" in at_48 and "10.14" in at_48


def test_a_prediction_that_was_changed_is_refused(curated: Path):
    from lockscale.errors import BadInput

    said = json.loads((curated / "prediction.json").read_text())
    said["run"]["gains"][1]["high"] = 20.0
    (curated / "prediction.json").write_text(json.dumps(said))
    with pytest.raises(BadInput, match="was changed after it was written"):
        gain_rows()


def test_a_run_that_only_counts_has_no_gains(curated: Path):
    (curated / "provenance.json").write_text(json.dumps({"origin": "qemu", "kernels": {}}))
    assert gain_rows() == [] and "no curated run" in gains_text([])


def test_totals_are_geometric_and_a_gain_of_one_has_no_sign():
    def of(published: float, virtual: float) -> GainRow:
        return GainRow("s", "create", "b", "a", 8, published, None, virtual, virtual, virtual)

    totals = gain_totals([of(2.0, 4.0), of(4.0, 2.0), of(1.02, 0.9), of(2.0, 0.5)])
    assert totals.off == pytest.approx((2 * 2 * 1.02 / 0.9 * 4) ** 0.25)
    assert (totals.significant, totals.same_sign) == (3, 2)
    near = gain_totals([of(0.951, 1.2), of(1.049, 0.9), of(1.0505, 1.2)])  # the last is not within 5% of 1
    assert (near.significant, near.same_sign) == (1, 1)


def test_times_are_turned_into_rates():
    from lockscale.show.gains import _published

    study = load_study("orphan-file")
    of_times = dict(_published(study, "s4_stress_orphan"))
    # S4 at one thread: 0.9456 s locked, 0.9394 s lockless
    assert of_times["truncate", "orphan-lockless", "orphan-locked", 1] == pytest.approx(0.9456 / 0.9394)
    of_rates = dict(_published(study, "s4_creat_clo"))
    assert of_rates["creat", "orphan-lockless", "orphan-mutex", 1] == pytest.approx(14354.07 / 14705.88)


def drawn_of(study: Study, rows: list[GainRow]) -> dict[str, Any]:
    """The traces of the figure by name."""
    return {one.name: one for one in gains_figure(study, pd.DataFrame([asdict(row) for row in rows])).data}


def test_a_figure_shows_the_arm_of_which_most_was_published():
    """S2 publishes no cure, but the cheap access that made creates slower."""
    study = load_study("write-access")
    drawn = drawn_of(study, [row for row in gain_rows() if row.study == study.name])
    (slower,) = drawn["published, create"].y
    assert slower == pytest.approx(35689.72 / 119346.25)


def test_the_figure_has_the_band_of_the_patched_arm_the_real_kernel_and_the_published_point(curated: Path):
    drawn = drawn_of(STUDY, gain_rows())
    assert list(drawn) == ["predicted", "virtual, create", "published, create"]
    real = drawn["virtual, create"]
    assert list(real.x) == [1, 48] and list(real.y) == pytest.approx([1.0, 8.0])
    assert sorted(drawn["predicted"].y) == [0.9, 1.1, 4.0, 7.0]
    assert list(drawn["published, create"].x) == [48]


def test_a_figure_names_a_prediction_only_where_there_is_one(curated: Path):
    """As of a study of one's own that no model is of."""
    rows = pd.DataFrame([asdict(row) for row in gain_rows()])
    none = dict.fromkeys(("predicted", "predicted_low", "predicted_high", "inside"))
    says = [gains_figure(STUDY, one).layout.meta["says"] for one in (rows, rows.assign(**none))]
    assert says[0].startswith("predicted: 90%, from steal-retry alone")
    bars = ", bars from lowest to highest repeat"
    assert says[1] == f"virtual: the real kernels in virtual time{bars}; published: on other hardware"


def test_what_was_published_of_another_load_is_named_and_stands_beside_that_load():
    """S4's table over the orphan list is of creat_clo; predicted and measured besides are truncates."""
    study = load_study("orphan-file")
    drawn = drawn_of(study, [row for row in gain_rows() if row.study == study.name])
    assert list(drawn) == ["predicted", "virtual, truncate", "virtual, creat", "published, creat"]
    assert set(drawn["virtual, creat"].x) == set(drawn["virtual, truncate"].x) == {2**k for k in range(7)}
    assert max(drawn["published, creat"].x) == 31


@pytest.mark.parametrize("paper", [(255, 255, 255), (22, 24, 29)])
def test_the_band_is_seen_on_a_light_and_on_a_dark_page(paper: tuple[int, ...], curated: Path):
    """Those of a report; black at 17% was a band on white only."""
    *colour, share = map(float, re.findall(r"[\d.]+", drawn_of(STUDY, gain_rows())["predicted"].fillcolor))
    mixed = [share * one + (1 - share) * back for one, back in zip(colour, paper, strict=True)]
    assert min(abs(one - back) for one, back in zip(mixed, paper, strict=True)) > 25


def test_no_point_of_a_run_stands_twice():
    rows = [(row.study, row.load, row.arm, row.over, row.threads) for row in gain_rows()]
    assert rows and len(rows) == len(set(rows))


OURS = ("goal-fold", "handle-start")


def test_our_own_arms_are_told_at_16_32_and_64_with_what_held():
    """kernel-patches/README.md: the gain in virtual time, what was predicted, and whether it held."""
    said = (paths.KERNEL_PATCHES / "README.md").read_text()
    rows = {(row.study, row.arm, row.threads): row for row in gain_rows() if row.inside is not None}
    told = {f"{study}/{arm}" for study, arm, _ in rows if study in OURS}
    assert {one.partition("/")[0] for one in told} == set(OURS)
    for name in told | {"group-trylock/goal-spread"}:
        line = next(line for line in said.splitlines() if line.startswith(f"| {name} |") and "held" in line)
        for threads, cell in zip((16, 32, 64), line.strip("| ").split(" | ")[1:], strict=True):
            row = rows[(*name.split("/"), threads)]  # type: ignore[index]
            ends = f"{row.predicted_low:.2f} to {row.predicted_high:.2f}"
            assert cell == f"{row.virtual:.2f} ({ends}), {'held' if row.inside else 'missed'}"
