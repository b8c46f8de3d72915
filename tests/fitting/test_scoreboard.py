# SPDX-License-Identifier: MIT
"""The scoreboard: compare chooses the model, the file sets the target, what falls short is shown."""

from pathlib import Path

import numpy as np
import pytest

from lockscale.errors import BadInput
from lockscale.fitting import compare, scoreboard_rows, table_fit
from lockscale.fitting.column import all_published_columns, published_columns
from lockscale.fitting.scoreboard_rows import column_row, fit_targets
from lockscale.fitting.table_fit import fit_each_column, models_of
from lockscale.fitting.user_table import read_column
from lockscale.queueing import AMDAHL, MODELS, USL
from lockscale.show.scoreboard import scoreboard_text

KEYS = {
    "table", "column", "kind", "model", "free_parameters", "points", "calibrated", "noise_pct", "mape_pct",
    "loo_pct", "extrapolation_pct", "coverage_pct", "target_pct", "met",
}  # fmt: skip


FEW = ("inode-goal-scan0 fallocate_rate aggregate", "orphan-lockless throughput", "orphan-off threads / time")
FEW += ("orphan-lockless threads / time", "orphan-locked given orphan-off")
ALL = tuple(one.name for one in all_published_columns())
TWO = ("wait-group fallocate_rate aggregate", "orphan-lockless throughput")
"""One where some laws are no candidates, and one where all are, for every `make test`."""


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    """Some curves, and two quick models in place of all: which model wins is not the matter here."""
    patch = pytest.MonkeyPatch()
    patch.setattr(table_fit, "MODELS", {"amdahl": AMDAHL, "usl": USL})
    yield [column_row(one) for one in all_published_columns() if one.name in FEW]
    patch.undo()


@pytest.mark.slow
def test_every_target_is_of_a_published_curve_and_in_its_row(rows: list[dict]):
    wanted = {(table, one.column): one for table, its in fit_targets().items() for one in its.columns}
    assert set(wanted) <= {(one.table, one.name) for one in all_published_columns()} and len(wanted) == 8
    assert len(rows) == len(FEW)
    for row in rows:
        target = wanted.get((row["table"], row["column"]))
        found = (row["target_pct"], row["target_loo_pct"])
        assert found == ((target.target_pct, target.target_loo_pct) if target else (None, None))


def test_rows_have_the_shape_and_what_falls_short_is_shown(rows: list[dict]):
    assert all(set(row) >= KEYS for row in rows)
    for row in rows:
        assert row["free_parameters"] < row["points"] and row["kind"] == "queueing"
        within = row["target_pct"] and (
            row["mape_pct"] <= row["target_pct"] and row["loo_pct"] <= row["target_loo_pct"]
        )
        assert row["met"] is (None if row["target_pct"] is None else within)
    assert {False, None} <= {row["met"] for row in rows}


def test_the_model_is_the_first_of_compare(rows: list[dict], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(table_fit, "MODELS", {"amdahl": AMDAHL, "usl": USL})
    for row in rows:
        if row["table"] == "s4_creat_clo":
            best = compare(row["table"], column=row["column"], n_min=row["n_min"]).best
            assert (best.model, best.loo_pct) == (row["model"], row["loo_pct"])


def test_thread_counts_that_are_left_out_are_named_with_the_reason(rows: list[dict]):
    for row in rows:
        assert bool(row["n_min_because"]) == (row["n_min"] > 1)
    s3 = [row for row in rows if row["table"] == "s3_fallocate2"]
    assert {(row["n_min"], row["points"]) for row in s3} == {(2, 6)}


def test_what_all_points_would_give_is_shown_beside_fewer(rows: list[dict], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(table_fit, "MODELS", {"amdahl": AMDAHL, "usl": USL})
    for row in rows:
        assert bool(row["all_points"]) == (row["n_min"] > 1)
        if row["all_points"]:
            whole = compare(row["table"], column=row["column"])
            found = row["all_points"]
            assert found["points"] == row["points_in_table"] == len(whole.best.points)
            assert (found["model"], found["loo_pct"]) == (whole.best.model, whole.best.loo_pct)


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [TWO, pytest.param(ALL, marks=pytest.mark.long)], ids=["two", "all"])
def test_the_real_scoreboard_shows_every_curve_and_lets_no_impossible_law_win(
    monkeypatch: pytest.MonkeyPatch, wanted: tuple[str, ...]
):
    """Published curves and every law: wait-group's threads wait, so no law where they leave may win."""
    monkeypatch.setattr(table_fit, "MODELS", MODELS)
    found = [column_row(one) for one in all_published_columns() if one.name in wanted]
    by_name = {row["column"]: row for row in found}
    assert len(found) == len(wanted) == len(by_name)
    base = by_name["wait-group fallocate_rate aggregate"]
    aside = {one["model"] for one in base["not_laws"]}
    assert aside == {"impatient", "impatient_saturated"} and "threads wait" in base["not_laws_because"]
    assert base["model"] not in aside and base["all_points"]["model"] not in aside
    assert base["candidates"] == len(MODELS) - 2
    for row in found:
        assert row["model"] not in row["not_determined"] and row["loo_pct"] > row["mape_pct"]
        assert row["points"] - 1 > row["free_parameters"]
    said = scoreboard_text(found)
    table, notes = said.split("\n\n")
    assert len(table.splitlines()) == 1 + len(found) + sum(row["n_min"] > 1 for row in found)
    for row in found:
        for model, threads in row["not_determined"].items():
            assert f"{model} at N = {', '.join(map(str, threads))}" in notes
    assert "no candidates, with their errors: impatient" in notes


def test_a_law_that_is_no_candidate_is_one_of_ours():
    for table in fit_targets().values():
        for column in table.columns:
            assert column.not_laws is None or set(column.not_laws.laws) < set(MODELS)


def test_a_time_of_fixed_work_becomes_a_rate():
    """32 processes in 24.0022 s do 32 / 24.0022 times one process's work a second."""
    (none,) = (one for one in published_columns("s4_stress_orphan") if one.name.startswith("orphan-off t"))
    assert none.rates_per_s[none.threads == 32] == pytest.approx([32 / 24.0022])
    assert none.made_of == "threads / time"


def test_a_curve_given_another_has_models_of_its_own_and_no_landmarks():
    locked = read_column("s4_stress_orphan", "orphan-locked given orphan-off", n_min=2)
    assert locked.given.name.startswith("orphan-off") and list(locked.given.threads) == list(locked.threads)
    assert not set(models_of(locked)) & set(MODELS)
    added_s = locked.threads * (1 / locked.rates_per_s - 1 / locked.given.rates_per_s)
    assert np.all(added_s > 0)
    found = fit_each_column("s4_stress_orphan", "paired_serial")[0][0]
    assert found.landmarks == () and found.fits[0].free_parameters == 1


@pytest.mark.slow
def test_a_model_is_fitted_to_the_curves_that_it_can_be_of():
    alone = [one.columns[0].name for one in fit_each_column("s4_stress_orphan", "amdahl")[0]]
    given = [one.columns[0].name for one in fit_each_column("s4_stress_orphan", "paired_serial")[0]]
    assert len(alone) == 3 and len(given) == 2 and all("given orphan-off" in name for name in given)
    with pytest.raises(BadInput, match="no model 'nope'"):
        fit_each_column("s4_stress_orphan", "nope")


def test_every_published_curve_is_there_once():
    names = [(one.table, one.name) for one in all_published_columns()]
    assert len(set(names)) == len(names) >= 8
    assert {table for table, _ in names} == {"s3_fallocate2", "s4_stress_orphan", "s4_creat_clo"}
    for one in all_published_columns():
        assert one.origin == "published" and np.all(one.rates_per_s > 0)


@pytest.mark.parametrize(
    "text", ["", "tables: 3", "source: x\ntables: [{table: t, columns: [{column: c}]}]", "{"]
)
def test_a_damaged_file_of_targets_is_one_sentence(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "fit-targets.yaml"
    path.write_text(text)
    monkeypatch.setattr(scoreboard_rows, "FILE", path)
    with pytest.raises(BadInput, match="restore it from git"):
        fit_targets()
