# SPDX-License-Identifier: MIT
"""Rates, latencies and counters are starred alike: of tables of equal arms at most 5 in 100 have a star."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest
from synthetic_rows import calls, counts, latencies, rates, study

from lockscale.errors import BadInput
from lockscale.measure.compare_arms import (
    aa_rates,
    compared_latencies,
    compared_rates,
    counted_arms,
    extra_calls,
)
from lockscale.measure.significance import mean_p, squares_within_blocks
from lockscale.study.file import load_study

POINTS = (1, 2, 4, 8, 16)
MANY = tuple(range(1, 15))
STUDY, ORPHANS = study(POINTS), load_study("orphan-file")
WAITS, CALLS = "trace:ext4_orphan_lock_wait", "calls:jbd2_journal_get_write_access"
PERCENTILES = ("total_p50", "total_p99")
Table = Callable[[int, int, Sequence[int]], pd.DataFrame]


def rates_table(seed: int, blocks: int, points: Sequence[int]) -> pd.DataFrame:
    return compared_rates(rates(seed, blocks, points=points), STUDY)


def latency_table(seed: int, blocks: int, points: Sequence[int]) -> pd.DataFrame:
    return compared_latencies(latencies(seed, blocks, PERCENTILES, points=points), STUDY)


def calls_table(seed: int, blocks: int, points: Sequence[int]) -> pd.DataFrame:
    return counted_arms(calls(seed, blocks, noise=0.01, points=points), STUDY)


def extra_table(seed: int, blocks: int, points: Sequence[int]) -> pd.DataFrame:
    return extra_calls(calls(seed, blocks, noise=0.01, points=points), STUDY)


def rare_counts_table(seed: int, blocks: int, points: Sequence[int]) -> pd.DataFrame:
    """Three arms and two counters; one of a few counts, which repeats to the last one often."""
    return counted_arms(counts(seed, blocks, {WAITS: 2.0, CALLS: 4000.0}, points=points), ORPHANS)


def at_most(tables: int) -> float:
    return float(0.05 + 3 * np.sqrt(0.05 * 0.95 / tables))


@pytest.mark.long
@pytest.mark.parametrize("table", [rates_table, latency_table, calls_table, extra_table, rare_counts_table])
@pytest.mark.parametrize("blocks", [3, 5])
def test_of_200_tables_of_equal_arms_5_in_100_have_a_star(table: Table, blocks: int):
    starred = [table(seed, blocks, POINTS).significant.any() for seed in range(200)]
    assert np.mean(starred) <= at_most(200)


@pytest.mark.slow
@pytest.mark.parametrize("table", [rates_table, latency_table, calls_table, rare_counts_table])
def test_of_large_tables_of_equal_arms_few_have_a_star_and_most_would_by_each_row_alone(table: Table):
    points = MANY if table in (rates_table, calls_table) else POINTS
    tables = [table(seed, 3, points) for seed in range(10)]
    alone = [((one.p < 0.05) & one.aa_alike).any() for one in tables]
    assert np.mean([one.significant.any() for one in tables]) <= at_most(10) < np.mean(alone)


def aa_of(rows: pd.DataFrame) -> pd.Series:
    return (rows.pair == "aa") & (rows.iteration == 2) & (rows.threads == 4)


def test_an_aa_pair_that_differs_takes_the_star_of_a_latency_away():
    rows = latencies(1, 8, PERCENTILES, noise=0.01, effect=0.2, points=POINTS)
    assert compared_latencies(rows, STUDY).significant.all()
    rows.loc[aa_of(rows) & (rows.statistic == "total_p99"), "value"] *= 1.5
    lost = compared_latencies(rows, STUDY).query("not significant")
    assert lost[["threads", "statistic", "aa_alike"]].to_numpy().tolist() == [[4, "total_p99", False]]


def test_an_aa_pair_that_differs_takes_the_star_of_a_counter_away():
    rows = calls(2, 8, noise=0.01, effect=0.2, points=POINTS)
    assert counted_arms(rows, STUDY).significant.all() and extra_calls(rows, STUDY).significant.all()
    rows.loc[aa_of(rows) & rows.metric.str.endswith(".calls"), "value"] *= 1.5
    table = counted_arms(rows, STUDY)
    assert table.threads[~table.significant].tolist() == [4] and not table.aa_alike[table.threads == 4].any()
    assert extra_calls(rows, STUDY).set_index("threads").significant.to_dict() == {n: n != 4 for n in POINTS}


def test_counts_that_repeat_to_the_last_one_are_starred_for_many_and_not_for_one():
    """One count more in each of three blocks is chance; a thousand more are not, though no block varies."""
    rows = counts(1, 3, {WAITS: 0.0, CALLS: 0.0})
    for threads, more in ((1, 0.0), (4, 1.0), (8, 1000.0)):
        here = (rows.arm == "orphan-lockless") & (rows.threads == threads) & (rows.metric == CALLS)
        rows.loc[here, "value"] += more
    table = counted_arms(rows, ORPHANS).query("counter == 'get_write_access' and arm == 'orphan-lockless'")
    assert table.set_index("threads").significant.to_dict() == {1: False, 4: False, 8: True}
    assert table.p.tolist()[0] == 1.0 and table.p.tolist()[1] > 0.2


def test_an_arm_that_has_nothing_to_count_by_takes_no_star_away():
    """orphan-off adds no orphan, so it has no waits for each; that says nothing of the other arms."""
    rows = counts(1, 5, {WAITS: 500.0, CALLS: 4000.0}, effect=-1.0)
    without = counted_arms(rows, ORPHANS).query("arm == 'orphan-lockless'").significant.tolist()
    rows.loc[(rows.arm == "orphan-off") & (rows.metric == "calls:ext4_orphan_add"), "value"] = 0.0
    table = counted_arms(rows, ORPHANS)
    assert table.query("arm == 'orphan-lockless'").significant.tolist() == without and all(without)
    assert not table.isna().any(axis=None) and np.isfinite(table.value).all()


def of_function(rows: pd.DataFrame) -> pd.Series:
    return rows.metric.str.endswith(".calls")


def test_a_function_that_an_arm_never_calls_is_counted_as_none():
    """The kernel's profile lists only what was called."""
    rows = calls(6, 5, noise=0.01, points=POINTS)
    gone = rows[~((rows.arm == STUDY.patched.name) & (rows.threads == 4) & of_function(rows))]
    table = counted_arms(gone, STUDY).set_index("threads")
    assert table.value[4] == 0 and table.change[4] == pytest.approx(-table.unpatched[4])
    assert table.significant[4] and extra_calls(gone, STUDY).extra.notna().all()
    once = rows[~((rows.arm == STUDY.patched.name) & (rows.block == 2) & of_function(rows))]
    low = counted_arms(once, STUDY).set_index("threads").value
    assert (low < counted_arms(rows, STUDY).set_index("threads").value).all()


@pytest.mark.parametrize("blocks", [1, 2])
def test_an_arm_with_one_repeat_to_count_by_is_left_out_and_the_others_stay(blocks: int):
    rows = counts(1, 5, {WAITS: 500.0, CALLS: 4000.0}, effect=-1.0)
    few = (rows.arm == "orphan-off") & (rows.block > blocks)
    rows.loc[few & (rows.metric == "calls:ext4_orphan_add"), "value"] = 0.0
    waits = counted_arms(rows, ORPHANS).query("counter == 'waits for an orphan lock'")
    assert ("orphan-off" in set(waits.arm)) == (blocks > 1) and waits.arm.nunique() == 1 + blocks


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        ("orphan-lockless", "orphan-lockless has no two repeats with"),
        ("orphan-mutex", "two repeats of orphan-mutex and two of"),
    ],
)
def test_a_side_that_has_nothing_to_count_by_is_one_sentence(arm: str, said: str):
    rows = counts(1, 5, {WAITS: 500.0, CALLS: 4000.0})
    rows.loc[(rows.arm == arm) & (rows.metric == "calls:ext4_orphan_add"), "value"] = 0.0
    with pytest.raises(BadInput, match=said):
        extra_calls(rows, ORPHANS)


def test_gaps_that_share_their_unpatched_boots_know_their_noise_as_often_as_they_say():
    """Of 5 arms in 3 blocks, as (arms - 1)(blocks - 1) squares of normal numbers: mean and variance."""
    rng, found = np.random.default_rng(1), []
    for _ in range(4000):
        boots = rng.standard_normal((3, 6))
        squares, df = squares_within_blocks({str(k): boots[:, k] - boots[:, 0] for k in range(1, 6)})
        found.append(squares / 2)  # a gap varies twice as much as a boot
    assert df == 10
    assert np.mean(found) == pytest.approx(df, rel=0.03)
    assert np.var(found) == pytest.approx(2 * df, rel=0.12)


def test_blocks_that_repeat_exactly_still_tell_a_pair_that_differs():
    rows = rates(1, 3, noise=0.0)
    assert aa_rates(rows, STUDY).alike.all()
    second = (rows.pair == "aa") & (rows.iteration == 2)
    rows.loc[second, "value"] *= 2
    assert not aa_rates(rows, STUDY).alike.any()


def test_noise_of_at_least_one_count_changes_nothing_where_there_is_more():
    gaps = np.random.default_rng(3).normal(5, 10, (4, 6))
    assert mean_p(gaps, 1.0).tolist() == mean_p(gaps).tolist()
    assert mean_p(np.ones((1, 3)), 1.0)[0] == pytest.approx(0.2254, abs=1e-4)  # t = sqrt(3), 2 df


def test_an_effect_that_is_there_is_starred_in_every_table():
    assert compared_rates(rates(4, 8, noise=0.01, effect=0.2, points=POINTS), STUDY).significant.all()
    table = counted_arms(counts(4, 8, {WAITS: 200.0, CALLS: 4000.0}, effect=0.5), ORPHANS)
    assert (table.significant == (table.arm == "orphan-lockless")).all()


def test_a_rise_of_all_blocks_is_no_star_as_the_arms_share_it():
    """Counts of different blocks are not compared: what drifts over a run is in both arms."""
    rows = calls(5, 6, noise=0.001, drift=0.2, points=POINTS)
    assert not counted_arms(rows, STUDY).significant.any()
