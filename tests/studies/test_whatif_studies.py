# SPDX-License-Identifier: MIT
"""A study's predictions come from its base alone, and hold what was published."""

import csv
import shutil
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import pandas as pd
import pytest
from base_only import BASES, copy_of_data, cut_the_patched_rows, rewrite

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.measure.rows import keep_hash
from lockscale.measure.run_folder import curated_run
from lockscale.predict.answer import Answer, Predicted
from lockscale.predict.residual_bottleneck import WHENCE
from lockscale.show.prediction import ask
from lockscale.study.file import load_study

STUDIES = sorted(BASES)
CALLS = 73077185 / 1440000  # S1's table: get_write_access, creates
# of data/measured, steal-retry: get_write_access in 2400 creates of one process, five times
ONE_PROCESS = (19267, 19267, 19267, 19275, 19259)


def rates(table: str, arm: str, metric: str) -> list[float]:
    with (paths.PUBLISHED / f"{table}.csv").open() as lines:
        rows = [r for r in csv.DictReader(lines) if r["arm"] == arm and r["metric"] == metric]
    return [float(row["value"]) for row in rows]


BASE_COLUMNS = {
    ("inode-claim", "create_rate"): ("s1_rates", "steal-retry"),
    ("write-access", "create_rate"): ("s2_mds_survey", "slow-retry"),
    ("group-trylock", "fallocate_rate"): ("s3_fallocate2", "wait-group"),
    ("orphan-file", "time"): ("s4_stress_orphan", "orphan-locked"),
    ("orphan-file", "throughput"): ("s4_creat_clo", "orphan-mutex"),
}
MOST = dict(zip(BASE_COLUMNS, (48, 48, 64, 128, 31), strict=True))


def base_of(study: str, p: Predicted) -> float:
    """The published base at as many threads, by hand: the mean of its repeats."""
    table, arm = BASE_COLUMNS[study, p.metric]
    with (paths.PUBLISHED / f"{table}.csv").open() as lines:
        rows = [r for r in csv.DictReader(lines) if (r["arm"], r["metric"]) == (arm, p.metric)]
    kept = [r for r in rows if int(r["threads"]) == p.threads and r["statistic"] not in ("min", "max")]
    return mean(float(row["value"]) for row in kept)


@pytest.mark.parametrize("study", sorted({name for name, _ in BASE_COLUMNS}))
def test_what_is_predicted_from_published_rates_says_so(study: str):
    answer = ask(study)
    assert answer.origin == "published"
    assert answer.waits_origin in ("published", WHENCE), "the profile is published, or rates alone are"


def the(answer: Answer, arm: str) -> Predicted:
    (found,) = [p for p in answer.predictions if p.arm == arm]
    return found


def parameter(answer: Answer, name: str) -> tuple[float, float]:
    (found,) = [p for p in answer.parameters if p.name == name]
    return found.low, found.high


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_no_number_of_a_patched_kernel_is_read(study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    whole = ask(study)
    assert cut_the_patched_rows(copy_of_data(tmp_path, monkeypatch), study) > 0
    alone = ask(study)
    assert alone.published == []
    assert alone == replace(whole, published=[])


@pytest.mark.parametrize("study", STUDIES)
def test_every_published_patched_value_lies_in_its_interval(study: str):
    answer = ask(study)
    said = {(p.arm, p.threads, p.metric): (p.low, p.high) for p in answer.predictions}
    assert answer.published
    for row in answer.published:
        low, high = said[row["arm"], row["threads"], row["metric"]]
        assert low < row["value"] < high, row


@pytest.mark.parametrize("study", STUDIES)
def test_what_is_open_has_a_measurement_and_what_is_worth_writing_a_reason(study: str):
    answer = ask(study)
    assert answer.open and all(one.why and one.measurement for one in answer.open)
    assert {one.worth for one in answer.ideas} <= {"yes", "no", "not known"}
    assert {one.arm for one in answer.ideas} == {p.arm for p in answer.predictions}
    assert all(p.low <= p.value <= p.high for p in answer.predictions)
    assert answer.naive_reason and all(p.naive_value for p in answer.predictions)


@pytest.mark.parametrize(
    ("study", "given"),
    [
        *((study, {}) for study in STUDIES),
        ("write-access", {"contended_us": 0.63}),
        ("write-access", {"contended_us": 0.1}),
        ("group-trylock", {"left_share": 0.2}),
        ("orphan-file", {"stress_left_share": 0.4, "clo_left_share": 0.2}),
    ],
)
def test_a_sign_and_what_is_worth_writing_follow_from_the_interval_alone(study: str, given: dict[str, float]):
    """An interval that holds the base says that it is not known, whatever the argument for the patch."""
    answer = ask(study, given)
    gains: dict[str, list[tuple[float, float]]] = {}
    for p in answer.predictions:
        base = base_of(study, p)
        least, most = (base / p.high, base / p.low) if p.metric == "time" else (p.low / base, p.high / base)
        assert p.sign == ("faster" if least > 1 else "slower" if most < 1 else "not known"), p
        if p.threads == MOST[study, p.metric]:
            gains.setdefault(p.arm, []).append((least, most))
    for idea in answer.ideas:
        if "unsafe" in idea.why or "beside " in idea.why:
            continue
        low, high = min(low for low, _ in gains[idea.arm]), max(high for _, high in gains[idea.arm])
        assert idea.worth == ("yes" if low > 1.05 else "no" if high < 1.05 else "not known"), idea


def test_a_gain_that_a_patchs_own_code_may_cost_again_is_not_worth_it():
    """S1's claim-spread is faster than the base, but gives nothing beside the fix."""
    answer = ask("inode-claim")
    assert the(answer, "claim-spread").sign == "faster"
    assert {idea.arm: idea.worth for idea in answer.ideas} == {"search-locked": "yes", "claim-spread": "no"}


def test_s1_gain_is_the_storms_law_by_hand():
    """Gain = N / (N - W), from the lost claims to one more; calls of one process of data/measured."""
    answer = ask("inode-claim")
    (calls,) = [p for p in answer.parameters if p.name == "calls_without_retry"]
    assert calls.value == pytest.approx(mean(ONE_PROCESS) / 2400)
    low, high = parameter(answer, "gain")
    assert low == pytest.approx(48 / (48 - (CALLS - calls.high)))
    assert high == pytest.approx(48 / (48 - (CALLS - calls.low) - 1))


def test_s1_interval_is_narrow_enough_to_be_of_use():
    low, high = parameter(ask("inode-claim"), "gain")
    gain = mean(rates("s1_rates", "search-locked", "create_rate")) / mean(
        rates("s1_rates", "steal-retry", "create_rate")
    )
    assert gain == pytest.approx(10.14, abs=0.005)
    assert low < gain < high < 1.6 * low
    said = the(ask("inode-claim"), "search-locked")
    assert said.high < 1.6 * said.low


def test_calls_of_one_process_carry_what_repeats_and_kernels_differ_by():
    """Repeats by Student's t; and 0.0279 + 0.0617 + 0.0024 + 0.0008 calls by the other functions' counts."""
    (calls,) = [p for p in ask("inode-claim").parameters if p.name == "calls_without_retry"]
    repeats = 2.776 * stdev(ONE_PROCESS) / 2400 / 5**0.5
    marked = abs(5774407 / 1440000 - (3 * 9691 + 9694 + 9688) / 12000)
    indexed = abs(1432814 / 1440000 - 2240 / 2400)
    started = abs(1453950 / 1440000 - (3 * 2429 + 2430 + 2428) / 12000)
    added = abs(1440049 / 1440000 - 2402 / 2400)
    half = repeats + marked + indexed + started + added
    assert calls.high - calls.value == pytest.approx(half, rel=1e-3)
    assert "qemu" in calls.source and "one process" in calls.source


def test_more_retries_counted_mean_a_larger_gain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Fewer calls without retries leave more lost claims."""
    before = parameter(ask("inode-claim"), "gain")
    data = copy_of_data(tmp_path, monkeypatch)
    for path in (data / "measured").glob("inode-claim-2*/rows.csv"):
        rewrite(path, lambda rows: [fewer(row) for row in rows])
    after = parameter(ask("inode-claim"), "gain")
    assert after[0] > before[0] and after[1] > before[1]


def fewer(row: dict[str, str]) -> dict[str, str]:
    if row["metric"] == "jbd2_journal_get_write_access.calls" and row["threads"] == "1":
        return {**row, "value": str(float(row["value"]) - 1200)}
    return row


def test_s1_waits_are_littles_law_on_the_profile():
    rows = {one.place: one for one in ask("inode-claim").waits}
    assert rows["_raw_spin_lock"].threads == pytest.approx(48 * 1317641501 / 1707443399)
    assert rows["jbd2__journal_start"].threads == pytest.approx(8.1, abs=0.05)
    assert "spin" in rows["jbd2__journal_start"].waits_for
    inside = sum(one.threads for one in rows.values() if one.within == "ext4_create")
    assert inside == pytest.approx(48, rel=0.01)


def test_s2_sign_and_threshold_by_hand():
    """Z: the cycle less get_write_access, with and without what its other callers can have spent there."""
    answer = ask("write-access")
    cycle, access = 48e6 / 119346.25, 660607521 / 2000016
    others = (30442931 + 76861625 + 9133495) / 2000016
    low, high = parameter(answer, "elsewhere_us")
    assert (low, high) == (pytest.approx(cycle - access), pytest.approx(cycle - access + others))
    assert parameter(answer, "storm_above_us") == (
        pytest.approx(4 * low / 48**2),
        pytest.approx(4 * high / 48**2),
    )
    said = the(answer, "fast-retry")
    assert said.sign == "slower" and said.high < 119346.25 < said.naive_value
    assert any(one.option == "contended_us" for one in answer.open)


def test_s2_rate_is_within_20_percent_once_the_contended_cost_is_given():
    """KNOWN of the fast kernel alone: an attempt takes the group lock 0.63 us."""
    answer = ask("write-access", {"contended_us": 0.63})
    (truth,) = [row["value"] for row in answer.published if row["arm"] == "fast-retry"]
    said = the(answer, "fast-retry")
    assert said.value == pytest.approx(truth, rel=0.2)
    assert said.low < truth < said.high < 1.5 * said.low
    assert not any(one.option for one in answer.open)


def test_s1_with_its_calls_counted_elsewhere_has_the_narrower_interval_of_those():
    """The 8.028 of another kernel leave 0.19 calls open; a count of the profile's own kernel none."""
    wide, exact = the(ask("inode-claim"), "search-locked"), ask("inode-claim", {"calls_without_retry": 8.028})
    narrow = the(exact, "search-locked")
    assert wide.low < narrow.low < 812479.93 < narrow.high < wide.high
    assert narrow.value == pytest.approx(wide.value, rel=0.02)
    assert not any(one.option for one in exact.open)
    assert any(text.startswith("given: calls_without_retry=8.028") for text in exact.used)


def test_s2_a_cheap_attempt_brings_no_storm():
    answer = ask("write-access", {"contended_us": 0.1})
    assert the(answer, "fast-retry").sign == "faster"
    assert the(answer, "fast-retry").low > 119346.25


@pytest.mark.parametrize(
    ("study", "given", "said"),
    [
        ("inode-claims", {}, "did you mean inode-claim"),
        ("inode-claim", {"calls_without_retry": 50.8}, "makes 50.7 calls: give fewer"),
        ("write-access", {"contended": 1.0}, "did you mean contended_us"),
        ("write-access", {"contended_us": -1.0}, "above 0"),
        ("write-access", {"contended_us": 1e308}, "below 1e9"),
        ("group-trylock", {"left_share": 0.2, "left_alone_share": 0.3}, "left_alone_share"),
        ("group-trylock", {"left_alone_share": 0.1}, "left_share"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(study: str, given: dict[str, float], said: str):
    with pytest.raises(BadInput, match=said):
        ask(study, given)


def test_a_run_that_is_kept_later_changes_no_published_prediction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The study's file names the run from which S1's constant is, and the value is that of its rows."""
    before = ask("inode-claim")
    shutil.copytree(paths.MEASURED, tmp_path / "measured")
    monkeypatch.setattr(paths, "MEASURED", tmp_path / "measured")
    constant = load_study("inode-claim").calls_without_retry
    assert constant is not None and constant.run is not None
    later = tmp_path / "measured/inode-claim-29991231T235959Z"
    shutil.copytree(tmp_path / "measured" / constant.run, later)
    rows = pd.read_csv(later / "rows.csv")
    calls = rows.metric == "jbd2_journal_get_write_access.calls"
    rows.loc[calls, "value"] *= 1.5
    rows.to_csv(later / "rows.csv", index=False)
    keep_hash(later / "rows.csv")
    assert curated_run("inode-claim").folder == later
    assert ask("inode-claim") == before
    (calls_read,) = [one for one in before.parameters if one.name == "calls_without_retry"]
    assert round(calls_read.value, 3) == constant.value
