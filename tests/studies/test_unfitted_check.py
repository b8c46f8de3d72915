# SPDX-License-Identifier: MIT
"""S1's function cost table against the calibrated model: predicted, published, and how far apart."""

import csv
import json
import math
from typing import Any

import pandas as pd
import pytest

from lockscale import paths
from lockscale.cli import main
from lockscale.errors import BadInput
from lockscale.studies import inode_claim_costs
from lockscale.study.file import load_study
from lockscale.tables.function_costs import Cost

STUDY = load_study("inode-claim")
CALLS_WITHOUT_RETRY = 8.028  # the study file says from where


def table_of_s1() -> dict[str, dict[str, float]]:
    with (paths.PUBLISHED / "s1_function_cost.csv").open() as lines:
        numbers = ("total_us", "count", "avg_us")
        return {row["function"]: {n: float(row[n]) for n in numbers} for row in csv.DictReader(lines)}


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, Any]]:
    table = pd.DataFrame(map(vars, inode_claim_costs.check(STUDY).rows))
    assert list(table.columns) == ["name", "unit", "predicted", "published", "error_pct", "derived_from"]
    assert list(table[table.derived_from != ""].name) == ["attempts"]
    return {str(row["name"]): row for row in table.to_dict("records")}


def test_published_side_is_the_tables_own_arithmetic(rows: dict[str, dict[str, Any]]):
    cost = table_of_s1()
    calls = cost["jbd2_journal_get_write_access"]["count"] / cost["ext4_create"]["count"]
    assert rows["jbd2_journal_get_write_access"]["published"] == pytest.approx(calls)
    assert rows["attempts"]["published"] == pytest.approx(calls - CALLS_WITHOUT_RETRY + 1)
    assert rows["_raw_spin_lock"]["published"] == pytest.approx(cost["_raw_spin_lock"]["avg_us"], abs=0.005)


def test_every_error_stands_beside_its_two_numbers(rows: dict[str, dict[str, Any]]):
    assert set(rows) == {"jbd2_journal_get_write_access", "attempts", "_raw_spin_lock"}
    for row in rows.values():
        assert row["error_pct"] == pytest.approx(100 * (row["predicted"] / row["published"] - 1))


def test_predictions_use_nothing_of_the_table_but_create_time_and_counts(
    rows: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
):
    """Halved calls and doubled spin times move the published side only."""

    spin, access = "_raw_spin_lock", "jbd2_journal_get_write_access"

    def changed(name: str) -> dict[str, Cost]:
        table = pd.read_csv(paths.PUBLISHED / f"{name}.csv").set_index("function")
        table.loc[spin, "total_us"] *= 2
        table.loc[access, "count"] //= 2
        table.loc[[spin, access], "avg_us"] = math.nan
        return {
            f: Cost(*table.loc[f, ["total_us", "count", "avg_us"]]) for f in ("ext4_create", spin, access)
        }

    monkeypatch.setattr(inode_claim_costs, "costs", changed)
    found = {row.name: row for row in inode_claim_costs.check(STUDY).rows}
    for name, row in rows.items():
        assert found[name].predicted == row["predicted"]
    calls = rows["jbd2_journal_get_write_access"]["published"]
    assert found["jbd2_journal_get_write_access"].published == pytest.approx(calls / 2, rel=1e-6)
    assert found["_raw_spin_lock"].published == pytest.approx(2 * rows["_raw_spin_lock"]["published"])


def test_a_study_without_the_outside_number_is_refused():
    with pytest.raises(BadInput, match="calls_without_retry"):
        inode_claim_costs.check(STUDY.model_copy(update={"calls_without_retry": None}))


def sim(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["sim", *argv])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.slow
def test_sim_prints_the_check_with_its_errors(
    capsys: pytest.CaptureFixture[str], rows: dict[str, dict[str, Any]]
):
    argv = ("inode_claim", "--threads", "48", "--replications", "2")
    said = json.loads(sim(capsys, *argv, "--json"))
    assert {row["name"]: row for row in said["unfitted_check"]} == rows
    text = sim(capsys, *argv)
    assert "nothing was fitted" in text
    for row in rows.values():
        line = next(line for line in text.splitlines() if line.startswith(row["name"]))
        *_, predicted, published, error_pct, derived_from = line.split()
        assert derived_from == (row["derived_from"] or "-")
        printed = [float(cell) for cell in (predicted, published, error_pct)]
        assert printed == pytest.approx([row["predicted"], row["published"], row["error_pct"]], rel=1e-3)


def test_a_changed_parameter_or_another_model_has_no_such_check(capsys: pytest.CaptureFixture[str]):
    for argv in (["inode_claim", "-p", "hold_ns=200"], ["machine_repairman"]):
        value = json.loads(sim(capsys, *argv, "--threads", "4", "--json"))
        assert "unfitted_check" not in value
    assert "nothing was fitted" not in sim(capsys, "machine_repairman", "--threads", "4")
