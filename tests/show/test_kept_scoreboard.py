# SPDX-License-Identifier: MIT
"""data/scoreboard.json: what the figures and notebooks show of the fits, against tables and simulator."""

import numpy as np
import pytest

from lockscale.errors import BadInput
from lockscale.fitting.column import all_published_columns
from lockscale.fitting.scoreboard_rows import SMALL_N, simulated_targets
from lockscale.fitting.simulated_model import Simulated
from lockscale.show import scoreboard
from lockscale.show.scoreboard import kept_scoreboard, scoreboard_table, simulated_tables, with_how
from lockscale.sim import simulate

SIMULATED = simulated_tables()
ROWS = kept_scoreboard()
OF_SIMULATOR = {(row["table"], row["column"]): row for row in ROWS if row["kind"] == "simulator"}


def test_it_has_every_published_curve_and_every_column_that_a_model_explains():
    of_models = {(row["table"], row["column"]) for row in ROWS if row["kind"] == "queueing"}
    assert of_models == {(one.table, one.name) for one in all_published_columns()}
    explained = {(one.table, one.name) for of in SIMULATED for one in of.columns()}
    assert explained | set(simulated_targets()) == set(OF_SIMULATOR)


def test_what_no_model_explains_is_in_it_too():
    left = {(row["table"], row["column"]) for row in ROWS if row["kind"] == "none"}
    assert left == {("s1_rates", f"{arm} removal_rate") for arm in ("steal-retry", "search-locked")} | {
        ("s2_five_runs", f"{arm} {metric}_rate")
        for arm in ("slow-retry", "timed-backoff")
        for metric in ("create", "destroy")
    }
    for row in ROWS:
        if row["kind"] == "none":
            assert row["model"] is row["met"] is row["mape_pct"] is None


def test_its_errors_are_those_of_its_curves_and_its_values_the_published_ones():
    published = {(one.table, one.name): one for of in SIMULATED for one in of.columns()}
    for place, row in OF_SIMULATOR.items():
        misses = [100 * (one["value"] - one["model"]) / one["value"] for one in row["curve"]]
        told = [one["residual_pct"] for one in row["curve"]]
        assert told == pytest.approx(misses, abs=1e-6)
        assert row["mape_pct"] == pytest.approx(np.mean(np.abs(told)))
        if place in published:
            one = published[place]
            for point in row["curve"]:
                here = one.rates_per_s[one.threads == point["threads"]]
                assert point["value"] == pytest.approx(np.exp(np.mean(np.log(here))))


def test_what_is_met_is_told_by_the_targets_of_now():
    for place, target in simulated_targets().items():
        row = OF_SIMULATOR[place]
        assert (row["target_pct"], row["target_loo_pct"]) == (target.target_pct, target.target_loo_pct)
        assert row["met"] is target.is_met(row["mape_pct"], row["loo_pct"], row["calibrated"])


@pytest.mark.parametrize("of", SIMULATED, ids=lambda of: of.table)
def test_its_parameters_give_its_curves_again(of: Simulated):
    """The simulator of now, with other random numbers, at the first, middle and last point of each column."""
    for one, arm in zip(of.columns(), of.simulated_model().each_arm, strict=True):
        row = OF_SIMULATOR[one.table, one.name]
        free = {found["name"]: found["value"] for found in row["parameters"]}
        assert set(free) == set(arm.depends_on)
        for point in row["curve"][:: max(1, len(row["curve"]) // 2)]:
            given = {**of.held, **arm.held, **arm.at(int(point["threads"]), free)}
            run = simulate(of.model, int(point["threads"]), given, seed=9, replications=4, operations=4000)
            assert arm.figure(run) == pytest.approx(point["model"], rel=0.04)


def test_its_table_has_both_models_of_a_curve_side_by_side():
    table = scoreboard_table(["s4_creat_clo"])
    assert list(table.kind) == ["queueing", "simulator"] * 2
    assert list(table.target_pct) == [5, 6, 6, 6]
    assert list(scoreboard_table(["s2_five_runs"]).kind) == ["none"] * 4


def test_figures_of_one_name_that_are_got_by_different_fits_say_by_which():
    """Coverage of a queueing model is of points left out in turn, the simulator's of what lies ahead."""
    for figure in ("coverage", "extrapolation"):
        by = {"queueing": set(), "simulator": set(), "none": set()}
        for row in ROWS:
            assert (row[f"{figure}_from"] is None) == (row[f"{figure}_pct"] is None)
            by[row["kind"]].add(row[f"{figure}_from"])
        assert by["none"] == {None}
        assert by["simulator"] == {None, f"a fit of all columns to N <= {SMALL_N}"}
        assert not (by["queueing"] - {None}) & by["simulator"]
    assert with_how(ROWS) == ROWS


def test_without_it_a_sentence_says_how_it_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(scoreboard, "KEPT", tmp_path / "none.json")
    with pytest.raises(BadInput, match="scoreboard --keep"):
        kept_scoreboard()
