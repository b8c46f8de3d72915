# SPDX-License-Identifier: MIT
"""xfs-create's prediction: what four groups say of 32, by hand, and what they cannot."""

import csv
from collections import defaultdict
from pathlib import Path
from statistics import mean

import pytest

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.predict.answer import Predicted
from lockscale.show.prediction import ask, predict
from lockscale.studies.xfs_create import COUNTS, FewGroups
from lockscale.study.file import load_study

TABLE = "xfs-create-four-groups.csv"
OWN_WORK = 1.05


def base_per_s() -> dict[int, float]:
    """The base's table, the mean of its repeats."""
    found = defaultdict(list)
    with (paths.STUDIES / TABLE).open() as lines:
        for row in csv.DictReader(lines):
            assert (row["arm"], row["origin"]) == ("four-groups", "virtual")
            found[int(row["threads"])].append(float(row["value"]))
    return {n: mean(values) for n, values in found.items()}


@pytest.fixture(scope="module")
def said() -> dict[int, Predicted]:
    return {p.threads: p for p in ask("xfs-create").predictions}


def test_its_files_have_no_number_of_the_other_arm():
    for name in (TABLE, COUNTS):
        assert "many-groups" not in (paths.STUDIES / name).read_text()


def test_where_both_arms_have_a_group_for_each_process_nothing_is_gained(said: dict[int, Predicted]):
    base = base_per_s()
    for n in (1, 2, 4):
        assert said[n].value == pytest.approx(base[n]) and said[n].sign == "not known"


def test_at_best_eight_times_the_groups_are_eight_file_systems(said: dict[int, Predicted]):
    """8, 32 and 64 processes in 32 groups are 1, 4 and 8 in each four."""
    base = base_per_s()
    for n in (8, 32, 64):
        assert said[n].high == pytest.approx(OWN_WORK * 8 * base[n // 8])
        assert said[n].low <= base[4] / OWN_WORK * 1.0001


def test_the_interval_never_promises_more_than_the_base_gives(said: dict[int, Predicted]):
    """The log's ceiling is not in the base: the value lies between its ends, and the naive one above."""
    for p in said.values():
        assert p.low <= p.value <= p.high and p.naive_value == pytest.approx(p.threads * base_per_s()[1])


def test_a_log_that_serves_one_at_a_time_is_found_and_bounds_the_rate():
    """A made-up base: 10 us alone, of which 1 us is of the log, by Amdahl's law."""
    made = {n: [n * 1e5 / (1 + 0.1 * (n - 1))] * 2 for n in (1, 2, 4)}
    found = FewGroups(made, {}, 4).fitted()
    assert (found.sigma, found.kappa) == (pytest.approx(0.1), pytest.approx(0.0, abs=1e-9))


def test_numbers_of_processes_that_wait_for_a_group_say_nothing_of_the_log():
    made = {n: [1e5] for n in (1, 2, 4, 8)}
    assert FewGroups(made, {4: 2.9}, 4).free() == [2]
    assert FewGroups(made, {4: 0.001}, 4).free() == [2, 4]


def test_a_base_without_its_counts_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("xfs-create.yaml", TABLE):
        (tmp_path / name).write_bytes((paths.STUDIES / name).read_bytes())
    monkeypatch.setattr(paths, "STUDIES", tmp_path)
    with pytest.raises(BadInput, match=f"{COUNTS} cannot be read .*: restore it from git"):
        ask("xfs-create")


def test_waits_are_bounded_by_the_locks_that_a_create_and_its_unlink_take():
    bounds = {row["threads"]: row["high"] for row in predict(load_study("xfs-create"))["guests"]}
    assert bounds[1] == 0 and bounds[8] == 3
