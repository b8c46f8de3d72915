# SPDX-License-Identifier: MIT
"""data/README.md: what it says falls short, against the kept runs, the scoreboard and the tables."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lockscale import paths
from lockscale.measure.compare_arms import calls_per_operation
from lockscale.measure.count_calls import observed
from lockscale.measure.rows import read_rows
from lockscale.measure.run_folder import Run, curated_run, curated_runs, read_study_file
from lockscale.predict.casebook import read_casebook
from lockscale.predict.predicted_against_measured import judge_counters
from lockscale.predict.user_files import ask_files
from lockscale.queueing.laws.retry_storm import gain_from_attempts
from lockscale.show.gains import gain_rows, gain_totals
from lockscale.show.prediction import ask
from lockscale.show.repredicted import again_totals, counts_held, gains_again, kept_counts, kept_repredicted
from lockscale.show.scoreboard import kept_scoreboard
from lockscale.study.file import list_studies, load_study
from lockscale.tables import function_cost, list_tables, published

SAID = " ".join((paths.DATA / "README.md").read_text().split())
S1 = function_cost("s1_function_cost").set_index("function")
CREATES = S1["count"]["ext4_create"]
ACCESS = S1["count"]["jbd2_journal_get_write_access"] / CREATES
THREADS = 48


def rows_of(run: Run) -> pd.DataFrame:
    files = [run.rows, observed(run).rows]
    return pd.concat([read_rows(file) for file in files if file.is_file()], ignore_index=True)


@cache
def judged(study: str) -> pd.DataFrame:
    """What was told of the counters of the latest kept run, beside what they counted."""
    run = curated_run(study)
    asked = read_study_file(run.folder)["parameters"]
    said: dict[str, Any] = json.loads(run.prediction.read_text())
    return judge_counters(said, rows_of(run), load_study(study, asked)).dropna(subset=["inside"])


def test_it_names_every_file_of_the_folder():
    """Of a folder for each base or each run, what is in it."""
    runs = [run.folder for run in curated_runs()]
    inside = {path.name for folder in runs for path in folder.iterdir()} - {"raw"}
    counted = {re.sub(r"^(patches-\w+)-[\d.]+$", r"\1-<base>", path.name) for path in paths.COUNTED.iterdir()}
    beside = {path.name for path in paths.MEASURED.iterdir()} - {folder.name for folder in runs}
    files = {path.name for path in paths.DATA.iterdir()} - {"README.md"}
    for name in (
        *files,
        *(f"counted/{one}" for one in counted),
        *(f"measured/{one}" for one in beside),
        *inside,
    ):
        assert f"`{name}" in SAID, name
    assert all(f"`{table}`" in SAID for table in list_tables())
    assert f"has {len(read_casebook())} published patches" in SAID


def test_it_says_what_xfstests_gave_on_both_kernels():
    """The base of the one arm is that of the other: what they share was not run twice."""
    rows = pd.read_csv(paths.COUNTED / "patches-xfstests-7.3/results.csv")
    ours = rows[rows.kernel == "goal-fold/goals-per-cpu"].set_index("test")
    base = rows[rows.kernel.str.endswith("/base") & rows.protocol.isin(ours.protocol)].set_index("test")
    assert ours.status.to_dict() == base.status.to_dict() and "generic/748" not in ours.index
    counts = ours.status.value_counts()
    told = f"{counts['pass']} passed, {counts['notrun']} could not be run, and {counts['fail']} failed"
    assert f"the file has {len(ours)} of the 672 tests" in SAID and told in SAID
    cover = (paths.KERNEL_PATCHES / "goal-fold/goals-per-cpu/cover.md").read_text()
    passed = f"{counts['pass']} pass, {counts['notrun']} are not run and {counts['fail']} fail"
    assert passed in " ".join(cover.split())
    theirs = rows[rows.kernel == "handle-start/updates-per-cpu"].test
    assert f"it has {theirs.min()} to {theirs.max()}, without generic/748" in SAID


def test_it_says_how_far_the_boots_of_one_kernel_scatter():
    """orphan-locked in the check and in its run: the least and the most waits of a boot."""

    check = pd.read_csv(paths.COUNTED / "patches-check-6.12/counts-orphan-file.csv")
    run = read_rows(observed(curated_run("orphan-file")).rows).rename(columns={"metric": "source"})
    told = []
    for rows, digits in ((check, 3), (run[run.threads == 8], 2)):
        of = rows[rows.arm == "orphan-locked"].pivot(index="iteration", columns="source", values="value")
        each = of["trace:ext4_orphan_lock_wait"] / of["calls:ext4_orphan_add"]
        told.append(f"{each.min():.3f} to {each.max():.{digits}f} times")
    assert f"waited {told[0]} per `ext4_orphan_add()` in the eight boots of the check on 6.12" in SAID
    assert f"and {told[1]} in the five boots of its run" in SAID


def of_tables(kind: str) -> Iterator[dict[str, Any]]:
    yield from (row for row in kept_scoreboard() if row["kind"] == kind)


def test_it_counts_the_predictions_for_guests_that_held():
    measured = [
        study for study in list_studies() if any(run.id.startswith(f"{study}-2") for run in curated_runs())
    ]
    held = {study: int(judged(study).inside.astype(bool).sum()) for study in measured}
    told = {study: len(judged(study)) for study in measured}
    assert f"{held['group-trylock']} of {told['group-trylock']} of group-trylock lie in their 95%" in SAID
    assert f"{held['inode-claim']} of {told['inode-claim']} of inode-claim and" in SAID
    assert f"and {held['orphan-file']} of {told['orphan-file']} of orphan-file. The last six" in SAID
    missed, all_told = sum(told.values()) - sum(held.values()), sum(told.values())
    readme = " ".join((paths.ROOT / "README.md").read_text().split())
    assert f"{missed} of the {all_told} counts predicted for QEMU missed their intervals" in readme


def test_it_tells_how_far_gains_in_virtual_time_and_predicted_ones_are_off():
    rows = gain_rows()
    totals = gain_totals(rows)
    assert f"The {totals.compared} published gains are off by a factor of {totals.off:.2f}" in SAID
    same = "all" if totals.same_sign == totals.significant else f"{totals.same_sign} of the"
    assert f"{same} {totals.significant} gains other than 1 have the same direction as published" in SAID
    assert f"Of the {totals.predicted} gains that were predicted {totals.held} lie in" in SAID
    assert f"the median interval is {totals.width:.1f} wide" in SAID
    missed = [row for row in rows if row.inside is False]
    assert all((row.predicted_low or 0) < 1 or (row.virtual or 0) > 1 for row in missed)
    gains = {(row.study, row.arm, row.over, row.threads): row for row in rows if row.load != "creat"}
    s3 = gains["group-trylock", "inode-goal-scan0", "wait-group", 64]
    s4 = gains["orphan-file", "orphan-lockless", "orphan-locked", 64]
    assert f"{s3.virtual:.0f} times as fast at 64, published {s3.published:.1f}" in SAID
    assert f"and {s4.virtual:.1f}, published 1.3 and {s4.published:.1f}" in SAID


@pytest.mark.slow
def test_it_tells_what_the_present_method_says_of_the_same_runs():
    rows = gains_again(kept_repredicted())
    totals, counts = again_totals(rows), counts_held(kept_counts())
    assert f"predicts the same {totals.gains} gains" in SAID
    assert (
        f"{totals.holds} lie in their 90% intervals; the median interval is {totals.width:.1f} wide" in SAID
    )
    assert totals.wrong_side == 0 and "and none is wholly on the wrong side of 1" in SAID
    for study in dict.fromkeys(row.study for row in rows):
        of = again_totals([row for row in rows if row.study == study])
        assert f"{study} {of.holds} of {of.gains}, {of.width:.1f}" in SAID
    held = counts.inside.astype(bool)
    assert f"has {held.sum()} of these {len(counts)} counts in its intervals" in SAID
    (missed,) = counts[~held].to_dict("records")
    assert (missed["arm"], missed["threads"]) == ("inode-goal-scan0", 4)
    assert f"4 processes waited {missed['measured']:.4f} times per allocation" in SAID
    assert f"where at most {missed['predicted_high']:.4f} were predicted" in SAID
    told = counts[counts.predicted_low > 0.001]
    wide = told.predicted_high / told.predicted_low
    assert f"high over low is {wide.min():.1f} to {wide.max():.0f}, except for rare events" in SAID


def test_it_tells_the_largest_misses_and_the_emptiest_intervals():
    group, claim, orphan = (judged(name) for name in ("group-trylock", "inode-claim", "orphan-file"))
    two = group[(group.arm == "trylock") & (group.threads == 2) & (group.metric == "waits for a group lock")]
    (one,) = two.to_dict("records")
    assert one["own_processors"] and not one["inside"]
    assert f"waited {one['measured']:.4f} times" in SAID
    assert f"{one['predicted']:.4f} had been predicted, and {one['predicted_high']:.3f} at most" in SAID
    (four,) = claim[claim.threads == 4].to_dict("records")
    assert not four["own_processors"] and not four["inside"]
    assert f"made {four['measured']:.3f} more calls per create" in SAID
    assert f"{four['predicted']:.3f} had been predicted, and {four['predicted_high']:.3f} at most" in SAID
    zero = orphan[orphan.predicted_high == 0]
    assert len(zero) == 4 and set(zero.arm) == {"orphan-lockless", "orphan-off"}
    ends = [(row.predicted_low, row.predicted_high) for row in orphan[orphan.predicted_high > 0].itertuples()]
    told = " and ".join(f"from {low:.1g} to {high:.2g}" for low, high in ends).replace("2e-05", "0.00002")
    assert f"{told} waits per orphan" in SAID


def test_it_names_every_curve_of_the_scoreboard_that_misses_its_target():
    missed = [row for row in of_tables("queueing") if row["met"] is False]
    assert len([row for row in of_tables("queueing") if row["met"] is not None]) == 8
    assert [row["column"].split()[0] for row in missed] == ["wait-group", "orphan-lockless"]
    group, orphan = missed
    assert (
        f"has an error of {group['mape_pct']:.1f}% in sample and of {group['loo_pct']:.1f}% with each" in SAID
    )
    assert (group["target_pct"], group["target_loo_pct"], group["n_min"]) == (3, 6, 2)
    assert len(group["not_laws"]) == 2 and all(o["mape_pct"] < group["mape_pct"] for o in group["not_laws"])
    assert f"has {orphan['mape_pct']:.1f}% in sample, with a target of {orphan['target_pct']:g}%" in SAID
    attempts, spin = (row for row in of_tables("simulator") if row["met"] is False)
    assert f"makes {attempts['mape_pct']:.1f}% more attempts" in SAID
    assert f"spin is {spin['mape_pct']:.0f}% too long" in SAID and attempts["target_pct"] == 5


def test_it_names_every_curve_of_which_few_threads_do_not_tell_many():
    ahead = [row for row in of_tables("simulator") if row["extrapolation_pct"] is not None]
    off = {row["column"]: row["extrapolation_pct"] for row in ahead if row["extrapolation_pct"] > 50}
    assert all(row["coverage_pct"] == 100 for row in ahead) and "contain every held-out point" in SAID
    s3 = [row["column"] for row in ahead if row["table"] == "s3_fallocate2"]
    assert list(off) == [*s3, "orphan-mutex throughput"] and len(s3) == 3
    assert f"`orphan-mutex` in creat_clo ({off['orphan-mutex throughput']:.0f}%)" in SAID


def test_what_it_says_of_attempts_follows_from_the_table():
    of_create = THREADS / S1.avg_us["ext4_create"]
    journal, spin = (
        of_create * S1.total_us[name] / CREATES for name in ("jbd2__journal_start", "_raw_spin_lock")
    )
    attempts = 1 + ACCESS - load_study("inode-claim").calls_without_retry.value
    assert f"In the table, {journal:.1f} of the 48 threads" in SAID and f"and {spin:.1f} spin" in SAID
    assert f"at most 48 - {journal:.1f} = {THREADS - journal:.1f}:" in SAID
    assert f"The table has {attempts:.1f} of them: the first, and its {ACCESS:.1f} calls" in SAID
    assert f"would be {100 * (1 - (THREADS - journal) / attempts):.0f}% too few" in SAID
    assert f"Only {1 + ACCESS - (THREADS - journal):.1f} such calls" in SAID


def test_it_says_what_hangs_on_the_calls_without_a_retry():
    of = {one.name: one for one in ask("inode-claim").parameters}
    calls, gain = of["calls_without_retry"], of["gain"]
    assert f"takes {calls.value:.3f} +-{calls.high - calls.value:.3f}" in SAID
    assert f"S1's gain, {gain.low:.1f} to {gain.high:.1f} times" in SAID
    for without, said in ((7, "{} times with 7 calls"), (9, "{} with 9"), (11.8, "{} with 11.8")):
        low, high = (gain_from_attempts(THREADS, ACCESS - without + first) for first in (0, 1))
        assert said.format(f"{low:.1f} to {high:.1f}") in SAID
    profiles = calls_per_operation(
        read_rows(curated_run("inode-claim").rows), "jbd2_journal_get_write_access"
    )
    alone = profiles[profiles.threads == 1].value
    assert f"all have {alone.min():.2f} to {alone.max():.2f}" in SAID
    (curve,) = (row["curve"] for row in of_tables("simulator") if row["column"] == "steal-retry attempts")
    error_pct = 100 * (curve[0]["model"] / (1 + ACCESS - calls.value) - 1)
    assert f"are {error_pct:.1f}% too many" in SAID


@pytest.mark.parametrize("table", ["s1_function_cost", "s2_function_cost_without", "s2_function_cost_with"])
def test_it_says_how_many_functions_of_a_profile_nothing_explains(table: str):
    """Of S1 the rate comes from ext4_create, and jbd2__journal_start is argued about."""
    explained = [row for row in of_tables("simulator") if row["table"] == table]
    assert table in list_tables() and len(explained) == 2
    used = 4 if table.startswith("s1") else 2
    left = len(function_cost(table)) - used
    assert left == {"s1_function_cost": 4, "s2_function_cost_without": 20, "s2_function_cost_with": 15}[table]
    assert "Four are left" in SAID and re.search(r"20 and 15 functions are left", SAID)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "base", "patched", "model", "arm"),
    [
        ("s3_fallocate2", "wait-group", "inode-goal-scan0", "group_trylock", "per_inode_goal"),
        pytest.param(
            "s4_creat_clo", "orphan-mutex", "orphan-lockless", "creat_clo", "patched", marks=pytest.mark.long
        ),
    ],
)
def test_it_says_how_many_published_values_the_bases_rates_alone_tell(
    table: str, base: str, patched: str, model: str, arm: str, tmp_path: Path
):
    """As a user would: the base's column as a CSV, and a profile that is of something else."""
    rows = published(table)
    rows = rows[rows.metric.isin(["throughput", "fallocate_rate"])]
    rows = rows.assign(total=rows.value * (rows.threads if table == "s3_fallocate2" else 1))
    column = rows[rows.arm == base][["threads", "total"]].rename(columns={"total": "value"})
    column.to_csv(tmp_path / "rates.csv", index=False)
    told = ask_files(paths.ROOT / "docs/own-study/costs.txt", tmp_path / "rates.csv", model)
    truth = rows[rows.arm == patched].set_index("threads").total
    spans = [one for one in told.predictions if one.arm == arm and one.threads in truth.index]
    held = sum(one.low <= truth[one.threads] <= one.high for one in spans)
    place = " in creat_clo" if model == "creat_clo" else ""
    assert f"`{patched}`{place} {held} of {len(spans)}" in SAID
